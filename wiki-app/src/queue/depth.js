import { realClock } from '../process/clock.js'

/** @import {Clock} from '../process/clock.js' */
/** @import {Entries, Entry} from './entries.js' */

/** While there is always something to do. */
const READ_EVERY_MS = 1_000

/**
 * How much waits in the queue, as this process saw it last.
 * @param {Entries} entries @param {import('mongodb').Filter<Entry>} filter  which entries count
 * @param {Pick<Clock, 'now'>} [clock]
 */
export function createDepth (entries, filter, clock = realClock) {
  let readAtMs = 0
  /** @type {Awaited<ReturnType<typeof entries.counts>>} */
  let counts = { waiting: 0, setAside: 0, oldestAt: null }

  async function read () {
    readAtMs = clock.now()
    counts = await entries.counts(filter)
  }

  return {
    read,
    async readAtTimes () {
      if (clock.now() - readAtMs > READ_EVERY_MS) await read()
    },
    state: () => counts
  }
}

/** @param {Date | null} oldestAt @param {Date} now @returns {number} whole seconds, as ids have them */
export const lagOf = (oldestAt, now) =>
  oldestAt === null ? 0 : Math.max(0, Math.round((now.getTime() - oldestAt.getTime()) / 1000))
