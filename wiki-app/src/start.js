import { fileURLToPath } from 'node:url'

/**
 * Without bounds V8's heap grows far beyond what a wiki needs (`make bench`). Pretenuring under load allocates what
 * process.nextTick queues as old objects, and collects these many times as often.
 * https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib; V8's others: `node --v8-options`.
 */
export const WIKI_ARGUMENTS = Object.freeze([
  '--max-semi-space-size=4',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
  fileURLToPath(new URL('server.js', import.meta.url))
])

/** One arena for all threads takes some 10 MB less (mallopt(3), M_ARENA_MAX). */
export const WIKI_ENVIRONMENT = Object.freeze({ MALLOC_ARENA_MAX: '1' })
