import { pageText } from '../../scenarios/content.js'
import { pageName } from '../../scenarios/plan.js'
import { request } from '../stack/doors.js'

/** So many share one flush of the database's journal; more wait for the wiki's one processor. */
const CONCURRENCY = 16
/** Silence for longer than this looks like a hang. */
const PROGRESS_EVERY_MS = 10_000
/** Each is durable before it is answered, and a slow disk makes the last of many wait for all before it. */
const TIMEOUT_MS = 60_000

/**
 * Writes pages into the wiki.
 * @param {object} options
 * @param {string} options.wikiUrl
 * @param {number} options.seed
 * @param {{page: number, sizeChars: number}[]} options.pages
 * @param {AbortSignal} options.signal
 * @param {(written: number, of: number) => void} [options.onProgress]  now and then, where it takes long
 * @throws {Error} when the wiki refuses one
 */
export async function writePages ({ wikiUrl, seed, pages, signal, onProgress = () => {} }) {
  let next = 0
  let saidAt = performance.now()
  const writer = async () => {
    while (next < pages.length) {
      signal.throwIfAborted()
      const { page, sizeChars } = pages[next++]
      const { status, body } = await request(`${wikiUrl}/wiki/${pageName(page)}`, {
        method: 'POST', headers: { 'content-type': 'text/markdown' }, body: pageText(seed, page, sizeChars), timeoutMs: TIMEOUT_MS
      })
      if (status !== 201 && status !== 200) throw new Error(`the wiki refused ${pageName(page)} with ${status}: ${body}`)
      if (performance.now() - saidAt < PROGRESS_EVERY_MS) continue
      saidAt = performance.now()
      onProgress(next, pages.length)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, writer))
}
