import { fileURLToPath } from 'node:url'
import path from 'node:path'
import { TOOLS } from './tools/catalog.js'

/** The root of the checkout. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

/** @typedef {ReturnType<typeof readConfig>} Config */

/** Others would change what is measured: a proxy (HTTP_PROXY), threads (GOMAXPROCS), options (NODE_OPTIONS, K6_VUS). */
const SYSTEM_VARIABLES = [
  'HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'TMPDIR', 'TZ', 'USER'
]

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} names
 * @returns {Record<string, string>} the variables of these names that are set
 */
export const pick = (env, names) => Object.fromEntries(names.flatMap((name) => {
  const value = env[name]
  return value === undefined ? [] : [[name, value]]
}))

/**
 * Reads the environment variables for the paths of programs and results; no other code does.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function readConfig (env = process.env) {
  return {
    /** The user's own database, instead of a mongod that set-up installed. */
    mongodbUri: env.MONGODB_URI || undefined,
    /** Programs that the user sets; they take precedence over PATH. @type {Record<string, string | undefined>} */
    binaries: Object.fromEntries(
      Object.entries(TOOLS).map(([name, { variable }]) => [name, env[variable] || undefined])
    ),
    searchPath: env.PATH ?? '',
    /** Of the lock of measurements (machine-lock.js); each test has its own. */
    lockName: env.STEVEC_LOCK || 'machine',
    /** For programs whose times are measured. */
    systemEnvironment: pick(env, SYSTEM_VARIABLES),
    /** Experiments and benchmarks write here. */
    resultsDirectory: path.resolve(env.STEVEC_RESULTS || path.join(ROOT, 'results')),
    /** Set-up installs programs here. */
    toolsDirectory: path.resolve(env.STEVEC_TOOLS || path.join(ROOT, '.tools'))
  }
}
