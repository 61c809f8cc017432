import { randomUUID } from 'node:crypto'
import { noneCounted } from '../counter.js'

/** @typedef {import('../counter.js').Count} Count */
/** @typedef {import('../counter.js').Reading} Reading */

/** A worker that does not say what it has counted for so long is stuck. */
const ANSWER_MAX_MS = 5_000
/** Under way at once, so that readers of a counter that is stuck do not pile up. */
const READINGS_MAX = 1_000

/**
 * Who counts: asked for it, it tells once what it has counted since it was last asked.
 * @typedef {{ask: (reading: number) => void}} Member
 */

/**
 * Adds up what several processes count, so that each request is in exactly one reading, whichever of them is asked. A reading asks all, each of which hands over
 * what it has and starts again at 0; whatever is handed over, in time or not, is in the total until a reading takes that. So nothing is counted twice, and only what
 * dies with its process is lost: then the instance is another one.
 * @param {{answerMaxMs?: number}} [options]
 */
export function createTally ({ answerMaxMs = ANSWER_MAX_MS } = {}) {
  let instance = randomUUID()
  let total = noneCounted()
  let lastReading = 0
  /** @type {Set<Member>} */
  const members = new Set()
  /** Told when a member has answered, or has nothing to say any more. @type {Map<number, (member: Member) => void>} */
  const readings = new Map()

  /** @param {Count} part */
  const add = (part) => {
    total = { requests: total.requests + part.requests, reads: total.reads + part.reads, writes: total.writes + part.writes }
  }

  /** @param {Member} member */
  const noLongerAwaited = (member) => { for (const heard of readings.values()) heard(member) }

  return {
    /** Before it counts anything. @param {Member} member */
    join: (member) => { members.add(member) },

    /**
     * @param {Member} member
     * @param {number} reading  that it was asked for
     * @param {Count} part
     */
    hear (member, reading, part) {
      add(part)
      readings.get(reading)?.(member)
    },

    /**
     * It ends in order, and this is all that it has not told yet.
     * @param {Member} member
     * @param {Count} part
     */
    leave (member, part) {
      add(part)
      members.delete(member)
      noLongerAwaited(member)
    },

    /** It is gone. Nothing happens when it has left before. @param {Member} member */
    lose (member) {
      if (!members.delete(member)) return
      instance = randomUUID()
      noLongerAwaited(member)
    },

    /**
     * @param {{take: boolean}} options
     * @returns {Promise<Reading | null>} null when a member did not answer in time; what the others have said is in the next reading
     */
    read: ({ take }) => new Promise((resolve) => {
      if (readings.size >= READINGS_MAX) return resolve(null)
      const number = ++lastReading
      const awaited = new Set(members)
      const end = (/** @type {Reading | null} */ result) => {
        clearTimeout(timer)
        readings.delete(number)
        resolve(result)
      }
      const timer = setTimeout(() => end(null), answerMaxMs)
      const heard = (/** @type {Member} */ member) => {
        awaited.delete(member)
        if (awaited.size > 0) return
        const count = total
        if (take) total = noneCounted()
        end({ instance, count })
      }
      readings.set(number, heard)
      for (const member of members) member.ask(number)
    })
  }
}

/** @typedef {ReturnType<typeof createTally>} Tally */
