import { counted } from '../readable.js'
import { SearchUnavailable } from '../words/errors.js'

/** @import {Freshness} from '../words/words.js' */
/** @import {TextHit} from './search.js' */

/** @param {Freshness} freshness @returns {string} what a list of hits may leave out; '' for nothing */
export function freshnessNotice ({ building, behindMs, problem }) {
  if (problem !== null) return `Newer texts are not found now: ${problem}.`
  if (building) return 'The words of all pages are being indexed. Until that is done, not every page is found.'
  return behindMs === 0 ? '' : `Texts of the last ${counted(Math.ceil(behindMs / 1000), 'second')} are not found yet.`
}

/**
 * The same for programs.
 * @param {Freshness} freshness
 */
export const freshnessOf = ({ building, behindMs, problem }) => ({
  state: problem !== null ? 'failing' : building ? 'building' : behindMs > 0 ? 'behind' : 'current',
  behind_s: behindMs / 1000
})

/**
 * Titles are found without the index of words, too.
 * @param {any} error
 * @returns {{items: TextHit[], more: boolean, ranked: boolean, unavailable: string}} @throws what else went wrong
 */
export function noTexts (error) {
  if (!(error instanceof SearchUnavailable)) throw error
  return { items: [], more: false, ranked: true, unavailable: error.message }
}
