import { randomUUID } from 'node:crypto'
import { noneCounted } from '../counter.js'

/** @import {Count, Reading} from '../counter.js' */

/** A worker that does not report its count within this time is stuck. */
const ANSWER_MAX_MS = 5_000
/** Readings in flight, limited so that they do not pile up while a worker is stuck. */
const READINGS_MAX = 1_000

/** When asked, it reports once what it has counted. @typedef {{ask: (reading: number) => void}} Member */

/**
 * Adds up what several processes count, so that each request is in exactly one reading. A reading asks all members;
 * what they report, in time or not, stays in the total until a reading takes it. So nothing is counted twice, and a
 * count is lost only if its process dies: then `instance` changes.
 * @param {{answerMaxMs?: number}} [options]
 */
export function createTally ({ answerMaxMs = ANSWER_MAX_MS } = {}) {
  let instance = randomUUID()
  let total = noneCounted()
  let lastReading = 0
  /** @type {Set<Member>} */
  const members = new Set()
  /** By number: called when a member has reported, or cannot report. @type {Map<number, (member: Member) => void>} */
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
  const stopAwaiting = (member) => { for (const onReport of readings.values()) onReport(member) }

  return {
    /** Call this before the member counts anything. @param {Member} member */
    join: (member) => { members.add(member) },

    /** @param {Member} member @param {number} reading  for which the member was asked @param {Count} part */
    report (member, reading, part) {
      add(part)
      readings.get(reading)?.(member)
    },

    /** A member ends in order. @param {Member} member @param {Count} part  all that it has not reported yet */
    leave (member, part) {
      add(part)
      members.delete(member)
      stopAwaiting(member)
    },

    /** A member is gone. Does nothing if it has left before. @param {Member} member */
    lose (member) {
      if (!members.delete(member)) return
      instance = randomUUID()
      stopAwaiting(member)
    },

    /**
     * @param {{take: boolean}} options
     * @returns {Promise<Reading | null>} null when a member does not report in time; the next reading has the other
     *   reports
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
      const onReport = (/** @type {Member} */ member) => {
        awaited.delete(member)
        if (awaited.size > 0) return
        const count = total
        if (take) total = noneCounted()
        end({ instance, count })
      }
      readings.set(number, onReport)
      for (const member of members) member.ask(number)
    })
  }
}

/** @typedef {ReturnType<typeof createTally>} Tally */
