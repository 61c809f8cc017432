import createError from '@fastify/error'
import { hashOf } from '../http/hash.js'

/** @import {FastifyRequest} from 'fastify' */

const InvalidCursor = createError(
  'WIKI_INVALID_CURSOR',
  'This cursor is not one of this list. Take the “next_cursor” of the list’s last part as it is, ' +
    'or leave the cursor out to begin anew.',
  400
)

/** Any name or tag: lists treat it as text. */
export const ANY = /^[^]{1,1000}$/u

/**
 * The seal has no secret: `readCursor` returns untrusted input.
 * @param {FastifyRequest} request @param {string | number} position
 */
export function writeCursor (request, position) {
  const text = String(position)
  return `${Buffer.from(text).toString('base64url')}.${sealOf(request, text)}`
}

/** @param {FastifyRequest} request @returns {number} of items */
export const limitIn = ({ query }) => /** @type {{limit: number}} */ (query).limit

/**
 * @param {FastifyRequest} request @param {RegExp} form  of a position
 * @returns {string | undefined} the position; undefined: the start of the list
 * @throws {Error} 400
 */
export function readCursor (request, form) {
  const { cursor } = /** @type {{cursor?: string}} */ (request.query)
  if (cursor === undefined) return undefined
  const [encoded, seal] = cursor.split('.')
  const position = Buffer.from(encoded, 'base64url').toString()
  if (seal !== sealOf(request, position) || !form.test(position)) throw new InvalidCursor()
  return position
}

/** @param {FastifyRequest} request @param {string} position */
function sealOf ({ routeOptions, params, query }, position) {
  const { cursor, limit, ...list } = /** @type {Record<string, unknown>} */ (query)
  return hashOf(JSON.stringify([routeOptions.url, params, list, position]))
}
