import { requestAt } from '../../scenarios/plan.js'
import { sizeOf } from '../../scenarios/content.js'
import { pagesNeeded } from '../../scenarios/short-links.js'

/** @typedef {{page: number, sizeChars: number}} SizedPage */

/** Of a short link in the database, its indexes included. */
const LINK_CHARS = 200
/** Of a record in the journal: its collection is dropped after the trial. */
const RECORD_CHARS = 100

/**
 * Tracks the known size of each page in the wiki, so that only missing or different pages are written before a trial.
 * @param {number} seed  of the pages' texts
 */
export function createPageSizes (seed) {
  /** Characters by page. A page without an entry must be written before it is read. @type {Map<number, number>} */
  const sizes = new Map()
  return {
    /**
     * @param {import('./definition.js').Settings} settings
     * @returns {SizedPage[]} pages to write before such a trial
     */
    missing (settings) {
      return Array.from({ length: pagesNeeded(settings) }, (_, page) => ({
        page,
        sizeChars: sizeOf(seed, page, settings.page_size_chars)
      })).filter(({ page, sizeChars }) => sizes.get(page) !== sizeChars)
    },

    /** @param {SizedPage[]} pages */
    wrote (pages) {
      for (const { page, sizeChars } of pages) sizes.set(page, sizeChars)
    },

    /**
     * @param {import('./matrix.js').PlannedTrial} trial  complete or only started
     * @returns {number} characters that its edits wrote, at most
     */
    edited ({ settings, plan: { plan } }) {
      let chars = 0
      // Its database is dropped after the trial.
      if (settings.resource === 'watched-page') return 0
      if (settings.resource === 'record') return plan.edit_ratio * plan.requests * RECORD_CHARS
      for (let index = 0; plan.edit_ratio > 0 && index < plan.requests; index++) {
        const { page, edit } = requestAt(plan, index)
        if (!edit) continue
        if (settings.resource === 'short-link') {
          chars += LINK_CHARS
          continue
        }
        const sizeChars = settings.edit_size_chars ?? sizeOf(seed, page, settings.page_size_chars)
        chars += sizeChars
        if (settings.edit === 'create-get') continue
        // An edit may have failed: a page that it would resize has an unknown size.
        if (sizes.get(page) !== sizeChars) sizes.delete(page)
      }
      return chars
    },

    clear: () => sizes.clear()
  }
}
