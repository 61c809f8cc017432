import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '../src/start.js'
import { startReplicaSet } from './replica-set.js'

const READY_MAX_MS = 60_000
const DEAD_MAX_MS = 10_000
const MISTAKES_MAX = 20

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */

/**
 * Creates a database and wikis, each a process of its own that can be killed and restarted on the same port, and the
 * origin's nginx in front of them if requested.
 * @param {object} [options]
 * @param {number} [options.wikis]
 * @param {number} [options.members]  of the database's replica set
 * @param {Record<string, string>} [options.settings]  of the wikis
 * @param {Record<string, string>} [options.env]  of the wikis and of a single-member database, beside this process's
 * @param {string[]} [options.cgroups]  directories of the control groups that the wikis run in
 * @param {(index: number, uri: string) => string} [options.uriOf]  of a wiki's database; default: `uri`
 * @param {boolean} [options.behindNginx]  default: when there are several wikis
 * @param {number} [options.requestsAtOnceMax]  see nginx/src/role.js
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export async function createTestbed ({
  wikis: count = 1,
  members = 1,
  settings = {},
  env = {},
  cgroups = [],
  uriOf = (_, uri) => uri,
  behindNginx = count > 1,
  requestsAtOnceMax
} = {}) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-testbed-'))
  const [nginxPort, ...ports] = await freePorts(1 + count + members)
  const [wikiPorts, databasePorts] = [ports.slice(0, count), ports.slice(count)]
  const logFile = (/** @type {number} */ index) => path.join(directory, `wiki-${index}.log`)
  /** @type {Map<string, ProcessIdentity>} */
  const running = new Map()
  const wikiUrl = (/** @type {number} */ index) => `http://127.0.0.1:${wikiPorts[index]}`
  const url = behindNginx ? `http://127.0.0.1:${nginxPort}` : wikiUrl(0)
  const uri = `mongodb://${databasePorts.map((port) => `127.0.0.1:${port}`).join(',')}/wiki?replicaSet=stevec`

  /** @param {string} name */
  async function kill (name) {
    const identity = running.get(name)
    if (identity === undefined || !isAlive(identity)) return
    process.kill(identity.pid, 'SIGKILL')
    if (!await waitUntil(() => !isAlive(identity), DEAD_MAX_MS, 2)) throw new Error(`${name} outlived SIGKILL`)
  }

  const processOf = (/** @type {number} */ index) => running.get(`wiki ${index}`)

  const answers = (/** @type {string} */ address) => fetch(address).then(({ ok }) => ok, () => false)

  return {
    url,
    wikiUrl,
    uri,
    /** @throws {Error} with the end of its log when it does not become ready */
    async startDatabase () {
      /** @param {ProcessIdentity} identity */
      const onStart = (identity) => { running.set(members === 1 ? 'mongod' : identity.name, identity) }
      if (members > 1) await startReplicaSet({ ports: databasePorts, directory, onStart })
      else await startMongod({ port: databasePorts[0], directory, env: { ...process.env, ...env }, onStart })
    },

    /**
     * @param {number} [index]
     * @param {string} [until]  path that answers once it is ready; `/healthz` does not wait for the database
     * @throws {Error} with the end of its log when it does not become ready
     */
    async startWiki (index = 0, until = '/healthz') {
      const wiki = await startProcess({
        name: `wiki ${index}`,
        command: process.execPath,
        args: [...WIKI_ARGUMENTS],
        logFile: logFile(index),
        cgroups,
        env: {
          PATH: process.env.PATH,
          ...WIKI_ENVIRONMENT,
          WRITES_PER_MINUTE: '0',
          ...env,
          ...settings,
          PORT: String(wikiPorts[index]),
          MONGODB_URI: uriOf(index, uri)
        }
      })
      running.set(wiki.name, wiki)
      const up = await waitUntil(() => !isAlive(wiki) || answers(wikiUrl(index) + until), READY_MAX_MS)
      if (!up || !isAlive(wiki)) throw new Error(`the wiki did not come up:\n${logTail(logFile(index))}`)
    },

    /** Starts the origin's nginx in front of all wikis. */
    async startNginx () {
      const { path: binary } = requireTool('nginx')
      const home = path.join(directory, 'nginx')
      const { command, args } = await prepareRole(
        { role: 'origin', port: nginxPort, wikiPort: wikiPorts, requestsAtOnceMax },
        { directory: home, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
      )
      mkdirSync(home, { recursive: true })
      running.set('nginx', await startProcess({ name: 'nginx', command, args, logFile: path.join(home, 'nginx.log') }))
      if (!await waitUntil(() => answers(`${url}/healthz`), READY_MAX_MS)) {
        throw new Error(`nginx does not answer:\n${logTail(path.join(home, 'nginx.log'))}`)
      }
    },

    async start () {
      await this.startDatabase()
      await Promise.all(wikiPorts.map((_, index) => this.startWiki(index, '/readyz')))
      if (behindNginx) await this.startNginx()
    },

    killMongod: () => kill('mongod'),
    /** @param {number} port  of the member */
    killMember: (port) => kill(`mongod ${port}`),
    killWiki: (index = 0) => kill(`wiki ${index}`),
    /**
     * Kills one worker of the first wiki; the wiki's primary process starts another in its place.
     * @param {number} draw  a random number that chooses the worker, from 0 to below 1
     */
    killWorker (draw) {
      const workers = this.workers()
      process.kill(workers[Math.floor(draw * workers.length)], 'SIGKILL')
    },

    /**
     * Stops a wiki as a deployment does: SIGTERM, with time to finish.
     * @param {number} index
     */
    async stopWiki (index) {
      const wiki = processOf(index)
      if (wiki) await stopProcess(wiki)
    },

    /** @returns {string[]} the lines of nginx's error log that contain `part` */
    nginxLog: (part = '') => readFileSync(path.join(directory, 'nginx/error.log'), 'utf8').split('\n')
      .filter((line) => line.includes(part)),

    /** @throws {Error} when it does not run */
    nginx () {
      const identity = running.get('nginx')
      if (identity === undefined || !isAlive(identity)) throw new Error('nginx does not run')
      return identity
    },

    /** @param {number} [index] */
    wiki: (index = 0) => processOf(index),

    /** The database of a single member. */
    mongod: () => running.get('mongod'),

    /**
     * @param {number} [index]
     * @returns {number[]} the pids of its workers, the oldest first; none when it is one process
     */
    workers (index = 0) {
      const pid = processOf(index)?.pid
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
    },

    log: () => wikiPorts.map((_, index) => logTail(logFile(index), 50)).join('\n'),
    /** The unexpected errors that the wikis have logged, each once. @returns {string[]} */
    mistakes: () => [...new Set(wikiPorts
      .flatMap((_, index) => readFileSync(logFile(index), 'utf8').split('\n'))
      .filter((line) => line.includes('"unexpected error"'))
      .map((line) => {
        const { err } = JSON.parse(line)
        return `${err.type}: ${err.message}\n${err.stack}`
      }))].slice(0, MISTAKES_MAX),

    async remove () {
      for (const identity of [...running.values()].reverse()) await stopProcess(identity)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof createTestbed>>} Testbed */
