import fresh from 'fresh'
import { hashOf } from './hash.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/**
 * Sends a response that any edit may change: caches revalidate it each time, and get 304 while its validator matches.
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{cacheControl: string, type: string, body: string}} answer
 */
export function sendRevalidated (request, reply, { cacheControl, type, body }) {
  const etag = `"${hashOf(body)}"`
  reply.headers({ etag, 'cache-control': cacheControl }).type(type)
  return fresh(request.headers, { etag }) ? reply.code(304).send() : reply.send(body)
}
