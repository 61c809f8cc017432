import { setTimeout as sleep } from 'node:timers/promises'
import { historyUrl, linksUrl, rawUrl, tagUrl, viewUrl } from './pages/name.js'
import { LINKING_MAX } from './pages/targets.js'

/** Edits of one moment are told together. */
const GATHER_MS = 50
/**
 * A cache that asked before an edit and stores the answer after the purge would keep the old text: all is purged once more after
 * the longest that an answer may take on its way.
 */
const REPEAT_AFTER_MS = 10_000
const RETRY_PAUSES_MS = [500, 2_000, 8_000]
/** Beyond this it is cheaper for everybody to forget all. */
const URLS_MAX = 5_000

/**
 * What caches are told to forget: these paths (with query, without scheme and host), or everything.
 * @typedef {{everything: false, urls: string[]} | {everything: true}} Stale
 */

/**
 * Every URL that an edit makes stale and that can be named: the page and what is said of it, the lists that it is in, and the pages
 * whose links to it look different now. Further parts of lists and searches cannot be named, and the API says the same in other words; those answers are never used without asking.
 * @param {import('./pages/store.js').Commit} commit
 * @returns {Stale}
 */
export function urlsFor ({ name, authors, tags, linking, links, listed }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  const changes = ['', ...authors.map((author) => `?${new URLSearchParams({ author })}`)]
  return {
    everything: false,
    urls: [...new Set([
      viewUrl(name), rawUrl(name), historyUrl(name),
      '/', ...changes.flatMap((query) => [`/changes${query}`, `/changes.atom${query}`]),
      ...tags.map(tagUrl), ...(tags.length > 0 ? ['/tags'] : []),
      ...linking.map(viewUrl),
      ...links.map(linksUrl), ...(links.length > 0 || listed ? ['/wanted', '/orphaned'] : [])
    ])]
  }
}

/**
 * Tells the caches in front of the wiki what edits made stale: after the edit was answered, each URL once however many edits it had,
 * again when that failed, and once more in any case.
 * @param {object} options
 * @param {(stale: Stale) => Promise<void>} options.purge  rejects when the caches were not reached
 * @param {import('fastify').FastifyBaseLogger} options.log
 * @param {{gatherMs?: number, repeatAfterMs?: number, retryPausesMs?: number[]}} [options.timing]
 */
export function createInvalidation ({ purge, log, timing: { gatherMs = GATHER_MS, repeatAfterMs = REPEAT_AFTER_MS, retryPausesMs = RETRY_PAUSES_MS } = {} }) {
  const closing = new AbortController()
  /** @type {Set<Promise<void>>} */
  const working = new Set()
  /** @type {Set<string>} */
  let gathered = new Set()
  let everything = false
  let gathering = false

  /** @param {number} ms */
  const pause = (ms) => sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})

  /** @param {Stale} stale */
  async function tell (stale) {
    for (const pauseMs of [...retryPausesMs, null]) {
      try {
        return await purge(stale)
      } catch (error) {
        const more = pauseMs !== null && !closing.signal.aborted
        log.warn(`caches were not told of ${stale.everything ? 'everything' : `${stale.urls.length} stale URLs`}${more ? ', trying again' : ''}: ${/** @type {Error} */ (error).message}`)
        if (!more) return
        await pause(pauseMs)
      }
    }
  }

  async function work () {
    await pause(gatherMs)
    const stale = everything ? { everything: /** @type {const} */ (true) } : { everything: /** @type {const} */ (false), urls: [...gathered] }
    gathered = new Set()
    everything = gathering = false
    await tell(stale)
    await pause(repeatAfterMs)
    await tell(stale)
  }

  return {
    /** @param {import('./pages/store.js').Commit} commit */
    add (commit) {
      const stale = urlsFor(commit)
      if (stale.everything || gathered.size > URLS_MAX) everything = true
      else for (const url of stale.urls) gathered.add(url)
      if (gathering) return
      gathering = true
      const done = work().finally(() => working.delete(done))
      working.add(done)
    },
    /** Tells what is left at once. */
    async close () {
      closing.abort()
      await Promise.all(working)
    }
  }
}

/** @typedef {ReturnType<typeof createInvalidation>} Invalidation */
