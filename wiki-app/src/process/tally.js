import { randomUUID } from 'node:crypto'
import { noneCounted } from '../counter.js'

/** @typedef {import('../counter.js').Count} Count */
/** @typedef {import('../counter.js').Reading} Reading */

/** A worker that does not report its count within this time is stuck. */
const ANSWER_MAX_MS = 5_000
/** Readings in flight, limited so that they do not pile up while a worker is stuck. */
const READINGS_MAX = 1_000

/**
 * A process that counts. When asked, it reports once what it has counted since the last time.
 * @typedef {{ask: (reading: number) => void}} Member
 */

/**
 * Adds up what several processes count, so that each request is in exactly one reading, whichever process serves that
 * reading. A reading asks all members. Each hands over its count and starts again at 0. What it hands over, in time or
 * not, stays in the total until a reading takes it. So nothing is counted twice, and a count is lost only if its
 * process dies: then `instance` changes.
 * @param {{answerMaxMs?: number}} [options]
 */
export function createTally ({ answerMaxMs = ANSWER_MAX_MS } = {}) {
  let instance = randomUUID()
  let total = noneCounted()
  let lastReading = 0
  /** @type {Set<Member>} */
  const members = new Set()
  /**
   * By number: called when a member has reported, or has nothing more to report.
   * @type {Map<number, (member: Member) => void>}
   */
  const readings = new Map()

  /** @param {Count} part */
  const add = (part) => {
    total = {
      requests: total.requests + part.requests,
      reads: total.reads + part.reads,
      writes: total.writes + part.writes
    }
  }

  /** @param {Member} member */
  const noLongerAwaited = (member) => { for (const heard of readings.values()) heard(member) }

  return {
    /** Call this before the member counts anything. @param {Member} member */
    join: (member) => { members.add(member) },

    /**
     * @param {Member} member
     * @param {number} reading  for which the member was asked
     * @param {Count} part
     */
    hear (member, reading, part) {
      add(part)
      readings.get(reading)?.(member)
    },

    /**
     * A member ends in order.
     * @param {Member} member
     * @param {Count} part  all that it has not reported yet
     */
    leave (member, part) {
      add(part)
      members.delete(member)
      noLongerAwaited(member)
    },

    /** A member is gone. Does nothing if it has left before. @param {Member} member */
    lose (member) {
      if (!members.delete(member)) return
      instance = randomUUID()
      noLongerAwaited(member)
    },

    /**
     * @param {{take: boolean}} options
     * @returns {Promise<Reading | null>} null when a member did not report in time; the reports of the others are in
     *   the next reading
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
