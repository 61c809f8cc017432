import { setTimeout as sleep } from 'node:timers/promises'

/** @import {ChangeStreamDocument, Collection, ResumeToken, Timestamp} from 'mongodb' */

/** Less than the driver's limit for a response (database.js). */
const AWAIT_MS = 20_000
/** Changes that come together are one transaction of the index. */
const GATHER_MS = 100
const BATCH_MAX = 200
/** A page whose HTML alone is made anew keeps its revision, and its words. */
const PIPELINE = [
  {
    $match: {
      $or: [
        { operationType: { $ne: 'update' } },
        { 'updateDescription.updatedFields.revision': { $exists: true } }
      ]
    }
  },
  { $project: { operationType: 1, documentKey: 1, clusterTime: 1, wallTime: 1 } }
]
const OF_PAGES = new Set(['insert', 'update', 'replace', 'delete'])
/**
 * ChangeStreamHistoryLost, ChangeStreamFatalError, InvalidResumeToken.
 * https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
 */
const LOST = new Set([286, 280, 260])

/** @param {any} error @returns {boolean} whether what has changed since the position can no longer be read */
export const isPositionLost = (error) => LOST.has(error?.code)

/**
 * @typedef {object} Batch
 * @property {string[]} names  of pages that have changed, each once
 * @property {ResumeToken} position  after them
 * @property {Timestamp} clusterTime  of the last
 * @property {number} firstAtMs  time of day of the first by the database's clock
 * @property {number} lastAtMs
 * @property {boolean} isFull  others may wait
 */

/**
 * Hands over changes of pages in batches. The database's long answer to "nothing yet" leaves an idle wiki idle.
 * https://www.mongodb.com/docs/manual/changeStreams/
 * @param {Collection<any>} collection
 * @param {object} options
 * @param {{resumeAfter: ResumeToken} | {startAtOperationTime: Timestamp}} options.from
 * @param {AbortSignal} options.signal
 * @param {(batch: Batch) => Promise<{settleMs: number | null}>} options.onBatch  settleMs: call `onQuiet` if there is
 *   nothing more for so long
 * @param {() => void} options.onOpen  the database has accepted the position
 * @param {(position: ResumeToken) => Promise<void>} options.onQuiet
 * @returns {Promise<void>} when the collection is gone, or on abort
 * @throws {Error} see isPositionLost; others may pass
 */
export async function followChanges (collection, { from, signal, onOpen, onBatch, onQuiet }) {
  const stream = collection.watch(PIPELINE, { maxAwaitTimeMS: AWAIT_MS, ...from })
  stream.once('resumeTokenChanged', onOpen)
  let stop = () => {}
  /** A response that is under way is not waited for: it may take AWAIT_MS. @type {Promise<null>} */
  const aborted = new Promise((resolve) => { stop = () => resolve(null) })
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const read = () => {
    const next = /** @type {Promise<(ChangeStreamDocument & {wallTime?: Date}) | null>} */ (
      signal.aborted || stream.closed ? Promise.resolve(null) : Promise.race([stream.tryNext(), aborted]))
    // It may fail while a batch is stored; the next wait for it gets the error.
    next.catch(() => {})
    return next
  }
  try {
    let next = read()
    for (;;) {
      const first = await next
      if (signal.aborted || (stream.closed && first === null)) return
      if (first === null) {
        await onQuiet(stream.resumeToken)
        next = read()
        continue
      }
      const batch = await gather(first, read)
      next = batch.next
      if (batch.changes.length > 0) {
        const { settleMs } = await onBatch(batchOf(batch.changes))
        if (settleMs !== null && await isSilent(next, settleMs)) await onQuiet(stream.resumeToken)
      }
      if (batch.isOver) return
    }
  } finally {
    signal.removeEventListener('abort', stop)
    await stream.close().catch(() => {})
  }
}

/** @param {any} first @param {() => Promise<any>} read */
async function gather (first, read) {
  const changes = []
  const over = new AbortController()
  const end = sleep(GATHER_MS, null, { signal: over.signal }).catch(() => null)
  for (let change = first, next = read(); ;) {
    // The collection, or the database, is gone.
    if (!OF_PAGES.has(change.operationType)) return { changes, next, isOver: true }
    changes.push(change)
    change = changes.length < BATCH_MAX ? await Promise.race([next, end]) : null
    if (change === null) {
      over.abort()
      return { changes, next, isOver: false }
    }
    next = read()
  }
}

/** @param {any[]} changes @returns {Batch} */
function batchOf (changes) {
  const [first, last] = [changes[0], changes[changes.length - 1]]
  const timeOf = (/** @type {any} */ { wallTime, clusterTime }) =>
    wallTime?.getTime() ?? 1000 * clusterTime.getHighBitsUnsigned()
  return {
    names: [...new Set(changes.map(({ documentKey }) => documentKey._id))],
    position: last._id,
    clusterTime: last.clusterTime,
    firstAtMs: timeOf(first),
    lastAtMs: timeOf(last),
    isFull: changes.length === BATCH_MAX
  }
}

/** @param {Promise<unknown>} next @param {number} ms */
async function isSilent (next, ms) {
  const over = new AbortController()
  const silent = await Promise.race([
    next.then(() => false, () => false), sleep(ms, true, { signal: over.signal }).catch(() => true)
  ])
  over.abort()
  return silent
}
