import { fileURLToPath } from 'node:url'

/**
 * What Node is to be started with for a wiki. V8 lets its heap grow far beyond what a wiki needs before it collects, as for a program that has the machine to
 * itself; nearly all that a view makes is garbage once it is answered, so small spaces do as well, in less memory (which `make bench` measures).
 * Nor may V8 guess which objects will live long: when many requests happened to be under way as it looked, it made what process.nextTick queues old from birth,
 * for good, and that kept each request until V8 collected old objects, which came many times as often.
 * https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib; V8's others: `node --v8-options`.
 */
export const WIKI_ARGUMENTS = Object.freeze(['--max-semi-space-size=4', '--heap-growing-percent=30', '--no-allocation-site-pretenuring', fileURLToPath(new URL('server.js', import.meta.url))])

/**
 * And with what in its environment: glibc keeps freed memory apart for each thread, and a wiki has a dozen that need
 * little. One place for all takes some 10 MB less. mallopt(3), M_ARENA_MAX.
 */
export const WIKI_ENVIRONMENT = Object.freeze({ MALLOC_ARENA_MAX: '1' })
