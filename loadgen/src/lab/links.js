import { setTimeout as delay } from 'node:timers/promises'
import {
  linkedPage, linkId, linkPath, LINKS_OF_EACH, newLinkedPage, pagesOfLinks
} from '../../scenarios/short-links.js'
import { request } from '@stevec/harness/request'
import { WRITE_TIMEOUT_MS, writePages } from './pages.js'

/** As for pages: this many writes share one flush of the database's journal. */
const CONCURRENCY = 16
/** A starved wiki that believes its database silent recovers sooner. */
const REFUSALS_MAX = 10
/** A longer silence looks like a hang. */
const PROGRESS_EVERY_MS = 10_000

/**
 * @param {string} page  name
 * @returns {{method: string, headers: Record<string, string>, body: string}}  of the request that makes a short link
 */
export const linkTo = (page) => ({
  method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ page })
})

/**
 * Makes a short link, or finds it made.
 * @param {string} wikiUrl
 * @param {string} id
 * @param {string} page  name
 * @param {AbortSignal} signal
 * @throws {Error} with the wiki's response, when it refuses
 */
export async function writeShortLink (wikiUrl, id, page, signal) {
  for (let refusals = 0; ; refusals++) {
    signal.throwIfAborted()
    const url = `${wikiUrl}${linkPath('PUT', id)}`
    const { status, headers, body } = await request(url, { ...linkTo(page), timeoutMs: WRITE_TIMEOUT_MS })
    if (status === 201 || status === 200) return
    if (status !== 503 || refusals === REFUSALS_MAX) {
      throw new Error(`the wiki refused the short link ${id} with ${status}: ${body}`)
    }
    await delay(1000 * (Number(headers['retry-after']) || 1), undefined, { signal })
  }
}

const TARGET_CHARS = 100

/**
 * Writes the pages to which the new links of a trial, or of a warm-up, lead: a page can have only so many.
 * @param {object} options
 * @param {string} options.wikiUrl
 * @param {string} options.mark
 * @param {number} options.links  at most
 * @param {AbortSignal} options.signal
 * @throws {import('./pages.js').PageRefused}
 */
export async function writeTargets ({ wikiUrl, mark, links, signal }) {
  const pages = Array.from({ length: pagesOfLinks(links) }, (_, page) => ({ page, sizeChars: TARGET_CHARS }))
  await writePages({ wikiUrl, seed: 0, pages, nameOf: (page) => newLinkedPage(mark, page), signal })
}

/** Writes the short links that trials read, each once while a database lives. */
export function createShortLinks () {
  let written = 0
  return {
    /**
     * @param {Pick<import('./settings.js').Settings, 'resource' | 'pages'>} settings
     * @returns {boolean} whether `write` has something to do
     */
    areMissing: ({ resource, pages }) => resource === 'short-link' && written < pages,

    /**
     * @param {object} options
     * @param {string} options.wikiUrl
     * @param {Pick<import('./settings.js').Settings, 'resource' | 'pages'>} options.settings
     * @param {AbortSignal} options.signal
     * @param {(written: number, of: number, what: string) => void} [options.onProgress]  at most every 10 seconds
     * @returns {Promise<number>} links written
     * @throws {Error} when the wiki refuses one
     */
    async write ({ wikiUrl, settings: { resource, pages: links }, signal, onProgress = () => {} }) {
      if (resource !== 'short-link' || links <= written) return 0
      const missing = inTurns(links).filter((link) => link >= written)
      let next = 0
      let saidAt = performance.now()
      const over = new AbortController()
      const either = AbortSignal.any([signal, over.signal])
      const writer = async () => {
        while (next < missing.length) {
          const link = missing[next++]
          await writeShortLink(wikiUrl, linkId(link), linkedPage(link), either)
          if (performance.now() - saidAt < PROGRESS_EVERY_MS) continue
          saidAt = performance.now()
          onProgress(next, missing.length, 'short link')
        }
      }
      try {
        await Promise.all(Array.from({ length: CONCURRENCY }, writer))
      } finally {
        // After a refusal, the other writers end, too.
        over.abort()
      }
      written = links
      return missing.length
    },

    clear () { written = 0 }
  }
}

/**
 * @param {number} links
 * @returns {number[]} all links, each page's in turn with those of other pages: two at once of one page would conflict
 */
const inTurns = (links) => Array.from({ length: LINKS_OF_EACH }, (_, turn) =>
  Array.from({ length: pagesOfLinks(links) }, (_, page) => page * LINKS_OF_EACH + turn))
  .flat().filter((link) => link < links)
