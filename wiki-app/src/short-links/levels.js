import { createReadCache } from '../shared/read-cache.js'

/** @import {SharedRedis} from '../shared/connection.js' */
/** @import {Level, Target} from './store.js' */

/** A renaming deletes the copies it moves. If Redis is away then, an old copy ends after this time. */
const LIFETIME_S = 3_600

/** Where the wiki reads short addresses from. */
export const SHORT_LINK_READS = /** @type {const} */ (['database', 'redis'])

/**
 * Redis in front of the database (docs/decisions/0046).
 * @param {{redis: SharedRedis, replica?: SharedRedis}} connections @returns {(database: Level) => Level}
 */
export function redisLevel ({ redis, replica }) {
  return (database) => {
    /** @type {import('../shared/read-cache.js').ReadCache<Target>} */
    const cache = createReadCache({ name: 'short-link', redis, replica, lifetimeS: LIFETIME_S })
    return { find: (id) => cache.read(id, () => database.find(id)), forget: cache.forget }
  }
}
