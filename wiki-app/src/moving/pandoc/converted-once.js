import { LRUCache } from 'lru-cache'

/** @import {Outcome} from './pandoc.js' */

/** Of a page, whose revisions are converted one after another. */
const MAX_CHARS = 2_097_152
/** Of an entry, besides its texts. */
const ENTRY_CHARS = 200

/** Texts of one page, or sections of them, that are being converted or were: most revisions have most of them. */
export class ConvertedOnce {
  /** @type {LRUCache<string, Promise<Outcome | null>>} */
  #known = new LRUCache({ maxSize: MAX_CHARS })

  /** @param {string} text */
  has (text) { return this.#known.has(text) }

  /**
   * @param {string} text @param {() => Promise<Outcome | null>} convert  null: it is not, and may be another time
   * @returns {Promise<Outcome | null>}
   */
  of (text, convert) {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const converting = convert()
    const keep = (/** @type {number} */ chars) => { this.#known.set(text, converting, { size: chars + ENTRY_CHARS }) }
    keep(text.length)
    converting.then((outcome) => {
      if (outcome === null) this.#known.delete(text)
      else if (this.#known.has(text)) keep(text.length + outcome.converted.content.length)
    }, () => { this.#known.delete(text) })
    return converting
  }
}
