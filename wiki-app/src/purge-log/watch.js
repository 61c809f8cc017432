import { randomUUID } from 'node:crypto'
import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'
import { realClock, UPTIME_STEP_MS } from '../process/clock.js'
import { logOf, TAGS_MAX } from './entries.js'
import { positionOf } from './position.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Connection} from 'mongoose' */
/** @import {Clock} from '../process/clock.js' */
/** @import {Logged, StaleTags} from './entries.js' */

/**
 * That the log is known up to `position`, and that every edit acknowledged before it began is at or before that.
 * @typedef {{position: string, began: Moment}} Certificate
 */

/**
 * By two clocks that nobody sets: an exact one, and one that goes on while the machine sleeps.
 * @typedef {{ms: number, uptime_ms: number}} Moment
 */

/** @typedef {{operationType: string, clusterTime: import('mongodb').Timestamp, fullDocument?: Logged}} Change */

/**
 * @typedef {object} Timing
 * @property {number} markMaxMs  a mark whose writing takes longer is given up
 * @property {number} markAgainMs  when one that is written and does not come is followed by another
 * @property {number} waitMaxMs  the longest wait for a certificate
 * @property {number} retryMs  after a failure
 * @property {number} tagsMax  that are kept; a follower that is further behind forgets everything
 */
/** @type {Timing} */
const TIMING = { markMaxMs: 2_000, markAgainMs: 250, waitMaxMs: 2_000, retryMs: 100, tagsMax: 100_000 }
/** A mark that comes later is of no use: the longest bound is a minute. */
const LOST_MS = 60_000
/** A silent stream ends its wait so often. */
const AWAIT_MS = 1_000

const Behind = createError(
  'WIKI_BEHIND',
  'The wiki cannot make sure just now that it would show the newest text: its database does not answer in time. ' +
    'Try again in a moment.',
  503
)

