import { setTimeout as delay } from 'node:timers/promises'
import { pageText } from '../../scenarios/content.js'
import { pageName } from '../../scenarios/plan.js'
import { request } from '@stevec/harness/request'

/** So many share one flush of the database's journal; more wait for the wiki's one processor. */
const CONCURRENCY = 16
/** Silence for longer than this looks like a hang. */
const PROGRESS_EVERY_MS = 10_000
/**
 * Each is durable before it is answered, and a slow disk makes the last of many wait for all before it; with the first, a wiki loads what it needs for writing,
 * which took an emulated board over a minute on a machine that was busy.
 */
export const WRITE_TIMEOUT_MS = 300_000
/** A wiki that limits writes lets the next ones through within a minute, and one that takes its database for silent, as a starved one does, finds it again sooner. */
const REFUSALS_MAX = 10

/** The message says what the wiki said. */
export class PageRefused extends Error {
  /** @param {string} name @param {number} status @param {string} body */
  constructor (name, status, body) {
    super(`the wiki refused ${name} with ${status}: ${body}`)
    this.status = status
  }
}

/**
 * Writes pages into the wiki.
 * @param {object} options
 * @param {string} options.wikiUrl
 * @param {number} options.seed
 * @param {{page: number, sizeChars: number}[]} options.pages
 * @param {AbortSignal} options.signal
 * @param {(retryAfterS: number) => Promise<void>} [options.onLimit]  when the wiki has had enough for now (429); the page is then tried again
 * @param {(written: number, of: number) => void} [options.onProgress]  now and then, where it takes long
 * @throws {PageRefused}
 */
export async function writePages ({ wikiUrl, seed, pages, signal, onLimit, onProgress = () => {} }) {
  let next = 0
  let saidAt = performance.now()
  const writer = async () => {
    while (next < pages.length) {
      const { page, sizeChars } = pages[next++]
      for (let refusals = 0; ; refusals++) {
        signal.throwIfAborted()
        const { status, headers, body } = await request(`${wikiUrl}/wiki/${pageName(page)}`, {
          method: 'POST', headers: { 'content-type': 'text/markdown' }, body: pageText(seed, page, sizeChars), timeoutMs: WRITE_TIMEOUT_MS
        })
        if (status === 201 || status === 200) break
        const retryAfterS = Number(headers['retry-after']) || 1
        const wait = status === 503 ? () => delay(1000 * retryAfterS, undefined, { signal }) : status === 429 && onLimit !== undefined ? () => onLimit(retryAfterS) : null
        if (wait === null || refusals === REFUSALS_MAX) throw new PageRefused(pageName(page), status, body)
        await wait()
      }
      if (performance.now() - saidAt < PROGRESS_EVERY_MS) continue
      saidAt = performance.now()
      onProgress(next, pages.length)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, writer))
}
