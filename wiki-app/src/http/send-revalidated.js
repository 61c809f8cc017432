import fresh from 'fresh'
import { hashOf } from './hash.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/**
 * Caches revalidate each time: any edit may change the response.
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{cacheControl: string, type: string, body: string}} answer
 */
export function sendRevalidated (request, reply, { cacheControl, type, body }) {
  const etag = `"${hashOf(body)}"`
  reply.headers({ etag, 'cache-control': cacheControl }).type(type)
  return fresh(request.headers, { etag }) ? reply.code(304).send() : reply.send(body)
}
