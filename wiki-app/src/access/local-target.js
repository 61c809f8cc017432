import { COUNTER_NAME } from '../counter.js'
import { SIGN_IN_URL, SIGN_OUT_URL } from './access.js'

/** Addresses that are secrets, or were used: no log may have them in a query. */
const SECRET = /^\/(?:digests|feeds|invitations|edit\/sign-in)\//

const PAGES = '/wiki/'

/**
 * Parsed as browsers do, so that no redirect leads to another site.
 * @param {string} [to]  from a form or a query @returns {string} path and query, in ASCII
 */
export function localTarget (to = '/') {
  const base = 'http://wiki.invalid'
  if (!to.startsWith('/') || !URL.canParse(to, base)) return '/'
  const { origin, pathname, search } = new URL(to, base)
  // `//` begins a host.
  return origin === base && !pathname.startsWith('//') && isTarget(pathname) ? pathname + search : '/'
}

/** The router decodes the path, too. @param {string} pathname */
function isTarget (pathname) {
  let path
  try {
    path = decodeURIComponent(pathname)
  } catch {
    return false
  }
  // Reading the counter resets it; blanks around a page's name lead to it without them.
  const isCounter = path.startsWith(PAGES) && path.slice(PAGES.length).trim() === COUNTER_NAME
  return !isCounter && path !== SIGN_IN_URL && path !== SIGN_OUT_URL && !SECRET.test(path)
}

/**
 * Only documents for one person can say whose name the browser shall show.
 * @param {string} to  of `localTarget` @param {boolean} closed  reading takes a role: every document is for one person
 */
export const afterSignIn = (to, closed) =>
  closed || to.startsWith('/edit/') ? to : `${SIGN_IN_URL}?${new URLSearchParams({ to })}`
