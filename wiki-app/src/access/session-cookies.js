/** @typedef {import('@fastify/cookie').CookieSerializeOptions} Attributes */

/**
 * The cookie of a session, with another name for each of its paths: a browser that has both of one name sends the one
 * of the longer path first. Over https the prefixes bar pages loaded over plain http from setting it (RFC 6265bis
 * §4.1.3).
 *
 * While everybody reads, it is sent to /edit alone, so pages stay the same for everybody; SameSite=Strict costs
 * nothing, as links from other sites lead to pages. Where reading takes a role, it is sent everywhere, and also when a
 * link in a mail leads to a page (Lax). Unsafe methods from other sites are refused in any case (http/same-origin.js).
 * @param {{secure: boolean, closed: boolean}} options
 * @returns {{name: string, attributes: Attributes, former: {name: string, attributes: Attributes}}} `former`: the one
 *   that this browser has from before READ_ACCESS changed
 */
export function sessionCookies ({ secure, closed }) {
  const common = { httpOnly: true, secure }
  const ofEdit = {
    name: secure ? '__Secure-session' : 'session',
    attributes: { path: '/edit', ...common, sameSite: /** @type {const} */ ('strict') }
  }
  const ofAll = {
    name: secure ? '__Host-session' : 'session-of-reader',
    attributes: { path: '/', ...common, sameSite: /** @type {const} */ ('lax') }
  }
  return closed ? { ...ofAll, former: ofEdit } : { ...ofEdit, former: ofAll }
}
