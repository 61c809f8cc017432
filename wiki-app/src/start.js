import { fileURLToPath } from 'node:url'

/**
 * What Node is to be started with for a wiki. V8 lets its heap grow far beyond what a wiki needs before it collects, as for a program that has the machine to
 * itself; nearly all that a view makes is garbage once it is answered, so a small young space does as well, in less memory (which `make bench` measures).
 * To collect old objects earlier, too (`--heap-growing-percent`), would save little more, and makes process.nextTick, which an answer needs eight times, many
 * times as dear in a CPU profile: presumably V8 forgets the shapes of short-lived objects before it has compiled by them. https://nodejs.org/api/cli.html#--max-semi-space-sizesize-in-mib
 */
export const WIKI_ARGUMENTS = Object.freeze(['--max-semi-space-size=4', fileURLToPath(new URL('server.js', import.meta.url))])
