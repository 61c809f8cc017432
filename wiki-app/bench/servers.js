import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '../src/start.js'

const READY_MAX_MS = 60_000
const READY_POLL_MS = 20
/**
 * As in production: metrics (on each wiki's own port), request logs, and all limits. The limit of writes has its
 * highest value, as one client makes them all.
 */
export const WIKI_SETTINGS = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'info',
  WRITES_PER_MINUTE: '100000'
}
/** Without metrics and request logs. */
export const UNWATCHED = { LOG_LEVEL: 'warn', METRICS_PORT: undefined }

/**
 * @typedef {object} StartedWith
 * @property {readonly string[]} wikiArguments  of Node
 * @property {Readonly<NodeJS.ProcessEnv>} wikiEnvironment
 */

/** @type {StartedWith} */
const OWN = { wikiArguments: WIKI_ARGUMENTS, wikiEnvironment: WIKI_ENVIRONMENT }

/**
 * @typedef {object} Server
 * @property {number} pid
 * @property {string} url  without a path
 * @property {number} ready_ms  from its start to its first successful response
 * @property {() => Promise<void>} stop
 */

/**
 * Starts the processes of a benchmark. Each is ready when it is returned. `stopAll`, which an interrupt calls, too,
 * stops all of them and removes their files.
 * @param {{cgroups?: string[]}} [options]  directories of the control groups that they run in, but for a mongod
 */
export function createServers ({ cgroups } = {}) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
  /** @type {(() => Promise<void>)[]} */
  const stops = []
  let started = 0

  /** @type {Promise<void> | undefined} */
  let stopped
  // Runs once: an interrupt during the benchmark's own `stopAll` must wait for it before it ends the process.
  const stopAll = () => (stopped ??= stopEach())

  async function stopEach () {
    while (stops.length > 0) await stops.pop()?.().catch((error) => process.stderr.write(`${error.message}\n`))
    rmSync(directory, { recursive: true, force: true })
  }
  for (const [signal, code] of /** @type {const} */ ([['SIGINT', 130], ['SIGTERM', 143]])) {
    process.once(signal, () => { stopAll().finally(() => process.exit(code)) })
  }

  /**
   * @param {object} options
   * @param {string} options.name
   * @param {string} options.command
   * @param {string[]} options.args
   * @param {NodeJS.ProcessEnv} [options.env]  beside that of this process
   * @param {string} options.url  of the server
   * @param {string} [options.readyPath]  answers 200 once the server is ready
   * @param {() => boolean} [options.isReady]  for a server that does not speak HTTP
   * @returns {Promise<Server>}
   * @throws {Error} with the end of its log, when it ends or is not ready in time
   */
  async function start ({ name, command, args, env = {}, url, readyPath = '/', isReady }) {
    const logFile = path.join(directory, `${++started}-${name}.log`)
    const startedAt = performance.now()
    const identity = await startProcess({ name, command, args, logFile, cgroups, env: { ...process.env, ...env } })
    const stop = () => stopProcess(identity)
    stops.push(stop)
    const ready = await waitUntil(
      async () => !isAlive(identity) || (isReady ? isReady() : await answers(url + readyPath)),
      READY_MAX_MS,
      READY_POLL_MS
    )
    if (!ready || !isAlive(identity)) {
      throw new Error(`${name} ${ready ? 'ended at once' : `was not ready within ${READY_MAX_MS / 1000} s`}:\n${logTail(logFile)}`)
    }
    return { pid: identity.pid, url, ready_ms: performance.now() - startedAt, stop }
  }

  return {
    directory,
    stopAll,
    start,
    /** @param {() => Promise<void>} remove  `stopAll` calls it after all processes started from now on have stopped */
    atEnd: (remove) => { stops.push(remove) },

    /** Starts a mongod with enough memory: otherwise saves would measure a database that is short of it. */
    async mongod () {
      let pid = 0
      const mongod = await startMongod({ cacheGib: 1, onStart: (identity) => { pid = identity.pid } })
      stops.push(mongod.stop)
      return { ...mongod, pid }
    },

    /**
     * Starts a Node program on a free port, which it gets as PORT.
     * @param {string[]} args  the last is its file
     * @param {NodeJS.ProcessEnv} env
     */
    async node (args, env) {
      const [port] = await freePorts(1)
      return start({
        name: path.basename(args[args.length - 1], '.js'),
        command: process.execPath,
        args,
        env: { ...env, PORT: String(port) },
        url: `http://127.0.0.1:${port}`,
        readyPath: '/readyz'
      })
    },

    /**
     * @param {string} uri  of its database
     * @param {NodeJS.ProcessEnv} [settings]
     * @param {string[]} [nodeArguments]
     * @param {StartedWith} [startedWith]  for the wiki of another tree
     */
    async wiki (uri, settings = {}, nodeArguments = [], { wikiArguments, wikiEnvironment } = OWN) {
      const [metricsPort] = await freePorts(1)
      return this.node([...nodeArguments, ...wikiArguments], {
        ...wikiEnvironment, ...WIKI_SETTINGS, METRICS_PORT: String(metricsPort), MONGODB_URI: uri, ...settings
      })
    }
  }
}

/** @param {string} url @returns {Promise<boolean>} */
async function answers (url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_MAX_MS) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
