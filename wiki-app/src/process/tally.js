import { randomUUID } from 'node:crypto'
import { noneCounted, sumOf } from '../counter.js'

/** @import {Count, Reading} from '../counter.js' */

/** Beyond it a worker is stuck. */
const ANSWER_MAX_MS = 5_000
/** They would pile up while a worker is stuck. */
const READINGS_MAX = 1_000

/** @typedef {{ask: (reading: number) => void}} Member  reports once each time */

/**
 * Each request is in exactly one reading: late reports go to the next one. A count is lost only if its process dies;
 * then `instance` changes.
 * @param {{answerMaxMs?: number}} [options]
 */
export function createTally ({ answerMaxMs = ANSWER_MAX_MS } = {}) {
  let instance = randomUUID()
  let untaken = noneCounted()
  let total = noneCounted()
  let lastReading = 0
  /** @type {Set<Member>} */
  const members = new Set()
  /** By number; called when a member has reported, or cannot. @type {Map<number, (member: Member) => void>} */
  const readings = new Map()

  /** @param {Count} part */
  const add = (part) => {
    untaken = sumOf(untaken, part)
    total = sumOf(total, part)
  }

  /** @param {Member} member */
  const stopAwaiting = (member) => { for (const onReport of readings.values()) onReport(member) }

  return {
    /** Before it counts anything. @param {Member} member */
    join: (member) => { members.add(member) },

    /** @param {Member} member @param {number} reading  for which the member was asked @param {Count} part */
    report (member, reading, part) {
      add(part)
      readings.get(reading)?.(member)
    },

    /** @param {Member} member @param {Count} part  not yet reported */
    leave (member, part) {
      add(part)
      members.delete(member)
      stopAwaiting(member)
    },

    /** @param {Member} member */
    lose (member) {
      if (!members.delete(member)) return
      instance = randomUUID()
      stopAwaiting(member)
    },

    /**
     * @param {{take: boolean}} options
     * @returns {Promise<Reading | null>} null: a member does not report in time
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
        const count = untaken
        if (take) untaken = noneCounted()
        end({ instance, count, total })
      }
      readings.set(number, onReport)
      for (const member of members) member.ask(number)
    })
  }
}

/** @typedef {ReturnType<typeof createTally>} Tally */
