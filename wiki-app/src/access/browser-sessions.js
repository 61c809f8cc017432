import { cookieIn } from './access.js'
import { sessionCookies } from './session-cookies.js'
import { SESSION_S } from './sessions.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Sessions} from './sessions.js' */

/**
 * Sessions in the cookies of browsers.
 * @param {{sessions: Sessions, secure: boolean, closed: boolean}} options  `closed`: reading takes a role
 */
export function createBrowserSessions ({ sessions, secure, closed }) {
  const { name, attributes, former } = sessionCookies({ secure, closed })

  /** @param {FastifyRequest} request  its former cookie's token, too */
  const tokensIn = (request) => [name, former.name].flatMap((each) => cookieIn(request, each) ?? [])

  return {
    attributes,
    tokensIn,

    /**
     * Always a new one: an attacker may have planted a token in this browser.
     * @param {FastifyReply} reply @param {import('./users.js').User} user
     * @param {string[]} before  the browser's tokens until now, which end
     */
    async begin (reply, user, before) {
      for (const token of before) await sessions.end(token)
      reply.setCookie(name, await sessions.begin(user), { ...attributes, maxAge: SESSION_S })
    },

    /** @param {FastifyRequest} request @param {FastifyReply} reply */
    async end (request, reply) {
      for (const token of tokensIn(request)) await sessions.end(token)
      reply.clearCookie(name, attributes)
      if (cookieIn(request, former.name) !== undefined) reply.clearCookie(former.name, former.attributes)
    }
  }
}
