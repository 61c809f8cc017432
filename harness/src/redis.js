import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from '@redis/client'
import { requireTool } from './tools/locate.js'
import { freePorts, releasePorts } from './ports.js'
import { isAlive, killGroup, logTail, startProcess, stopProcess, waitUntil } from './processes.js'

/** @typedef {import('./processes.js').ProcessIdentity} ProcessIdentity */

const READY_TIMEOUT_MS = 60_000
/** Of one question to a server that may not answer yet. */
const ASK_TIMEOUT_MS = 2_000
const MASTER_NAME = 'stevec'
/** After this silence a sentinel counts its master as down. */
const DOWN_AFTER_MS = 1_000
const FAILOVER_TIMEOUT_MS = 5_000

/**
 * @typedef {object} RedisOptions
 * @property {string} [name]  of the process, and of its folder in `directory`; default: redis
 * @property {number} [port]  default: a free one
 * @property {string} [directory]  holds the configuration, the log and the data; default: a temporary one that `stop`
 *   removes
 * @property {boolean} [appendonly]  true: writes are on disk within a second, and a killed server has them again;
 *   default: nothing is ever written to disk
 * @property {number} [maxmemoryMib]  for data; beyond it the least recently used keys go that have an end
 * @property {string} [password]  of `[A-Za-z0-9_-]`; default: none
 * @property {boolean} [unixSocket]  true: also on a socket in the directory
 * @property {{port: number}} [replicaOf]  the master, with the same password
 * @property {boolean} [outlive]  see startProcess
 * @property {string[]} [cgroups]  see startProcess
 * @property {NodeJS.ProcessEnv} [env]  see startProcess
 * @property {(identity: ProcessIdentity) => void} [onStart]  called before the server is ready, so that the caller can
 *   record it at once and stop it later
 */

/**
 * @typedef {object} Redis  a running server
 * @property {string} url  redis://…, with the password
 * @property {number} port
 * @property {string | null} socket  path of its unix socket
 * @property {() => ProcessIdentity} identity  of the process that runs, or ran last
 * @property {() => Promise<void>} kill  as a crash would; the port stays reserved
 * @property {() => Promise<void>} start  after `kill`, with the same port, configuration and data
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a real redis-server on loopback and waits until it answers; a replica, until it follows its master.
 * https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/
 * @param {RedisOptions} [options]
 * @returns {Promise<Redis>}
 * @throws {Error} when it does not answer within a minute, with the end of its log
 */
export async function startRedis (options = {}) {
  const {
    name = 'redis', appendonly = false, maxmemoryMib = 64, password, unixSocket = false, replicaOf
  } = options
  const secret = checkedPassword(password)
  // Later, sentinels may have made it the master.
  let follows = replicaOf !== undefined
  const isReady = async (/** @type {number} */ port) => {
    const role = await ask(redisUrl({ port, password }), (client) => client.sendCommand(['ROLE']))
    if (!Array.isArray(role) || (follows && (role[0] !== 'slave' || role[3] !== 'connected'))) return false
    follows = false
    return true
  }
  const server = await startServer({ ...options, name }, isReady, ({ port, home }) => [
    `port ${port}`,
    ...unixSocket ? [`unixsocket ${path.join(home, 'redis.sock')}`, 'unixsocketperm 700'] : [],
    'save ""',
    `appendonly ${appendonly ? 'yes' : 'no'}`,
    `maxmemory ${maxmemoryMib}mb`,
    // Of the wiki's keys only saves that wait have no end, and these must not go.
    'maxmemory-policy volatile-lru',
    // A replica copies its master at once, where the default waits 5 s for others, and through no file: a server that
    // starts again would have the data of that time.
    'repl-diskless-sync yes',
    'repl-diskless-sync-delay 0',
    'repl-diskless-load swapdb',
    ...secret === null ? [] : [`requirepass ${secret}`, `masterauth ${secret}`],
    ...replicaOf === undefined ? [] : [`replicaof 127.0.0.1 ${replicaOf.port}`]
  ])
  const { port, home, ...rest } = server
  return { ...rest, port, url: redisUrl({ port, password }), socket: unixSocket ? path.join(home, 'redis.sock') : null }
}