/**
 * Follows the purge log by a change stream, and knows how far it has come. To know that, it writes a mark of its own
 * and waits until the stream brings it: the stream is in the order of the commits, and has only what a majority of the
 * servers has, so everything acknowledged before the mark was written has come before it. Marks are written only while
 * somebody asks. https://www.mongodb.com/docs/manual/changeStreams/ ; docs/decisions/0075.
 * @typedef {{connection: Pick<Connection, 'db'>, collection?: ReturnType<typeof logOf>}} Source
 * @param {Source & {log: Pick<FastifyBaseLogger, 'warn'>, timing?: Partial<Timing>, clock?: Clock}} parts
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createPurgeLogWatch ({
  connection, collection = logOf(/** @type {Connection} */ (connection)), log, timing = {}, clock = realClock
}) {
  const { markMaxMs, markAgainMs, waitMaxMs, retryMs, tagsMax } = { ...TIMING, ...timing }
  const own = `mark ${randomUUID()}`
  const closing = new AbortController()
  /** After `knownFrom`, in the order of the log. @type {{position: string, stale: StaleTags}[]} */
  let entries = []
  let keptTags = 0
  let entryCount = 0
  /** @type {string | null} null: the log is not known */
  let knownFrom = null
  /** @type {Certificate | null} */
  let newest = null
  /** Of the last certificate, also after the stream broke. @type {string | undefined} */
  let reached
  /** When each mark was begun that has not come yet. @type {Map<number, Moment>} */
  let begun = new Map()
  let marks = 0
  let marking = false
  let brokenLogged = false
  let watching = Promise.resolve()
  const news = createNews(clock)
  const momentNow = () => ({ ms: clock.now(), uptime_ms: clock.uptime() })

  /** @param {Moment} moment @returns {number} ms since then, or more */
  const since = ({ ms, uptime_ms: uptimeMs }) =>
    Math.max(clock.now() - ms, clock.uptime() - uptimeMs + UPTIME_STEP_MS)

  function forget () {
    entries = []
    keptTags = 0
    knownFrom = null
    newest = null
    begun = new Map()
  }

  /** @param {(typeof entries)[number]} entry */
  function keep (entry) {
    entries.push(entry)
    entryCount++
    keptTags += sizeOf(entry.stale)
    let dropped = 0
    for (; keptTags > tagsMax; dropped++) keptTags -= sizeOf(entries[dropped].stale)
    if (dropped > 0) knownFrom = entries.splice(0, dropped)[dropped - 1].position
  }

  /** @param {Change} change */
  function take ({ clusterTime, fullDocument }) {
    const position = positionOf(clusterTime)
    if (fullDocument?.stale !== undefined && knownFrom !== null) keep({ position, stale: fullDocument.stale })
    if (fullDocument?._id === own) {
      const began = begun.get(Number(fullDocument.mark))
      if (began !== undefined) {
        for (const mark of begun.keys()) if (mark <= Number(fullDocument.mark)) begun.delete(mark)
        newest = { position, began }
        reached = position
        knownFrom ??= position
      }
    }
    news.tell()
  }

  async function watchOnce () {
    const isOfLog = { operationType: { $in: ['insert', 'replace'] } }
    const isOthersMark = { 'fullDocument.mark': { $exists: true }, 'documentKey._id': { $ne: own } }
    const stream = collection.watch(
      [{ $match: { $or: [{ operationType: 'invalidate' }, { ...isOfLog, $nor: [isOthersMark] }] } }],
      { maxAwaitTimeMS: AWAIT_MS, readPreference: 'primary' }
    )
    const stop = () => { stream.close().catch(() => {}) }
    closing.signal.addEventListener('abort', stop, { once: true })
    try {
      while (!closing.signal.aborted) {
        const change = /** @type {Change | null} */ (/** @type {unknown} */ (await stream.tryNext()))
        // The collection is gone: the driver would report no change, without any wait.
        if (change?.operationType === 'invalidate' || stream.closed) return
        if (change !== null) take(change)
        brokenLogged = false
      }
    } finally {
      closing.signal.removeEventListener('abort', stop)
      forget()
      news.tell()
      await stream.close().catch(() => {})
    }
  }

  async function watchUntilClosed () {
    while (!closing.signal.aborted) {
      try {
        if (connection.db) await watchOnce()
      } catch (error) {
        if (!brokenLogged && !closing.signal.aborted) {
          log.warn(`the log of purges cannot be followed, still trying: ${/** @type {Error} */ (error).message}`)
        }
        brokenLogged = true
      }
      await clock.sleep(retryMs, closing.signal)
    }
  }

  /** One at a time: written, and come by the stream. */
  async function mark () {
    const isUnderWay = [...begun.values()].some((began) => since(began) < markAgainMs)
    if (marking || isUnderWay || closing.signal.aborted) return
    marking = true
    for (const [old, began] of begun) if (since(began) > LOST_MS) begun.delete(old)
    const number = ++marks
    begun.set(number, momentNow())
    try {
      await collection.replaceOne(
        { _id: own }, { mark: number, at: new Date() }, { upsert: true, timeoutMS: markMaxMs }
      )
    } catch {
      // The caller waits until it is too late for it.
      begun.delete(number)
      await clock.sleep(retryMs, closing.signal)
    }
    marking = false
    news.tell()
  }

  /**
   * The newest certificate if it is young enough.
   * @param {number} ageMaxMs @param {string} [position]  that it has to reach
   */
  function current (ageMaxMs, position = '') {
    if (newest === null || since(newest.began) > ageMaxMs || newest.position < position) return undefined
    return newest
  }

  /**
   * @param {number} ageMaxMs  of the certificate, in ms
   * @param {string} [position]  that it has to reach, unless the database has never come so far
   * @returns {Promise<Certificate>}
   * @throws {Error} 503 when there is none in time
   */
  async function certify (ageMaxMs, position) {
    const calledMs = clock.now()
    while (!closing.signal.aborted) {
      const found = current(ageMaxMs, position)
      if (found) return found
      // It began after the call, so all positions of this database were before it.
      if (newest !== null && newest.began.ms >= calledMs) return newest
      const leftMs = calledMs + waitMaxMs - clock.now()
      if (leftMs <= 0) break
      const next = news.next(Math.min(leftMs, markAgainMs))
      mark()
      await next
    }
    throw retryAfter(new Behind(), 1)
  }

  /** From the end, so that the cost does not depend on how much is kept. @param {string} from @param {string} to */
  function tagsAfter (from, to) {
    const tags = new Set()
    for (let index = entries.length - 1; index >= 0 && entries[index].position > from; index--) {
      const { position, stale } = entries[index]
      if (position > to) continue
      if (stale.everything || tags.size > TAGS_MAX) return null
      for (const tag of stale.tags) tags.add(tag)
    }
    return tags.size > TAGS_MAX ? null : [...tags]
  }

  return {
    current,
    certify,
    /** What a read has to cover that relies on any certificate given so far. @returns {string | undefined} */
    reached: () => reached,
    /** How many entries the stream has brought since the start. */
    entryCount: () => entryCount,

    /**
     * Waits until there is an entry after a position, at most `waitMs`, and longer for the certificate.
     * @param {string | undefined} position  undefined: the follower knows nothing
     * @param {{waitMs: number, ageMaxMs: number}} options  ageMaxMs: of the certificate
     * @returns {Promise<{position: string, ageMs: number, tags: string[] | null}>} ageMs: of the certificate, now;
     *   null: everything is stale, or the log is not known from there on
     * @throws {Error} as `certify`
     */
    async after (position, { waitMs, ageMaxMs }) {
      const endMs = clock.now() + waitMs
      const isThere = () => position === undefined || (entries.at(-1)?.position ?? '') > position
      while (!isThere() && clock.now() < endMs && !closing.signal.aborted) {
        await news.next(Math.max(1, endMs - clock.now()))
      }
      // Another process may have told the follower of more than this one has seen.
      const [least] = [position ?? '', entries.at(-1)?.position ?? ''].sort().reverse()
      const certificate = await certify(ageMaxMs, least)
      const isKnown = position !== undefined && knownFrom !== null && position >= knownFrom &&
        position <= certificate.position
      return {
        position: certificate.position,
        ageMs: since(certificate.began),
        tags: isKnown ? tagsAfter(position, certificate.position) : null
      }
    },

    async open () { watching = watchUntilClosed() },
    async close () {
      closing.abort()
      news.tell()
      await watching
    }
  }
}

/** @typedef {ReturnType<typeof createPurgeLogWatch>} PurgeLogWatch */

/** An entry counts, too. @param {StaleTags} stale */
const sizeOf = (stale) => 1 + (stale.everything ? 0 : stale.tags.length)

/** @param {Clock} clock */
function createNews (clock) {
  /** @type {Set<() => void>} */
  const waits = new Set()
  return {
    tell () { for (const end of waits) end() },
    /** @param {number} maxMs @returns {Promise<void>} */
    next: (maxMs) => new Promise((resolve) => {
      const end = () => {
        cancel()
        waits.delete(end)
        resolve()
      }
      const cancel = clock.after(maxMs, end)
      waits.add(end)
    })
  }
}
