import { hashOf } from '../shared/key.js'

/** @import {SharedRedis} from '../shared/connection.js' */

/** Of one read: its answer has to come within the time that a command may take. */
const [READ_RECORDS, READ_BYTES] = [1_000, 4_194_304]
/** Of entries that are no saves. The oldest go. */
const ASIDE_MAX = 1_000

/**
 * Takes a save, unless the buffer is full, or Redis has no memory for it.
 * Arguments: id, page, the save as JSON, the most records, the most bytes.
 */
const ADD = `
local records = redis.call('XLEN', KEYS[1])
local bytes = tonumber(redis.call('GET', KEYS[2]) or '0')
if records >= tonumber(ARGV[4]) or bytes + #ARGV[3] > tonumber(ARGV[5]) then
  return { 'full', records, bytes, '' }
end
local entry = redis.pcall('XADD', KEYS[1], '*', 'id', ARGV[1], 'page', ARGV[2], 'save', ARGV[3])
if type(entry) == 'table' then
  if string.find(entry.err, 'OOM', 1, true) then return { 'no memory', records, bytes, '' } end
  return entry
end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
return { 'taken', records + 1, redis.call('INCRBY', KEYS[2], #ARGV[3]), entry }
`

/** What waits, and the first of it. Arguments: the most records, the most bytes; these by an entry at most exceeded. */
const READ = `
local records = redis.call('XLEN', KEYS[1])
if records == 0 then
  redis.call('DEL', KEYS[2], KEYS[3])
  return { 0, 0, {} }
end
local found, bytes, from = {}, 0, '-'
while #found < tonumber(ARGV[1]) and bytes < tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1)[1]
  if not entry then break end
  found[#found + 1] = entry
  for _, text in ipairs(entry[2]) do bytes = bytes + #text end
  from = '(' .. entry[1]
end
return { records, tonumber(redis.call('GET', KEYS[2]) or '0'), found }
`

/**
 * Removes entries with all that is noted of them, at once. First argument: how many entries are kept aside, 0: none is.
 */
const REMOVE = `
local bytes = 0
for index = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[index], ARGV[index])[1]
  if entry then
    local fields, copied = entry[2], {}
    for at = 1, #fields, 2 do
      if at < 20 then copied[at], copied[at + 1] = fields[at], fields[at + 1] end
      if fields[at] == 'save' then bytes = bytes + #fields[at + 1] end
      if fields[at] == 'id' then redis.call('HDEL', KEYS[3], fields[at + 1]) end
    end
    redis.call('XDEL', KEYS[1], ARGV[index])
    if ARGV[1] ~= '0' then redis.call('XADD', KEYS[4], 'MAXLEN', ARGV[1], '*', unpack(copied)) end
  end
end
local records = redis.call('XLEN', KEYS[1])
local left = tonumber(redis.call('GET', KEYS[2]) or '0') - bytes
if records == 0 or left < 0 then left = 0 end
redis.call('SET', KEYS[2], left)
return { records, left }
`

/** @typedef {{id: string, fields: string[]}} Entry  `id`: in the stream; `fields`: names and values in turn */
/** @typedef {{records: number, bytes: number}} Amount */

/**
 * Saves that were acknowledged and wait in Redis, in the order in which they came, for all processes of a wiki.
 * @param {object} options
 * @param {SharedRedis} options.redis
 * @param {string} options.database  name of the wiki's
 * @param {{maxRecords: number, maxBytes: number}} options.limits
 */
export function createRedisBuffer ({ redis, database, limits: { maxRecords, maxBytes } }) {
  const keys = bufferKeys(database)
  const { stream, bytes, ids, aside } = keys
  /** As this process saw it last. @type {Amount} */
  let amount = { records: 0, bytes: 0 }

  /** @param {string} script @param {string[]} keys @param {(string | number)[]} args @returns {Promise<any>} */
  const evaluate = (script, keys, args) =>
    redis.run((commands) => commands.eval(script, { keys, arguments: args.map(String) }))

  /** @param {Entry[]} entries @param {number} asideMax */
  async function take (entries, asideMax) {
    const [records, left] = await evaluate(
      REMOVE, [stream, bytes, ids, aside], [asideMax, ...entries.map(({ id }) => id)])
    amount = { records, bytes: left }
  }

  return {
    leaseKey: keys.lease,
    amount: () => amount,

    /** @param {number} size  bytes of one more @returns {boolean} whether it would fit, as far as is known */
    hasRoom: (size) => amount.records < maxRecords && amount.bytes + size <= maxBytes,

    /**
     * @param {{id: string, page: string, save: string}} save
     * @returns {Promise<{outcome: 'taken' | 'full' | 'no memory', entry: string}>} `entry`: its id in the stream
     * @throws {import('../shared/connection.js').RedisAway}
     */
    async add ({ id, page, save }) {
      const [outcome, records, size, entry] = await evaluate(
        ADD, [stream, bytes, ids], [id, page, save, maxRecords, maxBytes])
      amount = { records, bytes: size }
      return { outcome, entry }
    },

    /** @param {{max?: number}} [options] @returns {Promise<Entry[]>} the first of those that wait */
    async read ({ max = READ_RECORDS } = {}) {
      const [records, size, found] = await evaluate(READ, [stream, bytes, ids], [max, READ_BYTES])
      amount = { records, bytes: size }
      return found.map((/** @type {[string, string[]]} */ [id, fields]) => ({ id, fields }))
    },

    /** @param {Entry[]} entries  that have been stored, or have failed */
    remove: (entries) => take(entries, 0),

    /** They are kept apart, for a person to look at. @param {Entry[]} entries */
    setAside: (entries) => take(entries, ASIDE_MAX),

    /** @param {string} id @param {string} page @returns {Promise<boolean>} */
    has: async (id, page) => await redis.run((commands) => commands.hGet(ids, id)) === page
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
    lease: `${prefix}:lease`,
    aside: `${prefix}:aside`
  }
}

/** @param {string} id  of an entry of a stream: milliseconds and a number @param {string} other */
export function isAfter (id, other) {
  const [[ms, number], [otherMs, otherNumber]] = [id, other].map((each) => each.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && number > otherNumber)
}
