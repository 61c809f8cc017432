import { setTimeout as sleep } from 'node:timers/promises'
import { createPurgeEntries } from './purge-entries.js'

/** @typedef {import('./invalidation.js').Stale} Stale */
/** @typedef {import('./purge-entries.js').Entry} Entry */

/**
 * Makes the caches in front forget.
 * @typedef {(stale: Stale) => Promise<void>} Purge  rejects with a `PurgeError` when they did not
 */
/**
 * @typedef {Error & {refused?: boolean, retryAfterMs?: number}} PurgeError
 *   `refused`: the caches' API has read the call, and refuses what it names each time (a 400, mostly);
 *   `retryAfterMs`: the API wants no call before that (RFC 9110 §10.2.3)
 */

/**
 * @typedef {object} Timing
 * @property {number} gatherMs  edits of one moment are told together
 * @property {number} repeatAfterMs  a cache may store an answer that was on its way during the first purge: the second
 *   one follows after the longest such way
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} confirmMs  the longest that an author waits for the caches' confirmation
 * @property {number} lookMs  how often each process looks for entries that another one left behind
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
/** Beyond these a purge of everything is cheaper for all. */
const ITEMS_MAX = 5_000
const ENTRIES_MAX = 10_000
/** Calls of one turn that look for refused entries: enough for two among 200. */
const REFUSALS_PER_TURN_MAX = 16
/** A Retry-After beyond is a mistake. */
const RETRY_AFTER_MAX_MS = 3_600_000
const CLOSE_MAX_MS = 2_000
/** How often an author's wait looks at what another process may have told. */
const OTHERS_LOOK_MS = 200
const SHOWN_ITEMS_MAX = 5
const SHOWN_CHARS_MAX = 200

/**
 * Tells the caches in front of the wiki what edits made stale. An entry is written in the transaction of its edit and
 * leaves when the caches have been told twice, so no crash loses an edit, and no edit waits for a cache. Several
 * processes share the entries: each claims its own, and wakes for its own edits and repeats alone.
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
  /** Ends of waits for the next confirmation. @type {Set<() => void>} */
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
   * Tells caches of the entries, all in one call where that is accepted. A refused call is halved until the refused
   * entry is alone, so all others are purged.
   * @param {Entry[]} entries
   * @returns {Promise<number>} milliseconds for which the caches are left alone
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
        // A purge of everything names no entry: its refusal is of the settings, and nothing is given up for it.
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
   * Dropping a refused entry would leave its page stale in the caches for its whole lifetime, a day with some policies.
   * Everything is purged instead: costly but rare, and once for all entries that are refused within some seconds.
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
    // The first, the second, the fourth, the eighth …
    if (Number.isInteger(Math.log2(failures))) {
      log.warn(`caches were not told of what is stale, trying on (attempt ${failures}): ${message}`)
    }
    const backoffMs = Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    const waitMs = Math.max(backoffMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
    // Other processes, which may reach the caches, do not wait for longer than the lease.
    await queue.putOff(entries, waitMs)
    const all = await queue.beyond(ENTRIES_MAX)
    if (all.length > 0) await queue.replaceByEverything(all, waitMs)
    return waitMs
  }

  /**
   * @returns {Promise<{found: boolean, waitMs: number}>}  waitMs: for which new edits do not wake this process
   */
  async function turn () {
    try {
      const entries = await queue.claim(ENTRIES_PER_TURN)
      const waitMs = entries.length === 0 ? 0 : await tell(entries)
      unreadable = false
      return { found: entries.length > 0, waitMs }
    } catch (error) {
      // Once for each outage; what is claimed is due again when the lease is over.
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
      // The added time covers a timer that fires early: entries that were put off must be due when the pause ends.
      if (waitMs > 0) await pause(waitMs + gatherMs)
      // Processes that started together do not look together.
      else if (!found) await idle(lookMs * (1 + Math.random() / 2))
    }
  }

  return {
    /**
     * Within the transaction of an edit.
     * @param {import('../pages/commit.js').Commit[]} commits
     * @param {import('mongoose').ClientSession} session
     */
    add: (commits, session) => queue.add(commits.map(staleOf), session),
    /** After it. */
    added: wakeUp,
    isPurged: queue.isPurged,
    /**
     * Waits until the caches have been told of each edit of these pages, at most `confirmMs`, and not for caches that
     * are away.
     * @param {string[]} names
     */
    async waitUntilPurged (names) {
      const endsAt = performance.now() + confirmMs
      const cachesAnswer = () => failures === 0 && !closing.signal.aborted
      while (cachesAnswer() && performance.now() < endsAt) {
        const confirmation = nextConfirmation(Math.min(OTHERS_LOOK_MS, endsAt - performance.now()))
        // The edit is stored, so losing the database now must not fail this answer.
        if (await queue.isPurged(names).catch(() => true)) return
        await confirmation
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
