import { fileURLToPath } from 'node:url'

/**
 * Arguments for Node. By default V8 lets its heap grow far beyond what a wiki needs before it collects. Nearly all that
 * a view allocates is garbage once it is answered, so small spaces do as well, in less memory (`make bench` measures
 * it).
 * V8 must not guess which objects will live long, either. When many requests happened to be in flight as it looked, it
 * allocated what process.nextTick queues as old objects from then on, for good. These kept each request in memory until
 * V8 collected old objects, which it then did many times as often.
 * https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib; V8's others: `node --v8-options`.
 */
export const WIKI_ARGUMENTS = Object.freeze([
  '--max-semi-space-size=4',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
  fileURLToPath(new URL('server.js', import.meta.url))
])

/**
 * Environment for Node. glibc keeps freed memory apart for each thread, and a wiki has a dozen threads that need
 * little. One arena for all takes some 10 MB less. mallopt(3), M_ARENA_MAX.
 */
export const WIKI_ENVIRONMENT = Object.freeze({ MALLOC_ARENA_MAX: '1' })
