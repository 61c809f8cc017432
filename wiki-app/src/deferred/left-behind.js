import { bufferKeys } from './redis-buffer.js'

/** @import {SharedRedis} from '../shared/connection.js' */

/**
 * A wiki with another strategy stores nothing of what waits in Redis.
 * @param {{redis: SharedRedis, database: string, log: Pick<import('fastify').FastifyBaseLogger, 'error'>}} parts
 */
export function warnOfLeftBehind ({ redis, database, log }) {
  const { stream } = bufferKeys(database)
  redis.onOpen(async () => {
    const waiting = await redis.run((commands) => commands.xLen(stream).catch(() => 0)).catch(() => 0)
    if (waiting === 0) return
    log.error({ waiting }, 'saves that were acknowledged wait in Redis, and this wiki does not store them: start one ' +
      'with WRITE_STRATEGY=unsafe-write-behind until none waits')
  })
}
