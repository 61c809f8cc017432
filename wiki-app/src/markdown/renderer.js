import createError from '@fastify/error'
import { languageNumber } from '../language.js'
import { englishSize } from '../readable.js'
import { CPU_MAX_MS, createAuthorsPool } from '../threads/authors.js'
import { TooCostly } from '../threads/pool.js'
import { createDiagrams } from './draw-diagrams.js'
import { versionIn } from './version.js'

/** @import {Diagrams} from './draw-diagrams.js' */
/** @import {Pool} from '../threads/pool.js' */

const TooLarge = createError(
  'WIKI_PAGE_TOO_LARGE', 'The text is longer than %s, the most that a page may have. Split it into several pages.', 413
)
const TooLargeHtml = createError(
  'WIKI_PAGE_TOO_LARGE',
  'As a page, this text of %s would have %s of HTML, and at most %s are possible. Split it into several pages.',
  413
)
const TooComplicated = createError(
  'WIKI_PAGE_TOO_COMPLICATED',
  'The text is too complicated: making it a page takes more than %s s of processor time. ' +
    'Make it simpler, or split it into several pages.',
  422
)

/** HTML and Markdown share one MongoDB document of at most 16 MiB. */
export const HTML_FACTOR_MAX = 4
/**
 * Ordinary pages have up to 6 times their Markdown, tables of single digits 11 times, coloured JSON 25, headings of one
 * letter 52; reference links reach 330.
 */
const SHORT_HTML_FACTOR_MAX = 56
const SHORT_HTML_BYTES = 65_536

/** Longer texts leave a thread to short ones. */
const SHORT_MAX_BYTES = 65_536

/**
 * `yields`: to short edits; `isPrivate`: a page of a private space.
 * @typedef {{yields?: boolean, isPrivate?: boolean}} RenderOptions
 * @typedef {{contentBytes: number, html: string, links: string[]}} Rendered
 */

/**
 * A slow text delays only its author.
 * @param {{maxBytes: number, cpuMaxMs?: number, pool?: Pool, diagrams?: Diagrams}} options  `maxBytes`: of the Markdown
 */
export function createRenderer ({
  maxBytes, cpuMaxMs = CPU_MAX_MS, pool = createAuthorsPool({ cpuMaxMs }), diagrams = createDiagrams()
}) {
  return {
    version: versionIn(languageNumber()),

    /**
     * @param {string} markdown @param {RenderOptions} [options]
     * @returns {Promise<Rendered>} safe HTML, and canonical names of at most 500 linked pages
     * @throws {Error} 413 when Markdown or HTML is too large, 422 when it takes too long, 503 when the machine is busy
     */
    async render (markdown, { yields = false, isPrivate = false } = {}) {
      const contentBytes = Buffer.byteLength(markdown)
      if (contentBytes > maxBytes) throw new TooLarge(englishSize(maxBytes))
      const htmlMaxBytes = htmlBytesMax(contentBytes, maxBytes)
      const options = { bytes: contentBytes, yields: yields || contentBytes > SHORT_MAX_BYTES }
      const { bytes, html, links } = await diagrams
        .drawn((drawings) => pool.run({ markdown, maxBytes: htmlMaxBytes, drawings, isPrivate }, options))
        .catch((error) => { throw error instanceof TooCostly ? new TooComplicated(cpuMaxMs / 1000) : error })
      if (bytes > htmlMaxBytes) throw new TooLargeHtml(...[contentBytes, bytes, htmlMaxBytes].map(englishSize))
      return { contentBytes, html, links }
    },

    warm: pool.warm,

    async close () {
      await Promise.all([pool.close(), diagrams.close()])
    }
  }
}

/** @typedef {ReturnType<typeof createRenderer>} Renderer */

/** @param {number} contentBytes @param {number} contentMaxBytes */
export const htmlBytesMax = (contentBytes, contentMaxBytes) =>
  Math.min(HTML_FACTOR_MAX * contentMaxBytes, Math.max(SHORT_HTML_BYTES, SHORT_HTML_FACTOR_MAX * contentBytes))
