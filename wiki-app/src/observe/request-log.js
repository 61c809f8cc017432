import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'

/** Longer ones are cut: an address may have thousands of characters. */
const PATH_MAX_CHARS = 500

/** What cannot break out of a log line, a page or a search in either. */
const HARMLESS_ID = /^[A-Za-z0-9._-]{1,64}$/

/** The framework's own two lines a request would say what a log must not have, queries for one. */
export const logController = Object.assign(new Fastify.LogController(), { incomingRequest () {}, requestCompleted () {} })

/**
 * Gives each request the name that it has in log lines and errors: the proxy's, when it sends a harmless one, or a new one.
 * @returns {(raw: import('node:http').IncomingMessage) => string}
 */
export function createRequestIds () {
  // Two processes, or one before and after a restart, must not give the same.
  const process = randomBytes(4).toString('hex')
  let count = 0
  return ({ headers: { 'x-request-id': given } }) => typeof given === 'string' && HARMLESS_ID.test(given) ? given : `${process}-${++count}`
}

/**
 * One line for each request, at the level info.
 * @param {import('fastify').FastifyBaseLogger} log
 */
export const createRequestLog = (log) =>
  /**
   * @param {import('fastify').FastifyRequest} request
   * @param {import('fastify').FastifyReply} reply
   */
  (request, reply) => {
    log.info({
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      url: pathOf(request),
      status: reply.statusCode,
      duration_ms: Math.round(1000 * reply.elapsedTime) / 1000
    }, 'request')
  }

/**
 * What a log may say of an address: what people search for is in the query.
 * @param {import('fastify').FastifyRequest} request
 */
export const pathOf = ({ url }) => url.split('?', 1)[0].slice(0, PATH_MAX_CHARS)
