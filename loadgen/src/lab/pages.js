import { pageText } from '../../scenarios/content.js'
import { pageName } from '../../scenarios/plan.js'
import { request } from '../stack/doors.js'

const CONCURRENCY = 4
/** Each is durable before it is answered, and a slow disk makes the last of many wait for all before it. */
const TIMEOUT_MS = 60_000

/**
 * Writes pages into the wiki.
 * @param {object} options
 * @param {string} options.wikiUrl
 * @param {number} options.seed
 * @param {{page: number, sizeChars: number}[]} options.pages
 * @param {AbortSignal} options.signal
 * @throws {Error} when the wiki refuses one
 */
export async function writePages ({ wikiUrl, seed, pages, signal }) {
  let next = 0
  const writer = async () => {
    while (next < pages.length) {
      signal.throwIfAborted()
      const { page, sizeChars } = pages[next++]
      const { status, body } = await request(`${wikiUrl}/wiki/${pageName(page)}`, {
        method: 'POST', headers: { 'content-type': 'text/markdown' }, body: pageText(seed, page, sizeChars), timeoutMs: TIMEOUT_MS
      })
      if (status !== 201 && status !== 200) throw new Error(`the wiki refused ${pageName(page)} with ${status}: ${body}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, writer))
}
