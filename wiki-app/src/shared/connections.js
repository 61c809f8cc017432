import { parseRedisUrl } from './address.js'
import { createSharedRedis } from './connection.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Config} from '../settings.js' */
/** @import {SharedRedis} from './connection.js' */

/** @param {Config} config @param {FastifyBaseLogger} log @returns {SharedRedis | undefined} */
export function redisOf ({ REDIS_URL: url }, log) {
  const address = url === undefined ? null : parseRedisUrl(url)
  return address === null ? undefined : createSharedRedis({ address, log })
}

/** @type {import('./connection.js').Says} */
const OF_REPLICA = {
  first: 'short addresses are read from a replica of Redis',
  back: 'a replica of Redis answers again',
  away: 'no replica of Redis answers: short addresses are read from its master'
}

/**
 * Only sentinels know replicas.
 * @param {Config} config @param {FastifyBaseLogger} log @returns {SharedRedis | undefined}
 */
export function replicaOf ({ REDIS_URL: url, SHORT_LINK_READS: reads }, log) {
  const address = url === undefined || reads !== 'redis' ? null : parseRedisUrl(url)
  if (address === null || address.name === null) return undefined
  return createSharedRedis({ address, log, replicas: true, says: OF_REPLICA })
}
