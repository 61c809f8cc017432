import { fileURLToPath } from 'node:url'

/**
 * What Node is to be started with for a wiki. V8 lets its heap grow far beyond what a wiki needs before it collects, as for a program that has the machine to
 * itself; nearly all that a view makes is garbage once it is answered, so small spaces do as well, in less memory (which `make bench` measures).
 * https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib; V8's others: `node --v8-options`.
 */
export const WIKI_ARGUMENTS = Object.freeze(['--max-semi-space-size=4', '--heap-growing-percent=20', fileURLToPath(new URL('server.js', import.meta.url))])
