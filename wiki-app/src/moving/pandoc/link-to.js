import { pageName } from '../../markdown/page-address.js'
import { slugOf } from '../../markdown/slug.js'
import { viewUrl } from '../../pages/name.js'

/** @import {Answer} from './converter.js' */

/** What `[[…]]` has no place for. */
const IN_NO_WIKI_LINK = /[[\]|#\n]/
const SECTION_MAX_CHARS = 500

/**
 * @param {string} name  of a page here; '' for the same page @param {string} section  '' for none
 * @returns {Answer} leads nowhere when no page can have the name
 */
export function linkTo (name, section) {
  const canonical = name === '' ? '' : pageName(name)
  if (canonical === null || (canonical === '' && section === '')) return {}
  const fragment = section === '' ? '' : `#${slugOf(section)}`
  const href = `${canonical === '' ? '' : viewUrl(canonical)}${fragment}`
  if (IN_NO_WIKI_LINK.test(canonical + section) || section.length > SECTION_MAX_CHARS) return { href }
  return { page: section === '' ? canonical : `${canonical}#${section}`, href }
}
