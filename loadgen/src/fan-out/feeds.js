import { setTimeout as sleep } from 'node:timers/promises'
import { request } from '@stevec/harness/request'

const LOOK_WITHIN_MS = 30_000
/** Of the answers of one look, and of a whole list: far more than a trial makes changes. */
const ITEMS_PER_LOOK = 100
const PARTS_MAX = 1_000

/** A change as a list shows it: page and revision. @param {string} page @param {number | string} revision */
export const changeOf = (page, revision) => `${page} ${revision}`

/**
 * @param {string} url  of the wiki
 * @param {string} token  of the watcher
 * @param {string} [cursor]
 * @returns {Promise<{changes: string[], next: string | null}>} the newest first
 * @throws {Error} when the wiki does not answer with a list
 */
export async function look (url, token, cursor) {
  const query = new URLSearchParams({ limit: String(ITEMS_PER_LOOK), ...cursor === undefined ? {} : { cursor } })
  const { status, body } = await request(`${url}/api/v1/watching/changes?${query}`, {
    headers: { authorization: `Bearer ${token}` }, timeoutMs: LOOK_WITHIN_MS
  })
  if (status !== 200) throw new Error(`a list of watched changes was answered ${status}: ${body.slice(0, 200)}`)
  const { items, next_cursor: next } = JSON.parse(body)
  return {
    changes: items.map((/** @type {{name: string, revision: number}} */ { name, revision }) =>
      changeOf(name, revision)),
    next: next ?? null
  }
}

/** @param {string} url @param {string} token @returns {Promise<string[]>} all changes of the list, part by part */
export async function wholeList (url, token) {
  /** @type {string[]} */
  const all = []
  /** @type {string | null | undefined} */
  let cursor
  for (let part = 0; part < PARTS_MAX && cursor !== null; part++) {
    const { changes, next } = await look(url, token, cursor)
    all.push(...changes)
    cursor = next
  }
  return all
}

/**
 * Looks into the lists of a few watchers again and again, and notes when each change is first seen.
 * @param {object} options
 * @param {string} options.url
 * @param {{name: string, token: string}[]} options.watchers
 * @param {number} options.everyMs  from the begin of a look to that of the next
 * @param {() => number} [options.nowUs]  since 1970
 */
export function watchFeeds ({ url, watchers, everyMs, nowUs = timeOfDayUs }) {
  const stopping = new AbortController()
  const counts = { looks: 0, failed: 0 }
  const seen = watchers.map(({ name }) => ({ name, at: /** @type {Map<string, number>} */ (new Map()) }))

  /** @param {number} which */
  async function lookOn (which) {
    const { at } = seen[which]
    // Not all at the same moment.
    await sleep(everyMs * which / watchers.length)
    while (!stopping.signal.aborted) {
      const beganMs = performance.now()
      counts.looks += 1
      await look(url, watchers[which].token).then(({ changes }) => {
        const seenUs = nowUs()
        for (const change of changes) if (!at.has(change)) at.set(change, seenUs)
      }, () => { counts.failed += 1 })
      const restMs = Math.max(0, beganMs + everyMs - performance.now())
      await sleep(restMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  const running = Promise.all(watchers.map((_, which) => lookOn(which)))
  return {
    seen,
    counts,
    async stop () {
      stopping.abort()
      await running
    }
  }
}

/** As k6's, from the time of day: a clock that is set during a trial makes that invalid. */
const timeOfDayUs = () => Date.now() * 1000

/** @typedef {ReturnType<typeof watchFeeds>} Feeds */
