import { sendRevalidated } from '../http/send-revalidated.js'
import { writeCursor } from './cursor.js'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** The form in which a page is shown: another number for each other form, so that no copy of the old one is confirmed. */
const FORM_OF_PAGE = 1

/**
 * A strong validator: everything that the API shows of a page follows from its name and this.
 * @type {import('../pages/preconditions.js').TagOf}
 */
export const pageTag = ({ revision }) => `"v${FORM_OF_PAGE}-${revision}"`

/**
 * One part of a list.
 * @template T
 * @param {import('fastify').FastifyRequest} request
 * @param {import('fastify').FastifyReply} reply
 * @param {object} answer
 * @param {string} answer.cacheControl
 * @param {{items: T[], more: boolean}} answer.found
 * @param {(item: T) => object} answer.shown
 * @param {(item: T) => string | number} answer.position  of an item in the list
 */
export function sendPart (request, reply, { cacheControl, found: { items, more }, shown, position }) {
  const next = more ? writeCursor(request, position(items[items.length - 1])) : null
  const write = /** @type {(answer: object) => string} */ (reply.getSerializationFunction('200', 'application/json'))
  return sendRevalidated(request, reply, { cacheControl, type: JSON_TYPE, body: write({ items: items.map(shown), next_cursor: next }) })
}
