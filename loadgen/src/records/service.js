import { readFileSync } from 'node:fs'
import path from 'node:path'
import { readConfig, ROOT } from '@stevec/harness/config'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'

const STARTED_WITHIN_MS = 60_000
const STORED_WITHIN_MS = 120_000
const STATS_WITHIN_MS = 30_000

/** @typedef {import('../lab/settings.js').Settings} Settings */

/**
 * What the service has counted since its start (../../records/answers.js).
 * @typedef {object} Stats
 * @property {number} reads
 * @property {number} writes
 * @property {number} stored
 * @property {number} failed
 * @property {number} refused
 * @property {{records: number, bytes: number}} backlog
 * @property {number} emptied_at_us
 */

/**
 * Starts the record service, or the inserts without it, for one trial.
 * @param {object} options
 * @param {'service' | 'raw'} options.program
 * @param {Settings} options.settings
 * @param {string} options.mongodbUri
 * @param {string} options.collection
 * @param {Record<string, string>} [options.more]  settings of the program
 * @param {string} options.directory  of the trial, for the log
 */
export async function startProgram ({ program, settings, mongodbUri, collection, more = {}, directory }) {
  const logFile = path.join(directory, 'records.log')
  const started = await startProcess({
    name: 'records',
    command: process.execPath,
    args: [path.join(ROOT, `loadgen/records/${program}.js`)],
    logFile,
    // In the environment: every user of the machine can read a process's arguments, and the URI may have a password.
    env: {
      ...readConfig().systemEnvironment,
      RECORDS_MONGODB_URI: mongodbUri,
      RECORDS_COLLECTION: collection,
      ...settings.framework === 'none' ? {} : { RECORDS_FRAMEWORK: settings.framework },
      ...settings.write_strategy === 'none' ? {} : { RECORDS_STRATEGY: settings.write_strategy },
      ...gathering(settings),
      ...more
    }
  })
  return {
    ...started,
    /** @type {import('../machine/reading.js').WatchedProcess} */
    watched: { name: 'records', pid: started.pid, part: 'wiki' },

    /**
     * @param {RegExp} line
     * @param {number} withinMs
     * @returns {Promise<RegExpExecArray>} of what the program has printed
     * @throws {Error} when it ends first, or the time is up
     */
    async says (line, withinMs = STARTED_WITHIN_MS) {
      const look = () => line.exec(readFileSync(logFile, 'utf8')) ?? (isAlive(started) ? null : 'ended')
      const found = await waitUntil(look, withinMs, 5)
      // It may have printed the line and ended between the two looks.
      const match = typeof found === 'object' ? found : line.exec(readFileSync(logFile, 'utf8'))
      if (match) return match
      throw new Error(`the records' ${program} ${isAlive(started) ? 'is silent' : 'ended'}: ${logTail(logFile)}`)
    },
    stop: () => stopProcess(started)
  }
}

/** @typedef {Awaited<ReturnType<typeof startProgram>>} Program */

/**
 * `group-commit` waits for nothing unless a trial says so: a writer alone then waits no longer than with `sync`.
 * @param {Settings} settings
 */
function gathering ({ write_strategy: strategy, gather_max: max, gather_ms: ms }) {
  const gatherMs = ms ?? (strategy === 'group-commit' ? 0 : null)
  return {
    ...max === null ? {} : { RECORDS_GATHER_MAX: String(max) },
    ...gatherMs === null ? {} : { RECORDS_GATHER_MS: String(gatherMs) }
  }
}

/**
 * @param {string} url
 * @returns {Promise<Stats>}
 * @throws {Error} when the service does not answer
 */
export async function readStats (url) {
  const { status, body } = await request(`${url}/stats`, { timeoutMs: STATS_WITHIN_MS })
  if (status !== 200) throw new Error(`the record service answered ${status} to /stats: ${body}`)
  return JSON.parse(body)
}

/**
 * Waits until the database has all that was accepted.
 * @param {string} url
 * @returns {Promise<Stats | null>} null: it has not after two minutes
 */
export const whenStored = async (url) => await waitUntil(async () => {
  const stats = await readStats(url)
  return stats.backlog.records === 0 ? stats : null
}, STORED_WITHIN_MS) ?? null
