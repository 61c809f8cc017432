import { escapeLong, HTML, renderFor } from '../views.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

const FORM = 'application/x-www-form-urlencoded'

/** @typedef {Error & {headers: Record<string, string>, signInUrl: string}} SignInFirst */

/** @param {FastifyRequest} request */
export const isForm = ({ headers }) => headers['content-type']?.split(';', 1)[0].trim().toLowerCase() === FORM

/**
 * A form that was sent without a session is shown to its sender, to be sent again after signing in: a session may have
 * ended while somebody wrote.
 * @param {FastifyRequest} request  its body is parsed @param {FastifyReply} reply
 * @param {SignInFirst} refusal
 */
export async function showAgain (request, reply, { message, headers, signInUrl }) {
  const { content, ...others } = /** @type {Record<string, string | string[]>} */ (request.body ?? {})
  const { pathname, search } = new URL(request.url, 'http://wiki.invalid')
  return reply.code(401).headers({ ...headers, 'cache-control': 'private, no-store' }).type(HTML)
    .send(renderFor(request, 'resend', {
      title: 'Sign in first',
      message,
      action: pathname + search,
      fields: Object.entries(others).flatMap(([name, values]) => [values].flat().map((value) => ({ name, value }))),
      textHtml: typeof content === 'string' ? await escapeLong(content) : null,
      signInUrl
    }))
}
