import { fileURLToPath } from 'node:url'

/**
 * By default V8 lets its heap grow far beyond what a wiki needs. Nearly all that a view allocates is garbage once it is
 * answered, so small spaces do as well, in less memory (`make bench`).
 * V8 must not guess which objects live long, either: when many requests were in flight as it looked, it allocated what
 * process.nextTick queues as old objects from then on, and collected these many times as often.
 * https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib; V8's others: `node --v8-options`.
 */
export const WIKI_ARGUMENTS = Object.freeze([
  '--max-semi-space-size=4',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
  fileURLToPath(new URL('server.js', import.meta.url))
])

/** glibc keeps freed memory apart for each thread; one arena takes some 10 MB less (mallopt(3), M_ARENA_MAX). */
export const WIKI_ENVIRONMENT = Object.freeze({ MALLOC_ARENA_MAX: '1' })
