import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { childPids } from '@stevec/harness/proc'
import { killGroup, logTail, stopProcess, waitUntil } from '@stevec/harness/processes'
import { startRedis } from '@stevec/harness/redis'
import { startReplicaSet } from '@stevec/harness/replica-set'
import { startToxiproxy } from '@stevec/harness/toxiproxy'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'
import { logOf } from '../stack/state.js'
import { createLink } from './link.js'
import { createNetwork } from './network.js'
import { answers, createNginx, createService } from './service.js'

const WIKIS = 3
const NODES = 3
const NODE_PORT = 27_017
const READY_MAX_MS = 120_000
const TOKEN = randomBytes(16).toString('hex')
const CACHED_HOST = 'wiki.localhost'

/** @import {Place, ProcessIdentity, Service} from './service.js' */

/**
 * Three wikis on three mongods, a Redis, the origin's nginx, an edge that the wikis purge, and links: from the clients
 * to the edge, from nginx to each wiki, from the wikis to Redis. Each mongod is on a machine of its own.
 */
export async function startCluster () {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-cluster-'))
  /** Undone in reverse. @type {(() => unknown)[]} */
  const undo = [() => rmSync(directory, { recursive: true, force: true })]
  const remove = async () => { for (const step of undo.splice(0).reverse()) await step() }
  /** @type {Place} */
  const place = { directory, onStart: (identity) => { undo.push(() => stopProcess(identity)) } }
  try {
    const ports = await takePorts()
    const { set, mongods } = await startDatabase(directory, undo)
    const redis = await startRedis({ directory, port: ports.redis })
    undo.push(redis.stop)
    const { onStart } = place
    const logFile = logOf(directory, 'toxiproxy')
    const links = linksOf(ports)
    const api = await startToxiproxy({ links, port: ports.toxiproxy, logFile, outlive: false, onStart })
    const linkTo = (/** @type {string} */ name) => createLink(api, name)
    const wikis = createWikis(place, ports, set.uri, linkTo)
    const urls = { origin: `http://127.0.0.1:${ports.nginx}`, edge: `http://127.0.0.1:${ports.edgeDoor}` }
    const nginx = await createNginx({ name: 'nginx origin', url: `${urls.origin}/healthz`, ...place },
      { role: 'origin', port: ports.nginx, wikiPort: ports.wikiDoors })
    const edge = await createNginx({ name: 'edge', ...place }, edgeRole(ports))
    // One after the other: the first wiki may migrate the database.
    for (const service of [...wikis, nginx, edge]) await service.start()
    const ready = await waitUntil(() => answers(`${urls.origin}/readyz`), READY_MAX_MS)
    if (!ready) throw new Error(`the wikis do not become ready:\n${logTail(logOf(directory, wikiName(0)))}`)

    return {
      set,
      mongods,
      wikis,
      redis: /** @type {Service} */ ({ ...redis, ...linkTo('redis') }),
      nginx,
      edge,
      clients: linkTo('clients'),
      urls,
      edgeHost: `${CACHED_HOST}:${ports.edgeDoor}`,
      /** @param {Service} service  nginx @returns {number[]} pids */
      workersOf: (service) => childPids(service.identity().pid),
      /** Errors that the wikis have logged as unexpected, each once. */
      mistakes: () => [...new Set(wikis.flatMap((_, index) => mistakesIn(logOf(directory, wikiName(index)))))],
      remove
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {number} index  0… */
const wikiName = (index) => `wiki ${index + 1}`

/** @typedef {Awaited<ReturnType<typeof takePorts>>} Ports  `…Door`: where the link before it listens */

async function takePorts () {
  const [toxiproxy, nginx, edge, edgeDoor, control, redis, redisDoor, ...more] = await freePorts(7 + 2 * WIKIS)
  return {
    toxiproxy,
    nginx,
    edge,
    edgeDoor,
    control,
    redis,
    redisDoor,
    wikis: more.slice(0, WIKIS),
    wikiDoors: more.slice(WIKIS)
  }
}

/** @param {string} directory @param {(() => unknown)[]} undo  gets what removes the database */
async function startDatabase (directory, undo) {
  const network = await createNetwork(directory)
  undo.push(network.remove)
  const machines = []
  for (let number = 1; number <= NODES; number++) machines.push(await network.addMachine(number))
  const set = await startReplicaSet({ ports: machines.map(() => NODE_PORT), directory, machines })
  undo.push(set.stop)
  /** @type {Service[]} */
  const mongods = machines.map(({ cut, join }, index) => ({
    identity: () => set.processes[index],
    kill: () => killGroup(set.processes[index]),
    start: () => set.start(index),
    cut,
    join
  }))
  return { set, mongods }
}

/** @param {Ports} ports */
function linksOf ({ edge, edgeDoor, redis, redisDoor, wikis, wikiDoors }) {
  const here = (/** @type {number} */ port) => `127.0.0.1:${port}`
  return [
    { name: 'clients', listen: edgeDoor, upstream: here(edge) },
    { name: 'redis', listen: redisDoor, upstream: here(redis) },
    ...wikiDoors.map((listen, index) => ({ name: wikiName(index), listen, upstream: here(wikis[index]) }))
  ]
}

/**
 * @param {Place} place
 * @param {Ports} ports
 * @param {string} uri  of the database
 * @param {(name: string) => ReturnType<typeof createLink>} linkTo
 */
function createWikis (place, { wikis, redisDoor, control, edgeDoor }, uri, linkTo) {
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    ...WIKI_ENVIRONMENT,
    WRITES_PER_MINUTE: '100000',
    MONGODB_URI: uri,
    REDIS_URL: `redis://127.0.0.1:${redisDoor}`,
    CACHE_POLICY: 'purge-tag',
    PURGE_ZONE: 'stevec',
    PURGE_URL: `http://127.0.0.1:${control}`,
    PURGE_TOKEN: TOKEN,
    PURGE_REPEAT_AFTER_S: '1',
    PUBLIC_URL: `http://${CACHED_HOST}:${edgeDoor}`
  }
  return wikis.map((port, index) => createService({
    name: wikiName(index),
    command: process.execPath,
    args: [...WIKI_ARGUMENTS],
    env: { ...env, PORT: String(port) },
    url: `http://127.0.0.1:${port}/healthz`,
    ...place
  }, linkTo(wikiName(index))))
}

/** @param {Ports} ports @returns {Parameters<typeof createNginx>[1]} */
const edgeRole = ({ edge, edgeDoor, nginx, control }) => ({
  role: 'edge',
  port: edge,
  publicPort: edgeDoor,
  originPort: nginx,
  cachedHost: CACHED_HOST,
  nocacheHost: 'nocache.localhost',
  controlPort: control,
  controlToken: TOKEN
})

/** @param {string} file */
function mistakesIn (file) {
  return readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('"unexpected error"')).map((line) => {
    const { err } = JSON.parse(line)
    return `${err.type}: ${err.message}\n${err.stack}`
  })
}