/**
 * @param {{port: number, password?: string, database?: number}} server
 * @returns {string} for clients on this machine
 */
export const redisUrl = ({ port, password, database = 0 }) =>
  `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}/${database}`

/**
 * @typedef {object} RedisGroup  a master, its replica, and the sentinels that promote the replica when the master dies
 * @property {string} url  redis-sentinel://…, as the wiki's REDIS_URL takes it
 * @property {Redis} master  at the start
 * @property {Redis} replica  at the start
 * @property {Pick<Redis, 'port' | 'identity' | 'kill' | 'start' | 'stop'>[]} sentinels
 * @property {() => Promise<number | null>} masterPort  as a living sentinel knows it now; null: none answers
 * @property {() => Promise<void>} stop
 */

/** @param {number} number  from 1 @returns {string} of the process */
export const sentinelName = (number) => `sentinel ${number}`

/** Names of the processes of a group. */
export const GROUP_NAMES = Object.freeze({ master: 'redis master', replica: 'redis replica' })

/**
 * Starts a master, a replica and sentinels, and waits until the sentinels could fail over.
 * https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/
 * @param {Omit<RedisOptions, 'name' | 'port' | 'unixSocket' | 'replicaOf'> &
 *   {sentinels?: 1 | 3, ports?: number[]}} [options]
 *   with 3 sentinels two must agree that the master is down; `ports`: of master, replica and sentinels; default: free
 *   ones
 * @returns {Promise<RedisGroup>}
 * @throws {Error} when a part does not become ready within a minute
 */
