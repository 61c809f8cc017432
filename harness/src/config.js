import { fileURLToPath } from 'node:url'
import path from 'node:path'
import { TOOLS } from './tools/catalog.js'

/** The top of the checkout. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

/** @typedef {ReturnType<typeof readConfig>} Config */

/**
 * The only reader of the environment variables that say where programs and results are.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function readConfig (env = process.env) {
  return {
    /** A database of the user's own, instead of a mongod that is installed here. */
    mongodbUri: env.MONGODB_URI || undefined,
    /** Programs that the user names; they come before those on PATH. @type {Record<string, string | undefined>} */
    binaries: Object.fromEntries(Object.entries(TOOLS).map(([name, { variable }]) => [name, env[variable] || undefined])),
    searchPath: env.PATH ?? '',
    /** Where experiments and benchmarks write. */
    resultsDirectory: path.resolve(env.STEVEC_RESULTS || path.join(ROOT, 'results')),
    /** Where set-up installs programs. */
    toolsDirectory: path.resolve(env.STEVEC_TOOLS || path.join(ROOT, '.tools'))
  }
}
