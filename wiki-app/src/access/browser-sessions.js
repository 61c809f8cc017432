import { cookieIn, sessionCookie } from './access.js'
import { SESSION_S } from './sessions.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Sessions} from './sessions.js' */

/**
 * A session in a browser's cookie. Pages stay the same for everybody, as its path is /edit. SameSite=Strict costs
 * nothing: links from other sites lead to pages.
 * @param {{sessions: Sessions, secure: boolean}} options
 */
export function createBrowserSessions ({ sessions, secure }) {
  const name = sessionCookie(secure)
  const attributes = { path: '/edit', httpOnly: true, sameSite: /** @type {const} */ ('strict'), secure }

  return {
    attributes,

    /** @param {FastifyRequest} request */
    tokenIn: (request) => cookieIn(request, name),

    /**
     * Always a new one: an attacker may have planted a token in this browser.
     * @param {FastifyReply} reply @param {import('./users.js').User} user
     * @param {string | undefined} before  the browser's token until now, which ends
     */
    async begin (reply, user, before) {
      if (before !== undefined) await sessions.end(before)
      reply.setCookie(name, await sessions.begin(user), { ...attributes, maxAge: SESSION_S })
    },

    /** @param {FastifyRequest} request @param {FastifyReply} reply */
    async end (request, reply) {
      const token = cookieIn(request, name)
      if (token !== undefined) await sessions.end(token)
      reply.clearCookie(name, attributes)
    }
  }
}
