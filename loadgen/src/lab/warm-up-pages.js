import { editText, largestOf, pageText, sizeOf } from '../../scenarios/content.js'

/** Pages of their own: a warm-up changes no page of a trial. */
export const WARM_UP_PAGES = 10
/** A longer text takes more time, but runs no other code. */
const EDIT_MAX_CHARS = 20_000

/** @param {number} index  any; pages repeat */
export const warmUpPageName = (index) => `warm-up-${index % WARM_UP_PAGES + 1}`

/**
 * Creates edits of the warm-up's pages with the texts and sizes that a trial's edits have. All texts differ, because
 * saving an unchanged text is no edit.
 * @param {number} seed  of the texts
 */
export function createWarmUpEdits (seed) {
  let made = 0
  return {
    /**
     * @param {Pick<import('./definition.js').Settings, 'edit_size_chars' | 'page_size_chars'>} settings
     * @returns {() => {name: string, text: string}} the next edit
     */
    like ({ edit_size_chars: editSize, page_size_chars: pageSize }) {
      const size = editSize ?? pageSize
      const base = pageText(seed, 0, Math.min(EDIT_MAX_CHARS, largestOf(size)))
      return () => {
        const sizeChars = Math.min(EDIT_MAX_CHARS, sizeOf(seed, made, size))
        const name = warmUpPageName(made)
        made += 1
        return { name, text: editText(base, `warm${made}`, sizeChars) }
      }
    }
  }
}
