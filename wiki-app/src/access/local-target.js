import { COUNTER_NAME } from '../counter.js'
import { viewUrl } from '../pages/name.js'
import { SIGN_IN_URL, SIGN_OUT_URL } from './access.js'

/** Addresses that are secrets, or were used: no log may have them in a query. */
const SECRET = /^\/(?:digests|feeds|invitations|edit\/sign-in)\//

/**
 * Parsed as browsers do, so that no redirect leads to another site.
 * @param {string} [to]  from a form or a query @returns {string} path and query, in ASCII
 */
export function localTarget (to = '/') {
  const base = 'http://wiki.invalid'
  if (!to.startsWith('/') || !URL.canParse(to, base)) return '/'
  const { origin, pathname, search } = new URL(to, base)
  // `//` begins a host. Reading the counter resets it.
  const isHere = origin === base && !pathname.startsWith('//') &&
    ![SIGN_IN_URL, SIGN_OUT_URL, viewUrl(COUNTER_NAME)].includes(pathname) && !SECRET.test(pathname)
  return isHere ? pathname + search : '/'
}

/**
 * Only documents for one person can say whose name the browser shall show.
 * @param {string} to  of `localTarget` @param {boolean} closed  reading takes a role: every document is for one person
 */
export const afterSignIn = (to, closed) =>
  closed || to.startsWith('/edit/') ? to : `${SIGN_IN_URL}?${new URLSearchParams({ to })}`
