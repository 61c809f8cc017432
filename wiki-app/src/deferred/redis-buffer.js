import { hashOf } from '../shared/key.js'
import { ADD_LINK, ADD_SAVE, READ, REMOVE } from './redis-scripts.js'

/** @import {SharedRedis} from '../shared/connection.js' */

/** Of one read: its answer has to come within the time that a command may take. */
const [READ_RECORDS, READ_BYTES] = [1_000, 4_194_304]
/** Of entries that are no saves. The oldest go. */
const ASIDE_MAX = 1_000

/** @typedef {{id: string, fields: string[]}} Entry  `id`: in the stream; `fields`: names and values in turn */
/** @typedef {{records: number, bytes: number}} Amount */
/** @typedef {'full' | 'no memory'} Refused */

/**
 * Saves that were acknowledged and wait in Redis, in the order in which they came, for all processes of a wiki.
 * @param {object} options
 * @param {SharedRedis} options.redis
 * @param {string} options.database  name of the wiki's
 * @param {{maxRecords: number, maxBytes: number}} options.limits
 */
export function createRedisBuffer ({ redis, database, limits: { maxRecords, maxBytes } }) {
  const keys = bufferKeys(database)
  const { stream, bytes, ids, links, targets, aside } = keys
  /** As this process saw it last. @type {Amount} */
  let amount = { records: 0, bytes: 0 }

  /** @param {string} script @param {string[]} keys @param {(string | number)[]} args @returns {Promise<any>} */
  const evaluate = (script, keys, args) =>
    redis.run((commands) => commands.eval(script, { keys, arguments: args.map(String) }))

  /** @param {Entry[]} entries @param {number} asideMax */
  async function take (entries, asideMax) {
    const [records, left] = await evaluate(
      REMOVE, [stream, bytes, ids, links, targets, aside], [asideMax, ...entries.map(({ id }) => id)])
    amount = { records, bytes: left }
  }

  /** @param {string} script @param {string[]} more  keys @param {string[]} args @returns {Promise<any>} */
  async function add (script, more, args) {
    const [outcome, records, size, text] = await evaluate(
      script, [stream, bytes, ...more], [...args, maxRecords, maxBytes])
    amount = { records, bytes: size }
    return { outcome, text }
  }

  return {
    leaseKey: keys.lease,
    amount: () => amount,

    /** @param {number} size  bytes of one more @returns {boolean} whether it would fit, as far as is known */
    hasRoom: (size) => amount.records < maxRecords && amount.bytes + size <= maxBytes,

    /**
     * @param {{id: string, page: string, save: string}} save
     * @returns {Promise<{outcome: Refused | 'taken', text: string}>} `text`: its id in the stream
     * @throws {import('../shared/connection.js').RedisAway}
     */
    addSave: ({ id, page, save }) => add(ADD_SAVE, [ids], [id, page, save]),

    /**
     * @param {{short: string, target: string, link: string}} link  see entry.js
     * @returns {Promise<{outcome: Refused | 'taken' | 'known', text: string}>} `text`: its id in the stream; `known`:
     *   the link that waits
     * @throws {import('../shared/connection.js').RedisAway}
     */
    addLink: ({ short, target, link }) => add(ADD_LINK, [links, targets], [short, target, link]),

    /** @param {{max?: number}} [options] @returns {Promise<Entry[]>} the first of those that wait */
    async read ({ max = READ_RECORDS } = {}) {
      const [records, size, found] = await evaluate(READ, [stream, bytes, ids, links, targets], [max, READ_BYTES])
      amount = { records, bytes: size }
      return found.map((/** @type {[string, string[]]} */ [id, fields]) => ({ id, fields }))
    },

    /** @param {Entry[]} entries  that have been stored, or have failed */
    remove: (entries) => take(entries, 0),

    /** They are kept apart, for a person to look at. @param {Entry[]} entries */
    setAside: (entries) => take(entries, ASIDE_MAX),

    /** @param {string} id @param {string} page @returns {Promise<boolean>} */
    has: async (id, page) => await redis.run((commands) => commands.hGet(ids, id)) === page,

    /** @param {string} id  of a short address @returns {Promise<string | null>} the link, if it waits */
    findLink: (id) => redis.run((commands) => commands.hGet(links, id))
  }
}

/** @typedef {ReturnType<typeof createRedisBuffer>} RedisBuffer */

/**
 * All in one slot of a cluster (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 * @param {string} database  name of the wiki's
 */
export function bufferKeys (database) {
  const prefix = `stevec:saves:{${hashOf(database)}}`
  return {
    stream: `${prefix}:stream`,
    bytes: `${prefix}:bytes`,
    ids: `${prefix}:ids`,
    links: `${prefix}:links`,
    targets: `${prefix}:targets`,
    lease: `${prefix}:lease`,
    aside: `${prefix}:aside`
  }
}

/** @param {string} id  of an entry of a stream: milliseconds and a number @param {string} other */
export function isAfter (id, other) {
  const [[ms, number], [otherMs, otherNumber]] = [id, other].map((each) => each.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && number > otherNumber)
}
