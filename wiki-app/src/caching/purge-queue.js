import { setTimeout as sleep } from 'node:timers/promises'
import { createPurgeEntries } from './purge-entries.js'

/** @typedef {import('./invalidation.js').Stale} Stale */
/** @typedef {import('./purge-entries.js').Entry} Entry */

/**
 * Purges the caches in front of the wiki.
 * @typedef {(stale: Stale) => Promise<void>} Purge  rejects with a `PurgeError` on failure
 */
/**
 * @typedef {Error & {refused?: boolean, retryAfterMs?: number}} PurgeError
 *   `refused`: the caches' API understands the call, and refuses its content each time (mostly with a 400);
 *   `retryAfterMs`: the API wants no call before that (RFC 9110 §10.2.3)
 */

/**
 * @typedef {object} Timing
 * @property {number} gatherMs  edits within this time are batched
 * @property {number} repeatAfterMs  a cache may store a response that was in flight during the first purge: the second
 *   purge follows after the longest such flight
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} confirmMs  the longest that an author waits for the caches' confirmation
 * @property {number} lookMs  how often each process checks for entries that another one left behind
 * @property {number} leaseMs  longer than a purge takes
 * @property {number} everythingAfterMs  entries refused within it become one purge of everything
 */
/** @type {Timing} */
const TIMING = {
  gatherMs: 50,
  repeatAfterMs: 10_000,
  retryMs: 500,
  retryMaxMs: 60_000,
  confirmMs: 2_000,
  lookMs: 10_000,
  leaseMs: 60_000,
  everythingAfterMs: 10_000
}
const ENTRIES_PER_TURN = 200
/** Beyond these a purge of everything is cheaper for the wiki and the caches. */
const ITEMS_MAX = 5_000
const ENTRIES_MAX = 10_000
/** Calls per turn that search for refused entries: enough to find two among 200. */
const REFUSALS_PER_TURN_MAX = 16
/** A longer Retry-After is a mistake. */
const RETRY_AFTER_MAX_MS = 3_600_000
const CLOSE_MAX_MS = 2_000
/** How often the wait for a confirmation checks for purges by other processes. */
const OTHERS_LOOK_MS = 200
const SHOWN_ITEMS_MAX = 5
const SHOWN_CHARS_MAX = 200

/**
 * Purges from the caches in front of the wiki what edits make stale. An entry is written in the transaction of its
 * edit, and deleted when the caches are purged twice, so a crash loses no purge and no edit waits for a cache. Several
 * processes share the entries: each claims its own, and wakes only for its own edits and repeats.
 * @param {object} options
 * @param {import('mongoose').Connection} options.connection
 * @param {Purge} options.purge
 * @param {(commit: import('../pages/commit.js').Commit) => Stale} options.staleOf  what an edit made stale
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} options.log
 * @param {Partial<Timing>} [options.timing]
 */
