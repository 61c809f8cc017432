import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startMongod } from '../../loadgen/src/stack/mongod.js'
import { freePorts } from '../../loadgen/src/stack/ports.js'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '../../loadgen/src/stack/processes.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const READY_MAX_MS = 60_000
const DEAD_MAX_MS = 10_000
const MISTAKES_MAX = 20

/** @typedef {import('../../loadgen/src/stack/processes.js').ProcessIdentity} ProcessIdentity */

/**
 * A mongod and a wiki, each a process of its own that can be killed and started again at its place.
 * @param {Record<string, string>} [settings]  of the wiki
 */
export async function createPlace (settings = {}) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-place-'))
  const [databasePort, wikiPort] = await freePorts(2)
  const logFile = path.join(directory, 'wiki.log')
  /** @type {ProcessIdentity | null} */
  let mongod = null
  /** @type {ProcessIdentity | null} */
  let wiki = null

  /** @param {ProcessIdentity | null} identity */
  async function kill (identity) {
    if (identity === null || !isAlive(identity)) return
    process.kill(identity.pid, 'SIGKILL')
    if (!await waitUntil(() => !isAlive(identity), DEAD_MAX_MS, 2)) throw new Error(`${identity.name} outlived SIGKILL`)
  }

  return {
    url: `http://127.0.0.1:${wikiPort}`,
    uri: `mongodb://127.0.0.1:${databasePort}/wiki?replicaSet=stevec`,
    /** @throws {Error} with the end of its log when it does not become ready */
    async startMongod () {
      await startMongod({ port: databasePort, directory, onStart: (identity) => { mongod = identity } })
    },
    /** Without waiting for its database. @throws {Error} as above */
    async startWiki () {
      const started = await startProcess({
        name: 'wiki',
        command: process.execPath,
        args: [SERVER],
        logFile,
        env: { PATH: process.env.PATH, WRITES_PER_MINUTE: '0', ...settings, PORT: String(wikiPort), MONGODB_URI: this.uri }
      })
      wiki = started
      const up = await waitUntil(() => !isAlive(started) || fetch(`${this.url}/healthz`).then(({ ok }) => ok, () => false), READY_MAX_MS)
      if (!up || !isAlive(started)) throw new Error(`the wiki did not come up:\n${logTail(logFile)}`)
    },
    killMongod: () => kill(mongod),
    killWiki: () => kill(wiki),
    log: () => logTail(logFile, 50),
    /** What the wiki has logged as its own mistakes, each once. @returns {string[]} */
    mistakes: () => [...new Set(readFileSync(logFile, 'utf8').split('\n').filter((line) => line.includes('"unexpected error"')).map((line) => {
      const { err } = JSON.parse(line)
      return `${err.type}: ${err.message}\n${err.stack}`
    }))].slice(0, MISTAKES_MAX),
    async remove () {
      for (const identity of [wiki, mongod]) if (identity !== null) await stopProcess(identity)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof createPlace>>} Place */
