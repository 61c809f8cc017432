import { shownAddress } from './address.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {RedisAddress} from './address.js' */
/** @import {Client, Commands} from './clients.js' */

/** Hundreds of times what a command takes. */
const COMMAND_MAX_MS = 1_000
/** Of an attempt to connect, with all its questions to sentinels. */
const OPEN_MAX_MS = 5_000
/** Beyond it a command fails at once: nothing grows while Redis is slow. */
const COMMANDS_MAX = 1_000
/** Before the next attempt; doubles, with up to a half more by chance, so that wikis do not come back all at once. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 5_000

/** Redis is away, or did not answer in time. */
export class RedisAway extends Error {
  /** @param {string} message @param {{sent?: boolean}} [how]  sent: Redis may have done it all the same */
  constructor (message, { sent = false } = {}) {
    super(message)
    this.sent = sent
  }
}

/**
 * @typedef {object} SharedRedis
 * @property {string} address  for a log
 * @property {() => {available: boolean, since: Date | null, error: string | null, failedOverAt: Date | null}} state
 *   `since` when it is so; null: since the start. `failedOverAt`: the sentinels named another master then
 * @property {() => Promise<void>} open  resolves after the first attempt to connect, also when that fails
 * @property {() => Promise<void>} close
 * @property {(listener: () => void) => void} onOpen  called each time that Redis answers again, and at first
 * @property {<T>(work: (commands: Commands) => Promise<T>, options?: {maxMs?: number}) => Promise<T>} run  rejects with
 *   RedisAway: at once while Redis is away, after `maxMs` when it does not answer
 */

/**
 * What the log says: of the first connection, of a later one, of a loss.
 * @typedef {Record<'first' | 'back' | 'away', string>} Says
 */

/** @type {Says} */
const OF_LIMITS = {
  first: 'limits of writes and sign-ins are shared through Redis',
  back: 'Redis answers again: what several wikis share is shared again',
  away: 'Redis is away: until it answers, each process keeps its own limits'
}

/**
 * The one connection of this process to Redis. An error or a silence ends it, and it is opened again until that
 * succeeds; meanwhile each `run` fails at once, so no request waits for a Redis that is away.
 * @typedef {{commandMaxMs?: number, replicas?: boolean, says?: Says}} Details  replicas: see createRedisClient
 * @param {{address: RedisAddress, log: FastifyBaseLogger} & Details} options
 * @returns {SharedRedis}
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createSharedRedis ({
  address, log, commandMaxMs = COMMAND_MAX_MS, replicas = false, says = OF_LIMITS
}) {
  const shown = shownAddress(address)
  /** @type {Client | null} */
  let client = null
  let available = false
  /** @type {Date | null} */
  let since = null
  /** @type {string | null} */
  let problem = null
  let master = ''
  /** @type {Date | null} */
  let failedOverAt = null
  let failures = 0
  let closed = false
  let running = 0
  /** @type {(() => void)[]} */
  const listeners = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function attempt () {
    const { createRedisClient } = await import('./clients.js')
    if (closed) return
    const mine = createRedisClient(address, (error) => lose(mine, error), { replicas, onMaster })
    client = mine
    try {
      await withinTime(mine.open().then(() => mine.commands.ping()), OPEN_MAX_MS)
    } catch (error) {
      return lose(mine, /** @type {Error} */ (error))
    }
    if (client !== mine || closed) return
    const wasLost = problem !== null
    ;[available, since, problem] = [true, new Date(), null]
    if (wasLost) log.warn({ redis: shown }, says.back)
    else log.info({ redis: shown }, says.first)
    for (const listener of listeners) listener()
  }

  /** @param {string} named */
  function onMaster (named) {
    if (master !== '' && master !== named) failedOverAt = new Date()
    master = named
  }

  /** @param {Client} lost @param {Error} [error] */
  function lose (lost, error) {
    const isCurrent = client === lost && !closed
    // First: the client says that it ends.
    if (isCurrent) client = null
    lost.destroy()
    if (!isCurrent) return
    // One line for each time that Redis goes away.
    if (problem === null) {
      since = new Date()
      log.warn({ redis: shown, err: error?.message }, says.away)
    }
    problem = error?.message ?? 'the connection has ended'
    available = false
    const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** failures) * (1 + Math.random() / 2)
    failures = Math.min(failures + 1, 10)
    timer = setTimeout(attempt, pauseMs).unref()
  }

  return {
    address: shown,
    state: () => ({ available, since, error: problem, failedOverAt }),
    open: attempt,
    async close () {
      closed = true
      available = false
      clearTimeout(timer)
      client?.destroy()
    },
    onOpen (listener) {
      listeners.push(listener)
    },
    async run (work, { maxMs = commandMaxMs } = {}) {
      const mine = client
      if (!available || mine === null || running >= COMMANDS_MAX) throw new RedisAway('Redis is away')
      const result = send(mine, work)
      return maxMs < commandMaxMs ? withinTime(result, maxMs) : result
    }
  }

  /** @template T @param {Client} mine @param {(commands: Commands) => Promise<T>} work @returns {Promise<T>} */
  async function send (mine, work) {
    running++
    try {
      const result = await withinTime(work(mine.commands), commandMaxMs)
      failures = 0
      return result
    } catch (error) {
      lose(mine, /** @type {Error} */ (error))
      throw new RedisAway(/** @type {Error} */ (error).message, { sent: true })
    } finally {
      running--
    }
  }
}

/** @template T @param {Promise<T>} promise @param {number} maxMs @returns {Promise<T>} */
function withinTime (promise, maxMs) {
  return new Promise((resolve, reject) => {
    // After the limit the input is read once more: a busy process does not take its own silence for Redis's.
    const timer = setTimeout(() => setImmediate(() => setImmediate(() =>
      reject(new RedisAway(`no answer within ${maxMs} ms`)))), maxMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
