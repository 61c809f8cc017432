import path from 'node:path'
import { readConfig } from '@stevec/harness/config'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'

const READY_WITHIN_MS = 60_000

/**
 * Starts a wiki that only signed-in people write to, beside the stack's, which is open to everybody.
 * @param {object} options
 * @param {import('../lab/settings.js').Settings} options.settings
 * @param {string} options.mongodbUri
 * @param {string} options.usersFile
 * @param {string} options.wordsDirectory
 * @param {string} options.directory  of the trial, for the log
 */
export async function startWiki ({ settings, mongodbUri, usersFile, wordsDirectory, directory }) {
  const [port] = await freePorts(1)
  const logFile = path.join(directory, 'wiki.log')
  const wiki = await startProcess({
    name: 'wiki',
    command: process.execPath,
    args: [...WIKI_ARGUMENTS],
    logFile,
    // None of the environment's own settings of a wiki.
    env: {
      ...readConfig().systemEnvironment,
      NODE_ENV: 'production',
      ...WIKI_ENVIRONMENT,
      HOST: '127.0.0.1',
      PORT: String(port),
      MONGODB_URI: mongodbUri,
      ACCESS: 'users',
      USERS_FILE: usersFile,
      WATCH_FAN_OUT: settings.fan_out,
      CACHE_POLICY: 'no-store',
      DATABASE_POOL_MAX: String(settings.database_pool),
      SEARCH_DIRECTORY: wordsDirectory,
      // No limit refuses what the trial sends.
      WRITES_PER_MINUTE: '0',
      QUEUE_WAIT_MAX_MS: '0'
    }
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => !isAlive(wiki) ||
    await request(`${url}/healthz`).then(({ status }) => status === 200, () => false)
  if (!await waitUntil(isReady, READY_WITHIN_MS) || !isAlive(wiki)) {
    const said = logTail(logFile)
    await stopProcess(wiki)
    throw new Error(`the wiki of watched pages did not start: ${said}`)
  }
  return {
    url,
    pid: wiki.pid,
    /** @type {import('../machine/reading.js').WatchedProcess} */
    watched: { name: 'wiki watched', pid: wiki.pid, part: 'wiki' },
    stop: () => stopProcess(wiki)
  }
}

/** @typedef {Awaited<ReturnType<typeof startWiki>>} WatchedWiki */
