import { RedisAway } from '../shared/connection.js'
import { createDrain } from './drain.js'
import { createDrainer } from './drainer.js'
import { linkEntry, saveEntry } from './entry.js'
import { bufferFull, notTaken, redisNeeded, statusUnknown } from './errors.js'
import { createLease } from './lease.js'
import { createRedisBuffer, isAfter } from './redis-buffer.js'
import { warnOfEviction } from './redis-eviction.js'

/** @import {SharedRedis} from '../shared/connection.js' */
/** @import {Strategy} from './strategy.js' */

/**
 * Saves wait in Redis, for all processes of the wiki together, and one process at a time stores them. The death of a
 * process loses none: another one goes on.
 * @param {object} parts
 * @param {SharedRedis} parts.redis  a connection of its own
 * @param {string} parts.database  name of the wiki's
 * @param {{maxRecords: number, maxBytes: number}} parts.limits  of all processes together
 * @param {Pick<import('./keep.js').Keep, 'keep' | 'settle'>} parts.keep
 * @param {import('./failures.js').Failures} parts.failures
 * @param {Pick<import('../pages/store.js').PageStore, 'commitTogether'>} parts.store
 * @param {Pick<import('../short-links/store.js').ShortLinks, 'keep'>} parts.shortLinks
 * @param {() => boolean} parts.isAvailable  the database
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error' | 'warn'>} parts.log
 * @param {{checkMs?: number, leaseMs?: number}} [parts.timing]
 * @returns {Strategy}
 */
export function createWriteBehind ({ redis, database, limits, isAvailable, log, timing = {}, ...parts }) {
  const buffer = createRedisBuffer({ redis, database, limits })
  /** In the stream, of the last entry that this process has acknowledged. */
  let lastOwn = '0-0'
  const { open, wakeUp, close, batches } = createDrainer({
    buffer,
    lease: createLease({ redis, key: buffer.leaseKey, leaseMs: timing.leaseMs }),
    drain: createDrain({ ...parts, buffer, log }),
    isOthers: ({ id }) => isAfter(id, lastOwn),
    isAvailable,
    log,
    checkMs: timing.checkMs
  })

  /** @param {Promise<{outcome: string, text: string}>} adding @throws {Error} 503 */
  async function taken (adding) {
    const added = await adding.catch((error) => {
      throw !(error instanceof RedisAway) ? error : error.sent ? notTaken() : redisNeeded()
    })
    const { outcome, text } = added
    // Also when it is full, so that this process learns when it is not any more.
    wakeUp()
    if (outcome === 'full') throw bufferFull()
    if (outcome === 'no memory') throw redisNeeded()
    if (outcome === 'taken' && isAfter(text, lastOwn)) lastOwn = text
    return added
  }

  return {
    refuseWhenFull (size) {
      if (!redis.state().available) throw redisNeeded()
      if (!buffer.hasRoom(size)) throw bufferFull()
    },

    async add (save) { await taken(buffer.addSave(saveEntry(save))) },

    isWaiting: (id, name) => buffer.has(id, name).catch(refuseToSay),

    links: {
      async take (link) {
        const { outcome, text } = await taken(buffer.addLink(linkEntry(link)))
        return outcome === 'known' ? JSON.parse(text) : link
      },

      async find (id) {
        const text = await buffer.findLink(id).catch(refuseToSay)
        return text === null ? null : JSON.parse(text)
      }
    },

    waiting: buffer.amount,
    batches,

    async open () {
      redis.onOpen(() => {
        warnOfEviction(redis, log)
        wakeUp()
      })
      await redis.open()
      open()
    },

    hurry: wakeUp,

    async close (withinMs) {
      await close(withinMs)
      const { records } = buffer.amount()
      if (records > 0) log.warn({ waiting: records }, 'saves wait in Redis for the next process of the wiki')
      await redis.close()
    }
  }
}

/** @param {unknown} error @returns {never} */
function refuseToSay (error) {
  throw error instanceof RedisAway ? statusUnknown() : error
}
