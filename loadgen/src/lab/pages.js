import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { pageText } from '../../scenarios/content.js'
import { pageName } from '../../scenarios/plan.js'
import { request } from '@stevec/harness/request'

/** This many writes share one flush of the database's journal; more would wait for the wiki's single processor. */
const CONCURRENCY = 16
/** A longer silence looks like a hang. */
const PROGRESS_EVERY_MS = 10_000
/**
 * A write is durable before the wiki responds, so on a slow disk the last of many writes waits for all before it. On
 * the first write, the wiki loads what it needs for writing: over a minute on an emulated board on a busy machine.
 */
export const WRITE_TIMEOUT_MS = 300_000
/**
 * A wiki that limits writes accepts the next ones within a minute. A starved wiki that believes its database silent
 * recovers sooner.
 */
const REFUSALS_MAX = 10

/** The message has the wiki's response. */
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
 * @param {(page: number) => string} [options.nameOf]
 * @param {number[]} [options.accepted]  statuses of a page that was written, or will be
 * @param {AbortSignal} options.signal
 * @param {(retryAfterS: number) => Promise<void>} [options.onLimit]  on a 429; the write is retried when it resolves
 * @param {(written: number, of: number) => void} [options.onProgress]  at most every 10 seconds
 * @throws {PageRefused}
 */
export async function writePages (
  { wikiUrl, seed, pages, nameOf = pageName, accepted = [200, 201], signal, onLimit, onProgress = () => {} }
) {
  let next = 0
  let saidAt = performance.now()
  // Each writer may wait at the same moment, and Node would warn of a leak.
  const waiting = AbortSignal.any([signal])
  setMaxListeners(CONCURRENCY, waiting)
  const writer = async () => {
    while (next < pages.length) {
      const { page, sizeChars } = pages[next++]
      for (let refusals = 0; ; refusals++) {
        signal.throwIfAborted()
        const { status, headers, body } = await request(`${wikiUrl}/wiki/${nameOf(page)}`, {
          method: 'POST',
          headers: { 'content-type': 'text/markdown' },
          body: pageText(seed, page, sizeChars),
          timeoutMs: WRITE_TIMEOUT_MS
        })
        if (accepted.includes(status)) break
        const retryAfterS = Number(headers['retry-after']) || 1
        const wait = status === 503
          ? () => delay(1000 * retryAfterS, undefined, { signal: waiting })
          : status === 429 && onLimit !== undefined
            ? () => onLimit(retryAfterS)
            : null
        if (wait === null || refusals === REFUSALS_MAX) throw new PageRefused(nameOf(page), status, body)
        await wait()
      }
      if (performance.now() - saidAt < PROGRESS_EVERY_MS) continue
      saidAt = performance.now()
      onProgress(next, pages.length)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, writer))
}
