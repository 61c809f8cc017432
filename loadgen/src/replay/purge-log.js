import { setTimeout as delay } from 'node:timers/promises'

const POSITION_DIGITS = 16
/** Of the bound: an answer without a message gives a new lease, too, and that has to come long before the end. */
const WAIT_SHARE = 0.1
const POLL_MS = 5

/** @param {number} count @returns {string} */
const positionOf = (count) => count.toString(16).padStart(POSITION_DIGITS, '0')

/**
 * A purge log that says each edit `delayMs` late, for an edge that follows it (nginx/lua/follower.lua).
 * @param {{boundMs: number, delayMs: number}} times
 */
export function createPurgeLog ({ boundMs, delayMs }) {
  /** Their tags, in order. @type {string[]} */
  const said = []
  let applied = -1
  return {
    /** What a response covers that is made now. */
    position: () => positionOf(said.length),
    /** @param {string} tag */
    say: (tag) => said.push(tag),
    /** Whether the edge has applied all that was said. */
    isApplied: () => applied === said.length,
    /**
     * @param {string | null} after  the position that the edge has reached; null at its start
     * @returns {Promise<object>} the answer, once there is news or a part of the bound is over
     */
    async answer (after) {
      const begunMs = performance.now()
      if (after === null) {
        return { position: positionOf(said.length), certified_ms: -delayMs, bound_ms: boundMs, everything: true }
      }
      const known = parseInt(after, 16)
      applied = known
      const untilMs = begunMs + boundMs * WAIT_SHARE
      while (said.length === known && performance.now() < untilMs) await delay(POLL_MS)
      const certifiedMs = performance.now() - begunMs - delayMs
      return {
        position: positionOf(said.length), certified_ms: certifiedMs, bound_ms: boundMs, tags: said.slice(known)
      }
    }
  }
}

/** @typedef {ReturnType<typeof createPurgeLog>} PurgeLog */
