import { Readable } from 'node:stream'
import createError from '@fastify/error'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

const NoBody = createError('WIKI_NO_BODY', '%s', 400)
const OtherBody = createError('WIKI_OTHER_BODY', '%s', 415)

/**
 * @typedef {{required?: string[], properties?: object, nullable?: boolean, content?: Content}} Fields
 * @typedef {Record<string, {schema?: Fields}>} Content
 */

const JSON_TYPE = 'application/json'

/**
 * Fastify validates by media type: a missing or other body would reach the handler unchecked.
 * @param {FastifyRequest} request @param {FastifyReply} _reply @param {(error?: Error) => void} done
 */
export function requireBody ({ body, headers, routeOptions }, _reply, done) {
  const described = /** @type {Fields | undefined} */ (routeOptions.schema?.body)
  if (described === undefined || (described.nullable && body == null)) return done()
  const types = Object.keys(described.content ?? {})
  const fields = described.content === undefined ? described : described.content[JSON_TYPE]?.schema
  if (fields === undefined ? body instanceof Readable : isObject(body)) return done()
  const isOther = headers['content-type'] !== undefined && (fields === undefined || body instanceof Readable)
  const sentence = fields ? askFor(fields, types) : `Send a body of the type ${types.join(' or ')}.`
  done(new (isOther ? OtherBody : NoBody)(sentence))
}

/** @param {unknown} body */
const isObject = (body) =>
  typeof body === 'object' && body !== null && !Array.isArray(body) && !(body instanceof Readable)

/** @param {Fields} fields @param {string[]} types  empty: the route accepts forms, too */
function askFor ({ required = [], properties = {} }, types) {
  const others = Object.keys(properties).filter((name) => !required.includes(name))
  const how = types.length === 0 ? 'a form, or a JSON object' : 'a JSON object'
  const optional = others.length > 0 ? ` Optional: ${quoted(others)}.` : ''
  return `Send ${how} (Content-Type: ${JSON_TYPE}), with ${quoted(required) || 'fields'}.${optional}`
}

/** @param {string[]} names */
const quoted = (names) => names.map((name) => `“${name}”`).join(', ')
