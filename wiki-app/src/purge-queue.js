import { setTimeout as sleep } from 'node:timers/promises'
import mongoose from 'mongoose'
import { markedBy } from './invalidation.js'

/** @typedef {import('./invalidation.js').Stale} Stale */

/**
 * @typedef {object} Timing
 * @property {number} gatherMs  edits of one moment are told together
 * @property {number} repeatAfterMs  a cache that asked before an edit and stores the answer after the purge would keep the old text: all is purged
 *   once more after the longest that an answer may take on its way
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} confirmMs  the longest that an author waits for the caches' confirmation
 * @property {number} lookMs  how often what another process left behind is looked for
 */
/** @type {Timing} */
const TIMING = { gatherMs: 50, repeatAfterMs: 10_000, retryMs: 500, retryMaxMs: 60_000, confirmMs: 2_000, lookMs: 5_000 }
/** Longer than a purge takes, and the longest that anything is put off. Whoever has died with entries in hand is stood in for after it. */
const LEASE_MS = 60_000
const ENTRIES_PER_TURN = 200
/** Beyond these it is cheaper for everybody to forget all. */
const ITEMS_MAX = 5_000
const ENTRIES_MAX = 10_000
const CLOSE_MAX_MS = 2_000
/** How often an author's wait looks at what another process may have told. */
const OTHERS_LOOK_MS = 200

/**
 * @typedef {object} Entry  what an edit made stale and the caches have not been told twice
 * @property {mongoose.Types.ObjectId} _id
 * @property {boolean} everything
 * @property {string[]} urls
 * @property {string[]} [tags]  not there in what an earlier version wrote
 * @property {boolean} again  whether they have been told once
 * @property {Date} due_at  not before; while it is in somebody's hands, when that is over at the latest
 */
const schema = new mongoose.Schema({ everything: Boolean, urls: [String], tags: [String], again: Boolean, due_at: Date }, { collection: 'purges', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ due_at: 1 })

/**
 * Tells the caches in front of the wiki what edits made stale. An entry is written in the transaction of its edit and leaves when the caches were told twice,
 * so each edit is told at least once more than any crash, of the wiki or of the caches, can take away, and no edit waits for a cache.
 * @param {object} options
 * @param {mongoose.Connection} options.connection
 * @param {(stale: Stale) => Promise<void>} options.purge  rejects when the caches were not reached
 * @param {(commit: import('./pages/store.js').Commit) => Stale} options.staleOf  what an edit made stale
 * @param {import('fastify').FastifyBaseLogger} options.log
 * @param {Partial<Timing>} [options.timing]
 */
