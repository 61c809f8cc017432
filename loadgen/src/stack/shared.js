import {
  GROUP_NAMES, newRedisPassword, redisUrl, removeKeys, sentinelName, startRedis, startRedisGroup
} from '@stevec/harness/redis'
import { StackError } from './stack-error.js'

/**
 * What wikis share besides the database: a Redis; or a master that answers writes, a replica that answers reads, and
 * three sentinels that promote the replica when the master dies.
 * @typedef {'none' | 'redis' | 'redis-replicated'} Shared
 */

const SENTINELS = 3

/** Names of the processes of each kind, in the order of their ports. */
const NAMES = Object.freeze({
  none: [],
  redis: ['redis'],
  'redis-replicated': [
    ...Object.values(GROUP_NAMES), ...Array.from({ length: SENTINELS }, (_, index) => sentinelName(index + 1))
  ]
})

/** Of every kind. */
export const SHARED_NAMES = Object.values(NAMES).flat()

/** @param {Shared} shared @returns {number} processes, each with a port */
export const sharedServers = (shared) => NAMES[shared].length

/**
 * Starts the Redis of a stack, beside its database and within the same limits. `state.redis_url` says then what the
 * wiki's REDIS_URL is.
 * @param {import('./state.js').StackState} state
 * @param {import('./stack.js').Starting} starting
 * @param {Shared | undefined} shared  undefined: as the environment says
 * @throws {StackError} when the wiki runs on another machine, which cannot reach a Redis on loopback
 */
export async function startShared (state, { directory, outlive, started, next }, shared) {
  if (shared === undefined) return
  state.redis_url = null
  if (shared === 'none') return
  if (state.origin.facts.kind !== 'local') {
    throw new StackError(
      `shared=${shared} is for a wiki on this machine: its Redis listens on loopback; leave --origin out`)
  }
  next(shared === 'redis' ? 'redis' : 'redis with a replica and sentinels')
  const ports = state.shared_ports ?? []
  const password = newRedisPassword()
  const common = { directory, password, outlive, cgroups: state.limits.directories, onStart: started }
  const { url } = shared === 'redis'
    ? await startRedis({ port: ports[0], ...common })
    : await startRedisGroup({ ports, sentinels: SENTINELS, ...common })
  state.redis_url = url
  state.redis_master_url = redisUrl({ port: ports[0], password })
}

/** As wiki-app/src/short-links/levels.js names them. */
const SHORT_LINK_KEYS = 'stevec:short-link:*'

/**
 * Empties what Redis keeps of short links, so that each trial begins with a cold copy.
 * @param {Pick<import('./state.js').StackState, 'redis_master_url'>} state
 * @throws {Error} when Redis does not answer, or another server has become the master
 */
export async function forgetShortLinks ({ redis_master_url: url }) {
  if (url != null) await removeKeys(url, SHORT_LINK_KEYS)
}
