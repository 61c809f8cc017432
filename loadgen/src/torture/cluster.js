import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { childPids } from '@stevec/harness/proc'
import { isAlive, killGroup, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { startRedis } from '@stevec/harness/redis'
import { startReplicaSet } from '@stevec/harness/replica-set'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { startToxiproxy } from '@stevec/harness/toxiproxy'
import { prepareRole } from '@stevec/nginx'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'
import { createLink } from './link.js'
import { createNetwork } from './network.js'

const WIKIS = 3
const NODES = 3
const READY_MAX_MS = 120_000
const TOKEN = randomBytes(16).toString('hex')
const CACHED_HOST = 'wiki.localhost'

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */

/**
 * @typedef {object} Service  a process that can die and be held up
 * @property {() => ProcessIdentity} identity
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} start  again
 * @property {() => Promise<unknown>} [cut]  from all others
 * @property {() => Promise<unknown>} [join]
 */

/**
 * Three wikis on three mongods, a Redis, the origin's nginx, an edge that the wikis purge, and links: from the clients
 * to the edge, from nginx to each wiki, from the wikis to Redis. Each mongod is on a machine of its own.
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export async function startCluster () {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-cluster-'))
  const [toxiproxyPort, nginxPort, edgePort, edgeDoor, controlPort, redisDoor, ...ports] =
    await freePorts(6 + 2 * WIKIS + 1)
  const [wikiPorts, wikiDoors] = [ports.slice(0, WIKIS), ports.slice(WIKIS, 2 * WIKIS)]
  /** Undone in reverse. @type {(() => unknown)[]} */
  const undo = [() => rmSync(directory, { recursive: true, force: true })]
  const logFile = (/** @type {string} */ name) => path.join(directory, `${name.replaceAll(' ', '-')}.log`)
  const remove = async () => { for (const step of undo.splice(0).reverse()) await step() }

  try {
    const network = await createNetwork(directory)
    undo.push(network.remove)
    const machines = []
    for (let number = 1; number <= NODES; number++) machines.push(await network.addMachine(number))
    const nodePorts = Array.from({ length: NODES }, () => 27_017)
    const set = await startReplicaSet({ ports: nodePorts, directory, machines })
    undo.push(set.stop)
    const redis = await startRedis({ directory, port: ports[2 * WIKIS] })
    undo.push(redis.stop)

    const links = [
      { name: 'clients', listen: edgeDoor, upstream: `127.0.0.1:${edgePort}` },
      { name: 'redis', listen: redisDoor, upstream: `127.0.0.1:${redis.port}` },
      ...wikiDoors.map((listen, index) =>
        ({ name: `wiki ${index + 1}`, listen, upstream: `127.0.0.1:${wikiPorts[index]}` }))
    ]
    const api = await startToxiproxy({
      links, port: toxiproxyPort, logFile: logFile('toxiproxy'), outlive: false, onStart: stopLater
    })
    const linkTo = (/** @type {string} */ name) => createLink(api, name)

    const env = {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      ...WIKI_ENVIRONMENT,
      WRITES_PER_MINUTE: '100000',
      MONGODB_URI: set.uri,
      REDIS_URL: `redis://127.0.0.1:${redisDoor}`,
      CACHE_POLICY: 'purge-tag',
      PURGE_ZONE: 'stevec',
      PURGE_URL: `http://127.0.0.1:${controlPort}`,
      PURGE_TOKEN: TOKEN,
      PURGE_REPEAT_AFTER_S: '1',
      PUBLIC_URL: `http://${CACHED_HOST}:${edgeDoor}`
    }
    const wikis = wikiPorts.map((port, index) => createService({
      name: `wiki ${index + 1}`,
      command: process.execPath,
      args: [...WIKI_ARGUMENTS],
      env: { ...env, PORT: String(port) },
      url: `http://127.0.0.1:${port}/healthz`
    }, linkTo(`wiki ${index + 1}`)))
    const nginxes = {
      'nginx origin': await createNginx('nginx origin',
        { role: 'origin', port: nginxPort, wikiPort: wikiDoors }, `http://127.0.0.1:${nginxPort}/healthz`),
      edge: await createNginx('edge', {
        role: 'edge',
        port: edgePort,
        publicPort: edgeDoor,
        originPort: nginxPort,
        cachedHost: CACHED_HOST,
        nocacheHost: 'nocache.localhost',
        controlPort,
        controlToken: TOKEN
      })
    }
    // Alone, because it may have to bring the database's form up to date.
    for (const wiki of wikis) await wiki.start()
    for (const nginx of Object.values(nginxes)) await nginx.start()
    const ready = await waitUntil(() => answers(`http://127.0.0.1:${nginxPort}/readyz`), READY_MAX_MS)
    if (!ready) throw new Error(`the wikis do not become ready:\n${logTail(logFile('wiki 1'))}`)

    /** @type {Service[]} */
    const mongods = machines.map((machine, index) => ({
      identity: () => set.processes[index],
      kill: () => killGroup(set.processes[index]),
      start: () => set.start(index),
      cut: machine.cut,
      join: machine.join
    }))
    return {
      set,
      mongods,
      wikis,
      redis: /** @type {Service} */ ({ ...redis, ...linkTo('redis') }),
      nginx: /** @type {Service} */ (nginxes['nginx origin']),
      edge: /** @type {Service} */ (nginxes.edge),
      clients: linkTo('clients'),
      urls: { origin: `http://127.0.0.1:${nginxPort}`, edge: `http://127.0.0.1:${edgeDoor}` },
      edgeHost: `${CACHED_HOST}:${edgeDoor}`,
      /** @param {Service} service  nginx @returns {number[]} pids */
      workersOf: (service) => childPids(service.identity().pid),
      /** Errors that the wikis have logged as unexpected, each once. */
      mistakes: () => [...new Set(wikis.flatMap((_, index) => mistakesIn(logFile(`wiki ${index + 1}`))))],
      remove
    }
  } catch (error) {
    await remove()
    throw error
  }

  /** @param {ProcessIdentity} identity */
  function stopLater (identity) { undo.push(() => stopProcess(identity)) }

  /**
   * @param {{name: string, command: string, args: string[], env?: NodeJS.ProcessEnv, url?: string}} what
   * @param {Pick<Service, 'cut' | 'join'>} [link]
   * @returns {Service}
   */
  function createService ({ name, command, args, env, url }, link = {}) {
    /** @type {ProcessIdentity} */
    let running
    return {
      identity: () => running,
      kill: () => killGroup(running),
      async start () {
        running = await startProcess({ name, command, args, logFile: logFile(name), env })
        stopLater(running)
        if (url !== undefined) await waitUntil(() => !isAlive(running) || answers(url), READY_MAX_MS)
        if (!isAlive(running)) throw new Error(`${name} ended:\n${logTail(logFile(name))}`)
      },
      ...link
    }
  }

  /**
   * @param {string} name
   * @param {Parameters<typeof prepareRole>[0]} role
   * @param {string} [url]  answers once it is up
   */
  async function createNginx (name, role, url) {
    const { path: binary } = requireTool('nginx')
    const home = path.join(directory, `${name.replaceAll(' ', '-')}-nginx`)
    mkdirSync(home, { recursive: true })
    const modulesDirectory = nginxModulesDirectory(binary) ?? ''
    const { command, args } = await prepareRole(role, { directory: home, binary, modulesDirectory })
    return createService({ name, command, args, url })
  }
}

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {string} url */
const answers = (url) => fetch(url, { signal: AbortSignal.timeout(2_000) }).then(({ ok }) => ok, () => false)

/** @param {string} file */
function mistakesIn (file) {
  return readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('"unexpected error"')).map((line) => {
    const { err } = JSON.parse(line)
    return `${err.type}: ${err.message}\n${err.stack}`
  })
}
