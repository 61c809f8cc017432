import { randomBytes } from 'node:crypto'

/** @import {SharedRedis} from '../shared/connection.js' */

/** Longer than a process is held up for; another one waits for so long when its holder dies. */
const LEASE_MS = 10_000

/**
 * Also renews it. Arguments: the holder's token, the lease's milliseconds. A Redis without memory refuses SET, unless
 * the script has written before.
 */
const TAKE = `
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if holder then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`
const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`

/**
 * A lease in Redis that one process has at a time. It is no lock: a process that was held up may still be at work when
 * another one has it.
 * @param {{redis: SharedRedis, key: string, leaseMs?: number}} options
 */
export function createLease ({ redis, key, leaseMs = LEASE_MS }) {
  const token = randomBytes(12).toString('base64url')

  const take = () => redis.run(async (commands) =>
    Number(await commands.eval(TAKE, { keys: [key], arguments: [token, String(leaseMs)] })) === 1)

  /**
   * Renews it until the work is done. `signal` is aborted when the lease is lost, when `keeps` says that this process
   * shall not have it any more, or by `ends`.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work
   * @param {{keeps: () => boolean, ends: AbortSignal}} until
   * @returns {Promise<T | null>} null: another process has it
   * @throws {import('../shared/connection.js').RedisAway} what `work` throws
   */
  async function withLease (work, { keeps, ends }) {
    const lost = new AbortController()
    // Before the answer: what this process knows ends no later than the lease in Redis.
    let endsAtMs = performance.now() + leaseMs
    if (!await take()) return null
    async function renew () {
      const nextMs = performance.now() + leaseMs
      if (!keeps() || performance.now() > endsAtMs) return lost.abort()
      const taken = await take().catch(() => undefined)
      if (taken) endsAtMs = nextMs
      else if (taken === false) lost.abort()
    }
    const timer = setInterval(renew, leaseMs / 4).unref()
    try {
      return await work(AbortSignal.any([lost.signal, ends]))
    } finally {
      clearInterval(timer)
      await redis.run((commands) => commands.eval(RELEASE, { keys: [key], arguments: [token] })).catch(() => {})
    }
  }

  return { withLease }
}

/** @typedef {ReturnType<typeof createLease>} Lease */
