import { sendRevalidated } from '../http/send-revalidated.js'
import { writeCursor } from './cursor.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {TagOf} from '../pages/preconditions.js' */

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Changes with the format, so that older copies are not revalidated. */
const FORM_OF_PAGE = 1

/** Strong: with the name it determines all that the API shows. @type {TagOf} */
export const pageTag = ({ revision }) => `"v${FORM_OF_PAGE}-${revision}"`

/**
 * @template T @param {T[]} all  a list that is short enough to be read as a whole @param {(item: T) => string} keyOf
 * @param {{after?: string, limit: number}} part @returns {{items: T[], more: boolean}} by key
 */
export function partOf (all, keyOf, { after = '', limit }) {
  const rest = all.filter((item) => keyOf(item) > after).sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)
  return { items: rest.slice(0, limit), more: rest.length > limit }
}

/**
 * @template T @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{cacheControl: string, found: {items: T[], more: boolean}, shown: (item: T) => object, position: (item: T) =>
 *   string | number, others?: object}} answer  `position`: of an item in the list; `others`: fields beside the list
 */
export function sendPart (request, reply, { cacheControl, found: { items, more }, shown, position, others = {} }) {
  const next = more ? writeCursor(request, position(items[items.length - 1])) : null
  const write = /** @type {(answer: object) => string} */ (reply.getSerializationFunction('200', 'application/json'))
  return sendRevalidated(request, reply, {
    cacheControl,
    type: JSON_TYPE,
    body: write({ items: items.map(shown), next_cursor: next, ...others })
  })
}