export function createPurgeQueue ({ connection, purge, staleOf, log, timing = {} }) {
  const { gatherMs, repeatAfterMs, retryMs, retryMaxMs, confirmMs, lookMs } = { ...TIMING, ...timing }
  const Entries = /** @type {mongoose.Model<Entry>} */ (/** @type {unknown} */ (connection.model('Purge', schema)))
  const closing = new AbortController()
  let wake = () => {}
  let woken = false
  let failures = 0
  /** @type {Promise<void>} */
  let working = Promise.resolve()
  /** Ends of waits for the next purge. @type {Set<() => void>} */
  const waits = new Set()

  /** @param {number} ms */
  const pause = (ms) => sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})

  /** @param {number} ms  at most */
  async function idle (ms) {
    if (!woken) await Promise.race([pause(ms), new Promise((resolve) => { wake = () => resolve(undefined) })])
    const gather = woken
    woken = false
    if (gather) await pause(gatherMs)
  }

  /** @param {mongoose.Types.ObjectId[]} ids */
  const among = (ids) => ({ _id: mongoose.trusted({ $in: ids }) })
  const inMs = (/** @type {number} */ ms) => new Date(Date.now() + ms)
  // What is put off for longer than anything ever is was dated by a clock that has been set back since, or that of a machine whose clock is wrong.
  const due = () => ({ $or: [{ due_at: mongoose.trusted({ $lte: new Date() }) }, { due_at: mongoose.trusted({ $gt: inMs(Math.max(LEASE_MS, repeatAfterMs)) }) }] })

  /**
   * Tells what is due.
   * @returns {Promise<number>} milliseconds until something may be due
   */
  async function turn () {
    /** @type {Entry[]} */
    const entries = await Entries.find(due()).sort({ due_at: 1 }).limit(ENTRIES_PER_TURN).lean().exec()
    if (entries.length === 0) {
      const next = await Entries.findOne({}, { due_at: 1 }).sort({ due_at: 1 }).lean().exec()
      return next === null ? lookMs : Math.min(lookMs, Math.max(0, next.due_at.getTime() - Date.now()))
    }
    const ids = entries.map(({ _id }) => _id)
    await Entries.updateMany(among(ids), { due_at: inMs(LEASE_MS) }).exec()
    const urls = [...new Set(entries.flatMap((entry) => entry.urls))]
    const tags = [...new Set(entries.flatMap((entry) => entry.tags ?? []))]
    const everything = urls.length + tags.length > ITEMS_MAX || entries.some((entry) => entry.everything)
    try {
      await purge(everything ? { everything } : { everything, urls, tags })
    } catch (error) {
      await failed(ids, /** @type {Error} */ (error))
      return Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    }
    if (failures > 0) log.warn('caches are told again of what is stale')
    failures = 0
    await finish(entries)
    for (const end of waits) end()
    return 0
  }

  /** @param {Entry[]} entries  that the caches were told of */
  async function finish (entries) {
    await Entries.deleteMany(among(entries.filter(({ again }) => again).map(({ _id }) => _id))).exec()
    await Entries.updateMany(among(entries.filter(({ again }) => !again).map(({ _id }) => _id)), { again: true, due_at: inMs(repeatAfterMs) }).exec()
  }

  /** @param {number} ms  at most */
  function nextPurge (ms) {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        waits.delete(end)
        resolve(undefined)
      }
      const timer = setTimeout(end, ms)
      waits.add(end)
    })
  }

  /**
   * @param {string[]} names
   * @returns {Promise<boolean>} whether the caches have confirmed a purge for each edit of these pages
   */
  async function isTold (names) {
    const { urls, tags } = markedBy(names)
    const of = [{ everything: true }, { urls: mongoose.trusted({ $in: urls }) }, { tags: mongoose.trusted({ $in: tags }) }]
    return await Entries.exists({ again: false, $or: of }).exec() === null
  }

  /**
   * @param {mongoose.Types.ObjectId[]} ids
   * @param {Error} error
   */
  async function failed (ids, error) {
    failures += 1
    // The first, the second, the fourth, the eighth …
    if (Number.isInteger(Math.log2(failures))) log.warn(`caches were not told of what is stale, trying on (attempt ${failures}): ${error.message}`)
    await Entries.updateMany(among(ids), { due_at: new Date() }).exec()
    if (await Entries.estimatedDocumentCount().exec() <= ENTRIES_MAX) return
    // What is there before the one for everything is written, that one covers.
    /** @type {Pick<Entry, '_id'>[]} */
    const covered = await Entries.find({}, { _id: 1 }).lean().exec()
    await Entries.insertMany([{ everything: true, urls: [], tags: [], again: false, due_at: new Date() }], { lean: true })
    await Entries.deleteMany(among(covered.map(({ _id }) => _id))).exec()
  }

  async function work () {
    while (!closing.signal.aborted) {
      const waitMs = await turn().catch(() => retryMs)
      // New edits do not make caches that are away come back sooner.
      if (failures > 0) await pause(waitMs)
      else if (waitMs > 0) await idle(waitMs)
    }
  }

  return {
    /**
     * Within the transaction of an edit.
     * @param {import('./pages/store.js').Commit[]} commits
     * @param {mongoose.ClientSession} session
     */
    async add (commits, session) {
      const entries = commits.map(staleOf).map((stale) => ({ urls: [], tags: [], ...stale, again: false, due_at: new Date() }))
      await Entries.insertMany(entries, { session, lean: true })
    },
    /** After it. */
    added () {
      woken = true
      wake()
    },
    isTold,
    /**
     * Waits until it is so, at most `confirmMs`, and not for caches that are away.
     * @param {string[]} names
     */
    async waitUntilTold (names) {
      const endsAt = performance.now() + confirmMs
      const cachesAnswer = () => failures === 0 && !closing.signal.aborted
      while (cachesAnswer() && performance.now() < endsAt) {
        const purge = nextPurge(Math.min(OTHERS_LOOK_MS, endsAt - performance.now()))
        // The edit is made, so a database that goes away now is no error of this answer.
        if (await isTold(names).catch(() => true)) return
        await purge
      }
    },
    async open () {
      working = work()
    },
    /** What is left is told after the next start. */
    async close () {
      closing.abort()
      await Promise.race([working, sleep(CLOSE_MAX_MS, undefined, { ref: false })])
    }
  }
}

/** @typedef {ReturnType<typeof createPurgeQueue>} PurgeQueue */
