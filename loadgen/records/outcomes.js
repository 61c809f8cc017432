import { randomBytes } from 'node:crypto'

const FAILURES_MAX = 10_000

/**
 * What became of the records that were answered before they were stored. Only those under way and the last failures are
 * kept: any other number that was given out is of a stored record. So the memory is bounded by the backlog and by
 * `failuresMax`, however many records there have been.
 *
 * @typedef {{state: 'pending' | 'stored' | 'forgotten'} | {state: 'failed', reason: string}} Outcome
 * @param {{failuresMax?: number}} [options]
 */
export function createOutcomes ({ failuresMax = FAILURES_MAX } = {}) {
  /** Tells the numbers of this process from those of one that has crashed. */
  const process = randomBytes(6).toString('hex')
  let last = 0
  /** Failures up to this number may have been dropped. */
  let forgottenUpTo = 0
  /** @type {Set<number>} */
  const pending = new Set()
  /** @type {Map<number, string>} */
  const failures = new Map()

  return {
    /** @returns {number} of a new record */
    begin () {
      last += 1
      pending.add(last)
      return last
    },

    /** @param {number} number @param {string | null} reason  why it failed; null: it is stored */
    end (number, reason) {
      pending.delete(number)
      if (reason === null) return
      failures.set(number, reason)
      if (failures.size <= failuresMax) return
      const [oldest] = failures.keys()
      failures.delete(oldest)
      forgottenUpTo = Math.max(forgottenUpTo, oldest)
    },

    /** @param {number} number */
    addressOf: (number) => `/status/${process}-${number}`,

    /**
     * @param {string} id  the last part of an address
     * @returns {Outcome | null} null: this process never gave it out
     */
    of (id) {
      const match = /^([0-9a-f]{12})-([1-9]\d{0,14})$/.exec(id)
      if (match === null || match[1] !== process || Number(match[2]) > last) return null
      const number = Number(match[2])
      if (pending.has(number)) return { state: 'pending' }
      const reason = failures.get(number)
      if (reason !== undefined) return { state: 'failed', reason }
      return { state: number <= forgottenUpTo ? 'forgotten' : 'stored' }
    }
  }
}

/** @typedef {ReturnType<typeof createOutcomes>} Outcomes */
