import { isAgain } from './purge-entries.js'

/** @import {Stale} from './invalidation.js' */
/** @import {Entry} from './purge-entries.js' */

/** @typedef {(stale: Stale) => Promise<void>} Purge  rejects with a PurgeError */
/**
 * `refused`: each time, mostly with a 400; `retryAfterMs`: RFC 9110 §10.2.3
 * @typedef {Error & {refused?: boolean, retryAfterMs?: number}} PurgeError
 */

/** Beyond these a purge of everything is cheaper. */
const ITEMS_MAX = 5_000
const ENTRIES_MAX = 10_000
/** Calls that search for refused entries: enough for two among 200. */
const REFUSALS_PER_BATCH_MAX = 16
/** A longer Retry-After is a mistake. */
const RETRY_AFTER_MAX_MS = 3_600_000
const SHOWN_ITEMS_MAX = 5
const SHOWN_CHARS_MAX = 200

/**
 * @typedef {ReturnType<typeof import('./purge-entries.js').createPurgeEntries>} Store
 * @typedef {{onPurged: () => void, wakeUpIn: (ms: number) => void}} Callbacks
 * @typedef {{store: Store, purge: Purge, log: Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>}} Parts
 * @typedef {{timing: import('./purge-queue.js').Timing, signal: AbortSignal, random: () => number}} Conditions
 * @param {Parts & Callbacks & Conditions} parts  random: from 0 to 1
 */
export function createBatchPurger ({ store, purge, log, timing, signal, random, onPurged, wakeUpIn }) {
  const { repeatAfterMs, retryMs, retryMaxMs, everythingAfterMs } = timing
  const results = createResults(log)

  /**
   * A refused call is halved until the refused entry is alone.
   * @param {Entry[]} entries @returns {Promise<number>} milliseconds until the next call
   */
  async function purgeEntries (entries) {
    const batches = [entries]
    for (let refusals = 0; batches.length > 0 && !signal.aborted;) {
      const batch = /** @type {Entry[]} */ (batches.pop())
      const stale = merged(batch)
      try {
        await purge(stale)
      } catch (thrown) {
        const error = /** @type {PurgeError} */ (thrown)
        // It names no entry: only the settings can cause its refusal.
        if (error.refused !== true || stale.everything) return postponeFailed([batch, ...batches].flat(), error)
        refusals += 1
        if (batch.length === 1 || refusals >= REFUSALS_PER_BATCH_MAX) await replaceRefused(batch, stale, error)
        else batches.push(batch.slice(batch.length >> 1), batch.slice(0, batch.length >> 1))
        continue
      }
      results.notePurged(batch)
      await store.markPurged(batch)
      onPurged()
      if (!batch.every(isAgain)) wakeUpIn(repeatAfterMs)
    }
    if (batches.length > 0) await store.postpone(batches.flat(), 0)
    return 0
  }

  /**
   * Otherwise their pages would stay stale for up to a day. One purge covers several refusals.
   * @param {Entry[]} entries @param {Stale & {everything: false}} stale  what they name @param {Error} error
   */
  async function replaceRefused (entries, { urls, tags }, error) {
    const named = [...urls, ...tags]
    const items = named.slice(0, SHOWN_ITEMS_MAX).map((item) => item.slice(0, SHOWN_CHARS_MAX))
    log.error({ items, items_count: named.length, entries_count: entries.length },
      `the caches refuse to purge these, so everything is purged instead: ${error.message}`)
    await store.replaceByEverything(entries, everythingAfterMs)
    wakeUpIn(everythingAfterMs)
  }

  /** @param {Entry[]} entries @param {PurgeError} error @returns {Promise<number>} milliseconds to the next attempt */
  async function postponeFailed (entries, { message, retryAfterMs = 0 }) {
    const failures = results.noteFailure(message)
    const backoffMs = Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + random() / 2)
    const waitMs = Math.max(backoffMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
    // Other processes may reach the caches: they wait no longer than the lease.
    await store.postpone(entries, waitMs)
    const all = await store.allIfMoreThan(ENTRIES_MAX)
    if (all.length > 0) await store.replaceByEverything(all, waitMs)
    return waitMs
  }

  return { purgeEntries, isFailing: () => results.state().failing, state: results.state }
}

/** Of this process: others purge, too. @param {Parts['log']} log */
function createResults (log) {
  let failures = 0
  let since = new Date()
  /** @type {Date | null} */
  let purgedAt = null
  /** From the oldest edit to its first purge, in whole seconds, as ids have them. @type {number | null} */
  let lagS = null

  return {
    state: () => ({ failing: failures > 0, since, purgedAt, lagS }),

    /** @param {Entry[]} batch */
    notePurged (batch) {
      if (failures > 0) {
        log.warn('the caches take purges again')
        since = new Date()
      }
      failures = 0
      purgedAt = new Date()
      const edited = batch.filter((entry) => !isAgain(entry)).map(({ _id }) => _id.getTimestamp().getTime())
      if (edited.length > 0) lagS = Math.max(0, Math.round((purgedAt.getTime() - Math.min(...edited)) / 1000))
    },

    /** @param {string} message @returns {number} failures without a success between */
    noteFailure (message) {
      failures += 1
      if (failures === 1) since = new Date()
      if (Number.isInteger(Math.log2(failures))) {
        log.warn(`caches were not purged, retrying (attempt ${failures}): ${message}`)
      }
      return failures
    }
  }
}

/** @param {Entry[]} entries @returns {Stale} */
function merged (entries) {
  const named = entries.flatMap(({ content }) => content.everything ? [] : [content])
  const urls = [...new Set(named.flatMap((content) => content.urls))]
  const tags = [...new Set(named.flatMap((content) => content.tags))]
  const everything = named.length < entries.length || urls.length + tags.length > ITEMS_MAX
  return everything ? { everything } : { everything, urls, tags }
}
