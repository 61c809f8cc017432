import fresh from 'fresh'
import { hashOf } from './hash.js'

/**
 * Sends a response that any edit may change: caches revalidate their copy each time, and get 304 while its validator
 * matches (RFC 9110 §8.8.3, §13.1.2).
 * @param {import('fastify').FastifyRequest} request
 * @param {import('fastify').FastifyReply} reply
 * @param {object} answer
 * @param {string} answer.cacheControl
 * @param {string} answer.type
 * @param {string} answer.body
 */
export function sendRevalidated (request, reply, { cacheControl, type, body }) {
  const etag = `"${hashOf(body)}"`
  reply.headers({ etag, 'cache-control': cacheControl }).type(type)
  return fresh(request.headers, { etag }) ? reply.code(304).send() : reply.send(body)
}
