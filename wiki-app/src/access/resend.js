import { escapeLong, HTML, renderFor } from '../views.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

const FORM = 'application/x-www-form-urlencoded'

/** @typedef {{title: string, detail: string, requestId: string, signInUrl?: string}} Refusal  for people */

/** @param {FastifyRequest} request */
export const isForm = ({ headers }) => headers['content-type']?.split(';', 1)[0].trim().toLowerCase() === FORM

/**
 * It has a text, or only a session was missing, which may have ended while somebody wrote. A form with passwords
 * (`secret` in the route's config) is never shown again.
 * @param {FastifyRequest} request  its body may not have been read @param {Pick<Refusal, 'signInUrl'>} refusal
 */
export function isWorthKeeping (request, { signInUrl }) {
  if (!isForm(request) || !request.body || isSecret(request)) return false
  return signInUrl !== undefined || typeof fieldsOf(request).content === 'string'
}

/** @param {FastifyRequest} request */
const isSecret = ({ routeOptions }) =>
  /** @type {{secret?: boolean} | undefined} */ (routeOptions?.config)?.secret === true

/**
 * A form that was refused is shown to its sender, to be sent again.
 * @param {FastifyRequest} request @param {FastifyReply} reply  with the status @param {Refusal} refusal
 */
export async function showAgain (request, reply, refusal) {
  const { content, ...others } = fieldsOf(request)
  const { pathname, search } = new URL(request.url, 'http://wiki.invalid')
  return reply.header('cache-control', 'private, no-store').type(HTML).send(renderFor(request, 'resend', {
    ...refusal,
    action: pathname + search,
    fields: Object.entries(others).flatMap(([name, values]) => [values].flat().map((value) => ({ name, value }))),
    textHtml: typeof content === 'string' ? await escapeLong(content) : null
  }))
}

/** @param {FastifyRequest} request */
const fieldsOf = ({ body }) => /** @type {Record<string, string | string[]>} */ (body)
