import { requestAt } from '../../scenarios/plan.js'
import { sizeOf } from '../../scenarios/content.js'

/** @typedef {{page: number, sizeChars: number}} SizedPage */

/**
 * How large each page of the wiki is now, as far as is known: what a trial finds otherwise is written before it.
 * @param {number} seed  of what pages say
 */
export function createPageSizes (seed) {
  /** Characters; a page that is not in it has to be written before it is read. @type {Map<number, number>} */
  const sizes = new Map()
  return {
    /**
     * @param {import('./definition.js').Settings} settings
     * @returns {SizedPage[]} what such a trial needs written
     */
    missing (settings) {
      return Array.from({ length: settings.pages }, (_, page) => ({ page, sizeChars: sizeOf(seed, page, settings.page_size_chars) }))
        .filter(({ page, sizeChars }) => sizes.get(page) !== sizeChars)
    },

    /** @param {SizedPage[]} pages */
    wrote (pages) {
      for (const { page, sizeChars } of pages) sizes.set(page, sizeChars)
    },

    /**
     * @param {import('./matrix.js').PlannedTrial} trial  that was done, or begun
     * @returns {number} characters that its edits wrote, at most
     */
    edited ({ settings, plan: { plan } }) {
      let chars = 0
      for (let index = 0; plan.edit_ratio > 0 && index < plan.requests; index++) {
        const { page, edit } = requestAt(plan, index)
        if (!edit) continue
        const sizeChars = settings.edit_size_chars ?? sizeOf(seed, page, settings.page_size_chars)
        chars += sizeChars
        // Whether an edit came through is not asked: a page whose size may be another is not known.
        if (sizes.get(page) !== sizeChars) sizes.delete(page)
      }
      return chars
    },

    clear: () => sizes.clear()
  }
}
