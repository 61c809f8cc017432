import createError from '@fastify/error'
import { retryAfter } from './retry-after.js'

const TooMany = createError('WIKI_TOO_MANY', 'Too many of these run at the same time. Try again in a moment.', 429)

const RETRY_AFTER_S = 5

/**
 * Room for a number of costly things at the same time.
 * @param {number} max
 */
export function createSemaphore (max) {
  let taken = 0
  return {
    /**
     * @returns {() => void} gives the place back, once
     * @throws {Error} 429 when all are taken
     */
    take () {
      if (taken >= max) throw retryAfter(new TooMany(), RETRY_AFTER_S)
      taken++
      let mine = true
      return () => {
        if (mine) taken--
        mine = false
      }
    }
  }
}
