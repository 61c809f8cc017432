import { sayError } from '../say-error.js'
import { t } from '../language.js'
import { SearchUnavailable } from '../words/errors.js'

/** @import {Freshness} from '../words/words.js' */
/** @import {TextHit} from './search.js' */

/** @param {Freshness} freshness @returns {string} what a list of hits may leave out; '' for nothing */
export function freshnessNotice ({ building, behindMs, problem }) {
  if (problem !== null) return t('Newer texts are not found now: {{problem}}.', { problem })
  if (building) return t('The words of all pages are being indexed. Until that is done, not every page is found.')
  return behindMs === 0
    ? ''
    : t('Texts of the last {{count}} seconds are not found yet.', { count: Math.ceil(behindMs / 1000) })
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
 * @returns {{items: TextHit[], forms: string[], suggestion: null, more: boolean, ranked: boolean,
 *   unavailable: string}}
 * @throws what else went wrong
 */
export function noTexts (error) {
  if (!(error instanceof SearchUnavailable)) throw error
  return { items: [], forms: [], suggestion: null, more: false, ranked: true, unavailable: sayError(error.message) }
}
