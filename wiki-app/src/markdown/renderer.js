import createError from '@fastify/error'
import { Piscina } from 'piscina'
import { RENDERER_VERSION } from './version.js'

const TooLarge = createError('WIKI_PAGE_TOO_LARGE', 'The page would have %d bytes of %s; at most %d are possible.', 413)
const TooComplicated = createError('WIKI_PAGE_TOO_COMPLICATED', 'The text is too complicated: it could not be made a page in %s s. Make it simpler, or split it into several pages.', 422)
const TooMany = createError('WIKI_RENDERER_BUSY', 'Too many long texts are being saved at once. Try again in a moment.', 429)

/** Markup outweighs the text only in pages that are made to do harm; ordinary ones stay below twice their Markdown. */
export const HTML_FACTOR_MAX = 4
/** With the first text that is written, not when the wiki starts: it mostly reads, and this is a fifth of all there is to load. */
const loadToHtml = async () => (await import('./html.js')).default
/** What takes longer than a few milliseconds goes to another thread. */
const HERE_MAX_BYTES = 8_192
const DEADLINE_MS = 5_000
const POOL = {
  filename: new URL('html.js', import.meta.url).href,
  minThreads: 0,
  maxThreads: 2,
  idleTimeout: 30_000,
  resourceLimits: { maxOldGenerationSizeMb: 512 }
}
/** Being rendered or waiting for it. Piscina's own limit does not count tasks that can be given up. */
const ELSEWHERE_MAX = 32
const RETRY_AFTER_S = 2

/** @typedef {{contentBytes: number, html: string, links: string[]}} Rendered */

/**
 * Makes HTML of Markdown: short texts at once, longer ones in other threads, so that nobody else waits for them.
 * @param {object} options
 * @param {number} options.maxBytes  of the Markdown; the HTML may have four times as many
 * @param {number} [options.deadlineMs]  for a longer text, waiting included
 */
export function createRenderer ({ maxBytes, deadlineMs = DEADLINE_MS }) {
  /** @type {Piscina | undefined} */
  let pool
  let elsewhereNow = 0

  /** @param {{markdown: string, maxBytes: number}} task */
  async function elsewhere (task) {
    if (elsewhereNow === ELSEWHERE_MAX) throw Object.assign(new TooMany(), { headers: { 'retry-after': String(RETRY_AFTER_S) } })
    elsewhereNow++
    pool ??= new Piscina(POOL)
    try {
      return await pool.run(task, { signal: AbortSignal.timeout(deadlineMs) })
    } catch (error) {
      const { name, code } = /** @type {Error & {code?: string}} */ (error)
      if (name === 'AbortError' || code === 'ERR_WORKER_OUT_OF_MEMORY') throw new TooComplicated(deadlineMs / 1000)
      throw error
    } finally {
      elsewhereNow--
    }
  }

  return {
    version: RENDERER_VERSION,

    /**
     * @param {string} markdown
     * @returns {Promise<Rendered>} HTML that is safe to show, and the canonical names of the pages that it leads to, at most 500
     * @throws {Error} 413 when either is too large, 422 when it takes too long, 429 when too many others are waiting
     */
    async render (markdown) {
      const contentBytes = limit(Buffer.byteLength(markdown), maxBytes, 'Markdown')
      const task = { markdown, maxBytes: HTML_FACTOR_MAX * maxBytes }
      const { bytes, html, links } = contentBytes <= HERE_MAX_BYTES ? (await loadToHtml())(task) : await elsewhere(task)
      limit(bytes, task.maxBytes, 'HTML')
      return { contentBytes, html, links }
    },

    /** Gives up what is being rendered. */
    async close () {
      await pool?.destroy()
    }
  }
}

/** @typedef {ReturnType<typeof createRenderer>} Renderer */

/**
 * @param {number} bytes
 * @param {number} maxBytes
 * @param {string} what
 */
function limit (bytes, maxBytes, what) {
  if (bytes > maxBytes) throw new TooLarge(bytes, what, maxBytes)
  return bytes
}
