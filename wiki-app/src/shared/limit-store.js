import { hashOf } from './key.js'

/** @import {FastifyRateLimitStore, FastifyRateLimitStoreCtor} from '@fastify/rate-limit' */
/** @import {SharedRedis} from './connection.js' */

/**
 * The window of @fastify/rate-limit's own store: it begins with the first count, and ends after its time. Arguments:
 * how many to add (1, or 0 to read), the window's milliseconds, the count that this process knows, and the milliseconds
 * that are left of its window. A Redis that has forgotten, or that was away, learns the count from the processes.
 */
const COUNT = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
local known = tonumber(ARGV[3])
if known > count then
  if count == 0 then redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  else redis.call('SET', KEYS[1], ARGV[3], 'KEEPTTL') end
  count = known
end
if ARGV[1] == '1' then
  count = redis.call('INCR', KEYS[1])
  if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
return { count, math.max(redis.call('PTTL', KEYS[1]), 0) }
`

/** @typedef {{current: number, ttl: number}} Count  ttl: in milliseconds */

/**
 * A store for @fastify/rate-limit that counts in Redis, for all wikis together, and in this process while Redis is
 * away. Each limit has a name, the `groupId` of its options.
 * @param {{redis: SharedRedis, name: string, keysMax: number}} options  `name`: of the first limit; `keysMax`: of each
 *   limit in this process, beyond it the least recently used is dropped
 * @returns {FastifyRateLimitStoreCtor}
 */
export function createLimitStore ({ redis, name: first, keysMax }) {
  return class SharedLimitStore {
    /** @param {{groupId?: string}} options */
    constructor ({ groupId: name = first }) {
      this.name = name
      this.known = createKnownCounts(keysMax)
    }

    /** @param {any} options @returns {FastifyRateLimitStore} */
    child (options) {
      return new SharedLimitStore(options)
    }

    /** @param {string} key @param {(error: Error | null, count?: Count) => void} done @param {number} windowMs */
    incr (key, done, windowMs) {
      this.count(key, 1, windowMs).then((count) => done(null, count), done)
    }

    /** @param {string} key @param {(error: Error | null, count?: Count) => void} done @param {number} windowMs */
    read (key, done, windowMs) {
      this.count(key, 0, windowMs).then((count) => done(null, count), done)
    }

    /** @param {string} key @param {0 | 1} add @param {number} windowMs @returns {Promise<Count>} */
    async count (key, add, windowMs) {
      const hash = hashOf(key)
      const { current, ttl } = this.known.read(hash)
      // Before the answer: the window known here ends no later than that in Redis.
      const askedMs = performance.now()
      try {
        const reply = await redis.run((commands) => commands.eval(COUNT, {
          keys: [`stevec:limit:${this.name}:${hash}`],
          arguments: [add, windowMs, current, Math.max(1, Math.ceil(ttl))].map(String)
        }))
        const [count, leftMs] = /** @type {[number, number]} */ (/** @type {unknown} */ (reply))
        this.known.learn(hash, count, askedMs + leftMs)
        return { current: count, ttl: leftMs }
      } catch {
        return this.known.add(hash, add, windowMs)
      }
    }
  }
}

/**
 * @template {import('@fastify/rate-limit').CreateRateLimitOptions} Options
 * @param {string} name  of the limit, in a shared store @param {Options} options @returns {Options}
 */
export const named = (name, options) => ({ ...options, groupId: name })

/** @param {number} keysMax */
function createKnownCounts (keysMax) {
  /** The least recently used first. @type {Map<string, {count: number, endsMs: number}>} */
  const counts = new Map()

  /** @param {string} key */
  function current (key) {
    const found = counts.get(key)
    return found !== undefined && found.endsMs > performance.now() ? found : undefined
  }

  /** @param {string} key @param {{count: number, endsMs: number}} entry */
  function put (key, entry) {
    counts.delete(key)
    counts.set(key, entry)
    if (counts.size > keysMax) counts.delete(/** @type {string} */ (counts.keys().next().value))
  }

  /** @param {string} key @returns {Count} */
  function read (key) {
    const found = current(key)
    if (found === undefined) return { current: 0, ttl: 0 }
    return { current: found.count, ttl: found.endsMs - performance.now() }
  }

  return {
    read,

    /** From Redis; answers may overtake each other. @param {string} key @param {number} count @param {number} endsMs */
    learn (key, count, endsMs) {
      if (count > (current(key)?.count ?? 0)) put(key, { count, endsMs })
    },

    /** @param {string} key @param {0 | 1} more @param {number} windowMs @returns {Count} */
    add (key, more, windowMs) {
      if (more === 0) return read(key)
      const found = current(key)
      put(key, { count: (found?.count ?? 0) + 1, endsMs: found?.endsMs ?? performance.now() + windowMs })
      return read(key)
    }
  }
}
