import { sweepThumbnails } from '../thumbnails/sweep.js'
import { claimPlaces, PLACES } from './places.js'
import { sweep } from './sweep.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Connection} from 'mongoose' */
/** @import {Kind} from '../kinds.js' */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DUPLICATE_KEY = 11_000
const SWEEP = 'sweep'

/**
 * Once a day one process of all wikis collects left-overs.
 * @param {object} options
 * @param {Connection} options.connection
 * @param {Kind[]} options.kinds  the first one's places have the marks
 * @param {Pick<FastifyBaseLogger, 'warn'>} options.log
 * @param {number} [options.checkMs]  how often a process looks whether it is time
 */
export function createSweeper ({ connection, kinds, log, checkMs = HOUR_MS }) {
  const closing = new AbortController()
  let running = Promise.resolve()
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function sweepIfDue () {
    if (connection.db === undefined || !await isDue()) return
    // Again: a place that was away at the start, or that was unmounted since, may be the wrong one.
    await claimPlaces(connection.db, kinds[0].storages, { mayWrite: true })
    for (const kind of kinds) await sweepAll(kind)
  }

  /** @param {Kind} kind */
  async function sweepAll ({ models, storages }) {
    for (const storage of storages.all) {
      const removed = await sweep(models, storage, { signal: closing.signal })
      if (removed > 0) log.warn({ place: storage.name, removed }, 'collected pictures that unfinished uploads had left')
    }
    await sweepThumbnails(models, closing.signal)
  }

  /** @returns {Promise<boolean>} true in one process a day */
  async function isDue () {
    const now = new Date()
    const places = /** @type {import('mongodb').Db} */ (connection.db).collection(PLACES)
    try {
      const due = { _id: /** @type {any} */ (SWEEP), at: { $lt: new Date(now.getTime() - DAY_MS) } }
      await places.updateOne(due, { $set: { at: now } }, { upsert: true })
      return true
    } catch (error) {
      if (/** @type {any} */ (error).code === DUPLICATE_KEY) return false
      throw error
    }
  }

  return {
    open () {
      timer = setInterval(() => {
        running = sweepIfDue().catch((error) => {
          if (!closing.signal.aborted) log.warn({ err: error }, 'left-overs of pictures could not be collected')
        })
      }, checkMs).unref()
    },

    async close () {
      closing.abort()
      clearInterval(timer)
      await running
    }
  }
}
