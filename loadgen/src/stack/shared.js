import { newRedisPassword, startRedis } from '@stevec/harness/redis'
import { StackError } from './stack-error.js'

/** What wikis share besides the database. @typedef {'none' | 'redis'} Shared */

/**
 * Starts the Redis of a stack, beside its database and within the same limits. `state.redis_url` says then what the
 * wiki's REDIS_URL is.
 * @param {import('./state.js').StackState} state
 * @param {import('./stack.js').Starting} starting
 * @param {Shared | undefined} shared  undefined: as the environment says
 * @param {number} port
 * @throws {StackError} when the wiki runs on another machine, which cannot reach a Redis on loopback
 */
export async function startShared (state, { directory, outlive, started, next }, shared, port) {
  if (shared === undefined) return
  state.redis_url = null
  if (shared === 'none') return
  if (state.origin.facts.kind !== 'local') {
    throw new StackError('shared=redis is for a wiki on this machine: its Redis listens on loopback; leave --origin out')
  }
  next('redis')
  const { url } = await startRedis({
    port, directory, password: newRedisPassword(), outlive, cgroups: state.limits.directories, onStart: started
  })
  state.redis_url = url
}
