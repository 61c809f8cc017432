import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'

const PATH_MAX_CHARS = 500

const SECOND_MS = 1_000

/**
 * `route`: pattern, null for none.
 * @typedef {{id?: string, method?: string, url?: string}} Noted
 * @typedef {(request: Noted, route: string | null, status: number, duration_ms: number) => void} Note
 */

/** Also with scheme and host (RFC 9112 §3.2.2). */
const SECRET = /^((?:https?:\/\/[^/]*)?\/+(?:feeds|digests|invitations)\/).*/i

/** Cannot break out of a log line, a page or a search. */
const HARMLESS_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Fastify's own lines would contain queries. */
export const logController = Object.assign(new Fastify.LogController(), {
  incomingRequest () {},
  requestCompleted () {}
})

/** @returns {(raw: import('node:http').IncomingMessage) => string} */
export function createRequestIds () {
  // Two processes, or one before and after a restart, must not share ids.
  const process = randomBytes(4).toString('hex')
  let count = 0
  return ({ headers: { 'x-request-id': given } }) =>
    typeof given === 'string' && HARMLESS_ID.test(given) ? given : `${process}-${++count}`
}

/**
 * `unlogged` counts views without a line.
 * @param {import('fastify').FastifyBaseLogger} log
 * @param {{idOf: (raw: any) => string, viewRoutes: string[], viewsPerS: number}} options  `idOf`: where none is
 * @returns {Note}
 */
export function createRequestLog (log, { idOf, viewRoutes, viewsPerS }) {
  let secondEndsMs = 0
  let lines = 0
  let unlogged = 0

  function isOneTooMany () {
    const nowMs = performance.now()
    if (nowMs >= secondEndsMs) {
      secondEndsMs = nowMs + SECOND_MS
      lines = 0
    }
    return ++lines > viewsPerS
  }

  return (request, route, status, durationMs) => {
    const isView = route !== null && viewRoutes.includes(route) &&
      (request.method === 'GET' || request.method === 'HEAD') && status < 400
    if (isView && isOneTooMany()) {
      unlogged++
      return
    }
    log.info({
      request_id: request.id ?? idOf(request),
      method: request.method,
      route,
      url: pathOf(request),
      status,
      duration_ms: Math.round(1000 * durationMs) / 1000,
      ...isView && { unlogged }
    }, 'request')
    if (isView) unlogged = 0
  }
}

/**
 * The query holds what people search for, and the address of a feed, or one in a mail, its secret.
 * @param {{url?: string}} request
 */
export const pathOf = ({ url = '' }) => url.split('?', 1)[0].slice(0, PATH_MAX_CHARS).replace(SECRET, '$1-')
