import fresh from 'fresh'
import { hashOf } from './hash.js'

/**
 * Answers with what any edit may change: kept copies are checked each time, and confirmed by their validator while they are good (RFC 9110 §8.8.3, §13.1.2).
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
