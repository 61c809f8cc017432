import mongoose from 'mongoose'
import { isAmongTalk } from '../pages/talk.js'

/** @import {Models} from '../pages/model.js' */

/** An index of the sitemap has at most 50 000 parts. https://www.sitemaps.org/protocol.html#index */
export const PARTS_MAX = 50_000
const PAGES_PER_PART = 1_000
/** So long parts keep their limits: they are found by reading the names of all pages. */
const KEPT_MS = 600_000
const READ_MAX_MS = 10_000
/** Existing pages in the order of their names' bytes (pages/model.js). */
const INDEX = 'below'

/** @typedef {{name: string, modifiedAt: Date}} Listed */

/**
 * All pages, in parts by name.
 * @param {Pick<Models, 'Pages'>} models
 * @param {{perPart?: number, keptMs?: number}} [options]  for tests
 */
export function createSitemap ({ Pages }, { perPart = PAGES_PER_PART, keptMs = KEPT_MS } = {}) {
  /** The first names of all parts but the first. @type {{since: number, limits: Promise<string[]>} | null} */
  let kept = null

  /**
   * Reads keys of the index alone: a query for `deleted_at: null` would read each page.
   * @param {string | import('mongodb').MinKey} from @param {number} skip
   * @returns {Promise<string | undefined>}
   */
  async function nameAfter (from, skip) {
    const [found] = await Pages.collection
      .find({}, { projection: { _id: 1 } })
      .hint(INDEX)
      .min({ deleted_at: null, _id: from })
      .max({ deleted_at: null, _id: new mongoose.mongo.MaxKey() })
      .sort({ deleted_at: 1, _id: 1 })
      .skip(skip)
      .limit(1)
      .maxTimeMS(READ_MAX_MS)
      .toArray()
    return /** @type {{_id: string} | undefined} */ (/** @type {unknown} */ (found))?._id
  }

  async function readLimits () {
    const limits = []
    let next = await nameAfter(new mongoose.mongo.MinKey(), perPart)
    while (next !== undefined && limits.length < PARTS_MAX - 1) {
      limits.push(next)
      next = await nameAfter(next, perPart)
    }
    return limits
  }

  function limitsOf () {
    const now = performance.now()
    if (kept === null || now - kept.since > keptMs) {
      const reading = { since: now, limits: readLimits() }
      kept = reading
      reading.limits.catch(() => { if (kept === reading) kept = null })
    }
    return kept.limits
  }

  return {
    /** @returns {Promise<number>} how many parts there are, at least one */
    parts: async () => (await limitsOf()).length + 1,

    /** @param {number} part  from 1 on @returns {Promise<Listed[] | null>} null: there is no such part */
    async pages (part) {
      const limits = await limitsOf()
      if (part > limits.length + 1) return null
      const [from, to] = [limits[part - 2], limits[part - 1]]
      /** @type {{_id: string, modified_at: Date}[]} */
      const pages = await Pages
        .find({
          deleted_at: null,
          _id: mongoose.trusted({ $gte: from ?? '', ...to !== undefined && { $lt: to } })
        }, { modified_at: 1 })
        .sort({ _id: 1 })
        .hint(INDEX)
        // More than at first: pages may have been written since the limits were read.
        .limit(2 * perPart)
        .maxTimeMS(READ_MAX_MS)
        .lean()
        .exec()
      // For people (docs/decisions/0084).
      const read = pages.filter(({ _id }) => !isAmongTalk(_id))
      return read.map(({ _id: name, modified_at: modifiedAt }) => ({ name, modifiedAt }))
    }
  }
}

/** @typedef {ReturnType<typeof createSitemap>} Sitemap */
