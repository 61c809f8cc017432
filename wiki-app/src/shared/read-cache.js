import { randomBytes } from 'node:crypto'
import { hashOf } from './key.js'

/** @import {SharedRedis} from './connection.js' */

/** A reader waits no longer for Redis before it goes to the database; hundreds of times what a command takes. */
const READ_MAX_MS = 250
/** A reader that has not filled the cache after this time may not do so any more. */
const LEASE_MS = 10_000
/** Of this process, for a Redis that was away; beyond it the oldest is forgotten. */
const FORGOTTEN_MAX = 1_000

/** A key holds `=` and a value, or `?` and the token of the reader that may fill it. */
const VALUE = '='
const LEASE = '?'

/** Returns the value, or 1: the caller may fill the key; or nothing: another reader may. */
const TAKE = `
local found = redis.call('GET', KEYS[1])
if found then
  if string.sub(found, 1, 1) == '=' then return found end
  return false
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`

/** Fills a key, or gives it free, unless it was forgotten since the lease. */
const FILL = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
`

/**
 * Values of the database, kept in Redis beside it: read first from a replica, if there is one, then from the master,
 * then from the database, and then kept for a lifetime. A reader that finds nothing leaves a token in the key before it
 * asks the database. To forget a key removes the token, too. So no reader can keep what it has read before a commit
 * once that commit's key is forgotten (docs/decisions/0046).
 * @template T  of a value: JSON
 * @param {object} options
 * @param {string} options.name  part of the keys
 * @param {SharedRedis} options.redis  the master
 * @param {SharedRedis} [options.replica]
 * @param {number} options.lifetimeS
 */
export function createReadCache ({ name, redis, replica, lifetimeS }) {
  const keyOf = (/** @type {string} */ id) => `stevec:${name}:${hashOf(id)}`
  /** Reads of the database, by id: one for all that come at once. @type {Map<string, Promise<T | null>>} */
  const loading = new Map()
  const forgotten = createForgotten(1000 * lifetimeS + LEASE_MS)
  const counts = { hits: 0, misses: 0, without: 0 }

  // Redis was away, or is another one since a failover: it may not know what was forgotten.
  redis.onOpen(() => { remove(forgotten.keys()) })

  /** @param {string[]} keys */
  const remove = async (keys) => {
    if (keys.length > 0) await redis.run((commands) => commands.del(keys)).catch(() => {})
  }

  /** @param {string} key @returns {Promise<string | null>} null: not there, or no replica answers */
  async function fromReplica (key) {
    if (replica === undefined) return null
    const found = await replica.run((commands) => commands.get(key), { maxMs: READ_MAX_MS }).catch(() => null)
    return found?.startsWith(VALUE) ? found : null
  }

  /**
   * @param {string} key @param {string} token
   * @returns {Promise<string | 1 | null>} a value; 1: this reader may fill the key
   */
  const take = (key, token) => /** @type {Promise<any>} */ (redis.run((commands) =>
    commands.eval(TAKE, { keys: [key], arguments: [token, String(LEASE_MS)] }), { maxMs: READ_MAX_MS }))

  /** @param {string} key @param {string} token @param {T | null} value */
  function fill (key, token, value) {
    const text = value === null ? '' : VALUE + JSON.stringify(value)
    // The reader has its value and does not wait.
    redis.run((commands) => commands.eval(FILL, { keys: [key], arguments: [token, text, String(1000 * lifetimeS)] }))
      .catch(() => {})
  }

  /** @param {string} id @param {() => Promise<T | null>} load @returns {Promise<T | null>} */
  async function readOnce (id, load) {
    const key = keyOf(id)
    const token = LEASE + randomBytes(12).toString('base64url')
    const found = await fromReplica(key) ?? await take(key, token).catch(() => undefined)
    if (typeof found === 'string') {
      counts.hits++
      return JSON.parse(found.slice(VALUE.length))
    }
    counts[found === undefined ? 'without' : 'misses']++
    const value = await load()
    if (found === 1) fill(key, token, value)
    return value
  }

  return {
    /** Reads that Redis answered, that it could not, and that went without it. */
    counts: () => ({ ...counts }),

    /**
     * @param {string} id @param {() => Promise<T | null>} load  from the database's primary; null: there is none, which
     *   is not kept
     * @returns {Promise<T | null>}
     */
    read (id, load) {
      const started = loading.get(id)
      if (started !== undefined) return started
      const mine = readOnce(id, load).finally(() => { if (loading.get(id) === mine) loading.delete(id) })
      loading.set(id, mine)
      return mine
    },

    /**
     * After the commit that changed them, and before its response. While Redis is away, the keys are forgotten once it
     * is back; if this process ends before, a copy lives on for its lifetime at most.
     * @param {string[]} ids
     */
    async forget (ids) {
      const keys = ids.map(keyOf)
      // A read of this process that has begun before the commit is not for those that come after it.
      for (const id of ids) loading.delete(id)
      forgotten.add(keys)
      await remove(keys)
    }
  }
}

/**
 * The keys that were forgotten last, while a copy may live.
 * @param {number} copyMaxMs
 */
function createForgotten (copyMaxMs) {
  /** Until when, the oldest first. @type {Map<string, number>} */
  const untilMs = new Map()
  return {
    /** @param {string[]} keys */
    add (keys) {
      for (const key of keys) {
        untilMs.delete(key)
        untilMs.set(key, performance.now() + copyMaxMs)
      }
      for (const key of untilMs.keys()) {
        if (untilMs.size <= FORGOTTEN_MAX) break
        untilMs.delete(key)
      }
    },

    /** @returns {string[]} */
    keys () {
      const nowMs = performance.now()
      for (const [key, until] of untilMs) if (until < nowMs) untilMs.delete(key)
      return [...untilMs.keys()]
    }
  }
}

/** @template T @typedef {ReturnType<typeof createReadCache<T>>} ReadCache */