export async function startRedisGroup ({ sentinels: count = 1, ports = [], ...options } = {}) {
  /** @type {{stop: () => Promise<void>}[]} */
  const started = []
  const stop = async () => { for (const each of [...started].reverse()) await each.stop() }
  const { password } = options
  try {
    const [ofMaster, ofReplica, ...ofSentinels] = ports
    const master = await startRedis({ ...options, name: GROUP_NAMES.master, port: ofMaster })
    started.push(master)
    const replica = await startRedis({ ...options, name: GROUP_NAMES.replica, port: ofReplica, replicaOf: master })
    started.push(replica)
    /** @type {Awaited<ReturnType<typeof startSentinel>>[]} */
    const sentinels = []
    for (let number = 1; number <= count; number++) {
      const place = { ...options, port: ofSentinels[number - 1] }
      const sentinel = await startSentinel({ ...place, number, master, quorum: count === 1 ? 1 : 2 })
      started.push(sentinel)
      sentinels.push(sentinel)
    }
    for (const { port } of sentinels) await untilKnown(port, count)
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const url = `redis-sentinel://${password === undefined ? '' : `:${password}@`}${hosts}/0#${MASTER_NAME}`
    return { url, master, replica, sentinels, masterPort: () => masterPort(sentinels), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param {RedisOptions & {number: number, master: Redis, quorum: number}} options */
function startSentinel ({ number, master, quorum, ...options }) {
  const isReady = async (/** @type {number} */ port) =>
    String(await ask(redisUrl({ port }), (client) => client.sendCommand(['PING']))) === 'PONG'
  const secret = checkedPassword(options.password)
  return startServer({ ...options, name: sentinelName(number) }, isReady, ({ port }) => [
    `port ${port}`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} ${quorum}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} ${FAILOVER_TIMEOUT_MS}`,
    ...secret === null ? [] : [`sentinel auth-pass ${MASTER_NAME} ${secret}`]
  ], ['--sentinel'])
}

/**
 * @param {number} port  of a sentinel
 * @param {number} count  of all sentinels
 * @throws {Error}
 */
async function untilKnown (port, count) {
  const known = await waitUntil(() => ask(redisUrl({ port }), async (client) => {
    const { slaves, sentinels } = firstMaster(String(await client.sendCommand(['INFO', 'sentinel'])))
    return slaves === 1 && sentinels === count
  }), READY_TIMEOUT_MS)
  if (!known) throw new Error(`the sentinel on port ${port} does not find the replica and the other sentinels`)
}

/**
 * @param {string} info  of `INFO sentinel`: master0:name=stevec,status=ok,address=…,slaves=1,sentinels=1
 * @returns {{slaves: number, sentinels: number}}
 */
function firstMaster (info) {
  const [, line = ''] = /^master0:(.*)$/m.exec(info) ?? []
  const fields = Object.fromEntries(line.trim().split(',').map((field) => field.split('=')))
  return { slaves: Number(fields.slaves), sentinels: Number(fields.sentinels) }
}

/** @param {{port: number}[]} sentinels */
async function masterPort (sentinels) {
  for (const { port } of sentinels) {
    const address = await ask(redisUrl({ port }),
      (client) => client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME]))
    if (Array.isArray(address)) return Number(address[1])
  }
  return null
}

/**
 * Starts redis-server with a configuration file, which hides the password from `ps`. A sentinel writes to its own.
 * @param {RedisOptions & {name: string}} options
 * @param {(port: number) => Promise<boolean | null>} isReady
 * @param {(place: {port: number, home: string}) => string[]} linesOf  of the configuration
 * @param {string[]} [more]  arguments
 */
async function startServer (options, isReady, linesOf, more = []) {
  const { name, directory, outlive = false, cgroups, env, onStart = () => {} } = options
  const tool = requireTool('redis')
  const home = directory === undefined
    ? mkdtempSync(path.join(tmpdir(), 'stevec-redis-'))
    : path.join(directory, name.replaceAll(' ', '-'))
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const port = options.port ?? (await freePorts(1))[0]
  const logFile = path.join(home, 'redis.log')
  const file = path.join(home, 'redis.conf')
  const common = ['bind 127.0.0.1', 'protected-mode yes', 'daemonize no', `dir ${home}`]
  writeFileSync(file, [...common, ...linesOf({ port, home })].join('\n') + '\n', { mode: 0o600 })
  /** @type {ProcessIdentity} */
  let running

  async function start () {
    const args = [file, ...more]
    running = await startProcess({ name, command: tool.path, args, logFile, outlive, cgroups, env })
    onStart(running)
    const ready = await waitUntil(async () => !isAlive(running) || await isReady(port), READY_TIMEOUT_MS)
    if (ready && isAlive(running)) return
    throw new Error(`${name} did not become ready on port ${port}:\n${logTail(logFile)}`)
  }

  async function stop () {
    await stopProcess(running)
    if (options.port === undefined) await releasePorts([port])
    if (directory === undefined) rmSync(home, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return { port, home, identity: () => running, kill: () => killGroup(running), start, stop }
}

/**
 * One question on a connection of its own.
 * @template T
 * @param {string} url
 * @param {(client: import('@redis/client').RedisClientType) => Promise<T>} question
 * @returns {Promise<T | null>} null: no answer, or an error
 */
async function ask (url, question) {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: ASK_TIMEOUT_MS } })
  client.on('error', () => {})
  const limit = setTimeout(() => client.destroy(), ASK_TIMEOUT_MS)
  try {
    await client.connect()
    return await question(/** @type {any} */ (client))
  } catch {
    return null
  } finally {
    clearTimeout(limit)
    if (client.isOpen) client.destroy()
  }
}

/**
 * Removes keys, a thousand at a time.
 * @param {string} url  of a server
 * @param {string} pattern  as of SCAN: https://redis.io/docs/latest/commands/scan/
 * @throws {Error} when the server does not answer
 */
export async function removeKeys (url, pattern) {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: ASK_TIMEOUT_MS } })
  client.on('error', () => {})
  await client.connect()
  try {
    for await (const keys of client.scanIterator({ MATCH: pattern, COUNT: 1000 })) {
      if (keys.length > 0) await client.unlink(keys)
    }
  } finally {
    client.destroy()
  }
}

/** @returns {string} for a server of a test or of a stack */
export const newRedisPassword = () => randomBytes(16).toString('hex')

/** @param {string | undefined} password @returns {string | null} @throws {Error} where it would need quotes */
function checkedPassword (password) {
  if (password === undefined) return null
  if (!/^[\w-]{1,200}$/.test(password)) throw new Error('a password of Redis has letters, digits, _ and - here')
  return password
}
