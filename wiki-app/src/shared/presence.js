import cluster from 'node:cluster'
import { hostname } from 'node:os'
import { hashOf } from './key.js'

/** @import {SharedRedis} from './connection.js' */

const KEY = 'stevec:wikis'
const INTERVAL_MS = 10_000
/** A wiki that is silent for so long is not counted any more: three intervals, and some. */
const SILENT_MAX_S = 35

/** By the clock of Redis: those of the wikis may differ. */
const ANNOUNCE = `
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`

/**
 * Says to the others that this wiki is there, and learns how many there are. All workers of a wiki are one wiki: they
 * have one counter.
 * @param {{redis: SharedRedis, intervalMs?: number, silentMaxS?: number, id?: string}} options
 */
export function createPresence ({
  redis, intervalMs = INTERVAL_MS, silentMaxS = SILENT_MAX_S, id = ownId()
}) {
  /** @type {number | null} */
  let count = null
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function announce () {
    count = await redis.run(async (commands) =>
      Number(await commands.eval(ANNOUNCE, { keys: [KEY], arguments: [id, String(silentMaxS)] }))).catch(() => null)
  }

  return {
    /** @returns {number | null} wikis with this Redis, this one included; null: Redis is away */
    count: () => redis.state().available ? count : null,

    async open () {
      redis.onOpen(announce)
      await announce()
      timer = setInterval(announce, intervalMs).unref()
    },

    async close () {
      clearInterval(timer)
      // A wiki whose other workers go on is back with their next announcement.
      await redis.run((commands) => commands.zRem(KEY, id)).catch(() => {})
    }
  }
}

const ownId = () => hashOf(`${hostname()} ${cluster.isWorker ? process.ppid : process.pid}`)

/** @typedef {ReturnType<typeof createPresence>} Presence */
