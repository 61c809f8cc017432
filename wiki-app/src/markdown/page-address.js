import { viewUrl, writableName } from '../pages/name.js'

/** Relative addresses resolve as on a page without a slash in its name. */
const BASE = 'http://wiki.invalid/wiki/'
const PAGES = '/wiki/'
const NOT_RELATIVE = /^(?:[a-z][a-z\d+.-]*:|\/\/|[#?]|$)/i

/** @param {string} raw @returns {string | null} the canonical name; null when no page can have it */
export function pageName (raw) {
  try {
    return writableName(raw)
  } catch {
    return null
  }
}

/** @param {string} href */
export function resolveAddress (href) {
  if (NOT_RELATIVE.test(href) || !URL.canParse(href, BASE)) return { href, name: null }
  const { pathname, search, hash } = new URL(href, BASE)
  const name = pathname.startsWith(PAGES) ? pageName(decoded(pathname.slice(PAGES.length))) : null
  return { href: `${name === null ? pathname : viewUrl(name)}${search}${hash}`, name }
}

/** @param {string} part @returns {string} '' when it is not valid percent-encoded UTF-8 */
function decoded (part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