export function createPurgeQueue ({ connection, purge, staleOf, log, timing = {} }) {
  const {
    gatherMs, repeatAfterMs, retryMs, retryMaxMs, confirmMs, lookMs, leaseMs, everythingAfterMs
  } = { ...TIMING, ...timing }
  const queue = createPurgeEntries(connection, { leaseMs, repeatAfterMs })
  const closing = new AbortController()
  let wake = () => {}
  let woken = false
  let failures = 0
  let unreadable = false
  /** @type {Promise<void>} */
  let working = Promise.resolve()
  /**
   * Callbacks that end the waits for the next confirmation.
   * @type {Set<() => void>}
   */
  const waits = new Set()

  function wakeUp () {
    woken = true
    wake()
  }

  /** @param {number} ms */
  const wakeUpIn = (ms) => { setTimeout(wakeUp, ms).unref() }

  /** @param {number} ms */
  const pause = (ms) => sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})

  /** @param {number} ms  at most */
  async function idle (ms) {
    if (!woken) {
      const waking = new AbortController()
      wake = () => waking.abort()
      const ends = AbortSignal.any([closing.signal, waking.signal])
      await sleep(ms, undefined, { signal: ends, ref: false }).catch(() => {})
    }
    const gather = woken
    woken = false
    if (gather) await pause(gatherMs)
  }

  /**
   * Purges the entries, all in one call if that is accepted. A refused call is halved until the refused entry is alone,
   * so all others are purged.
   * @param {Entry[]} entries
   * @returns {Promise<number>} milliseconds until the next call
   */
  async function tell (entries) {
    const batches = [entries]
    for (let refusals = 0; batches.length > 0 && !closing.signal.aborted;) {
      const batch = /** @type {Entry[]} */ (batches.pop())
      const stale = together(batch)
      try {
        await purge(stale)
      } catch (thrown) {
        const error = /** @type {PurgeError} */ (thrown)
        // A purge of everything names no entry: only the settings can cause its refusal, so no entry is given up.
        if (error.refused !== true || stale.everything) return failed([batch, ...batches].flat(), error)
        refusals += 1
        if (batch.length === 1 || refusals >= REFUSALS_PER_TURN_MAX) await giveUp(batch, stale, error)
        else batches.push(batch.slice(batch.length >> 1), batch.slice(0, batch.length >> 1))
        continue
      }
      if (failures > 0) log.warn('the caches take purges again')
      failures = 0
      await queue.told(batch)
      for (const end of waits) end()
      if (batch.some(({ again }) => !again)) wakeUpIn(repeatAfterMs)
    }
    if (batches.length > 0) await queue.putOff(batches.flat(), 0)
    return 0
  }

  /**
   * Replaces refused entries by a purge of everything. Dropping them would leave their pages stale in the caches for
   * the whole lifetime, a day with some policies. A purge of everything is costly but rare, and one covers all entries
   * that are refused within some seconds.
   * @param {Entry[]} entries
   * @param {Stale & {everything: false}} stale  what they name
   * @param {Error} error
   */
  async function giveUp (entries, { urls, tags }, error) {
    const named = [...urls, ...tags]
    const items = named.slice(0, SHOWN_ITEMS_MAX).map((item) => item.slice(0, SHOWN_CHARS_MAX))
    log.error({ items, items_count: named.length, entries_count: entries.length },
      `the caches refuse to purge these, so everything is purged instead: ${error.message}`)
    await queue.replaceByEverything(entries, everythingAfterMs)
    wakeUpIn(everythingAfterMs)
  }

  /**
   * @param {Entry[]} entries
   * @param {PurgeError} error
   * @returns {Promise<number>} milliseconds until the next attempt
   */
  async function failed (entries, { message, retryAfterMs = 0 }) {
    failures += 1
    // Logs the first, second, fourth, eighth … failure.
    if (Number.isInteger(Math.log2(failures))) {
      log.warn(`caches were not told of what is stale, trying on (attempt ${failures}): ${message}`)
    }
    const backoffMs = Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    const waitMs = Math.max(backoffMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
    // Other processes may reach the caches: they wait no longer than the lease.
    await queue.putOff(entries, waitMs)
    const all = await queue.beyond(ENTRIES_MAX)
    if (all.length > 0) await queue.replaceByEverything(all, waitMs)
    return waitMs
  }

  /** @returns {Promise<{found: boolean, waitMs: number}>}  waitMs: for this long new edits do not wake this process */
  async function turn () {
    try {
      const entries = await queue.claim(ENTRIES_PER_TURN)
      const waitMs = entries.length === 0 ? 0 : await tell(entries)
      unreadable = false
      return { found: entries.length > 0, waitMs }
    } catch (error) {
      // Logged once per outage; claimed entries are due again when the lease ends.
      if (!unreadable && !closing.signal.aborted) {
        log.warn(`the queue of purges cannot be read or written, still trying: ${/** @type {Error} */ (error).message}`)
      }
      unreadable = true
      return { found: true, waitMs: retryMs }
    }
  }

  /** @param {number} ms  at most */
  function nextConfirmation (ms) {
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

  async function work () {
    while (!closing.signal.aborted) {
      const { found, waitMs } = await turn()
      // The added time covers a timer that fires early: postponed entries must be due when the pause ends.
      if (waitMs > 0) await pause(waitMs + gatherMs)
      // Random, so that processes that started together do not check together.
      else if (!found) await idle(lookMs * (1 + Math.random() / 2))
    }
  }

  return {
    /**
     * Call this within the transaction of an edit.
     * @param {import('../pages/commit.js').Commit[]} commits
     * @param {import('mongoose').ClientSession} session
     */
    add: (commits, session) => queue.add(commits.map(staleOf), session),
    /** Call this after the transaction. */
    added: wakeUp,
    isPurged: queue.isPurged,
    /**
     * Waits until a purge is confirmed for each edit of these pages, at most `confirmMs`. Returns early if the caches
     * do not respond.
     * @param {string[]} names
     */
    async waitUntilPurged (names) {
      const endsAt = performance.now() + confirmMs
      const cachesAnswer = () => failures === 0 && !closing.signal.aborted
      while (cachesAnswer() && performance.now() < endsAt) {
        const confirmation = nextConfirmation(Math.min(OTHERS_LOOK_MS, endsAt - performance.now()))
        // The edit is stored, so losing the database now must not fail this response.
        if (await queue.isPurged(names).catch(() => true)) return
        await confirmation
      }
    },
    async open () {
      working = work()
    },
    /** Entries that are left are purged after the next start. */
    async close () {
      closing.abort()
      await Promise.race([working, sleep(CLOSE_MAX_MS, undefined, { ref: false })])
    }
  }
}

/** @typedef {ReturnType<typeof createPurgeQueue>} PurgeQueue */

/**
 * @param {Entry[]} entries
 * @returns {Stale}
 */
function together (entries) {
  const urls = [...new Set(entries.flatMap((entry) => entry.urls))]
  const tags = [...new Set(entries.flatMap((entry) => entry.tags ?? []))]
  const everything = urls.length + tags.length > ITEMS_MAX || entries.some((entry) => entry.everything)
  return everything ? { everything } : { everything, urls, tags }
}
