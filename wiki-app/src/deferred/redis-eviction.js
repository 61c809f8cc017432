/** @import {SharedRedis} from '../shared/connection.js' */

/**
 * A Redis for caches drops any key when its memory is full, with it saves that were acknowledged.
 * https://redis.io/docs/latest/develop/reference/eviction/
 * @param {SharedRedis} redis @param {Pick<import('fastify').FastifyBaseLogger, 'warn'>} log
 */
export async function warnOfEviction (redis, log) {
  // Inside: a login that may not ask this does not end the connection.
  const text = await redis.run((commands) => commands.info('memory').catch(() => '')).catch(() => '')
  const [, maxmemory = '0'] = /^maxmemory:(\d+)/m.exec(text) ?? []
  const [, policy = ''] = /^maxmemory_policy:([\w-]+)/m.exec(text) ?? []
  if (Number(maxmemory) === 0 || !policy.startsWith('allkeys-')) return
  log.warn({ redis: redis.address, policy }, 'Redis may drop saves that wait when its memory is full: set its ' +
    'maxmemory-policy to noeviction or to a volatile one')
}
