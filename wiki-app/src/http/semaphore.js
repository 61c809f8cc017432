import createError from '@fastify/error'
import { retryAfter } from './retry-after.js'

const TooMany = createError('WIKI_TOO_MANY',
  'Too many requests of this kind run at the same time. Try again in a moment.', 429)

const RETRY_AFTER_S = 5

/** @param {number} max */
export function createSemaphore (max) {
  let taken = 0
  return {
    /**
     * @returns {() => void} frees the slot; calls after the first do nothing
     * @throws {Error} 429 when all slots are taken
     */
    take () {
      if (taken >= max) throw retryAfter(new TooMany(), RETRY_AFTER_S)
      taken++
      let held = true
      return () => {
        if (held) taken--
        held = false
      }
    }
  }
}
