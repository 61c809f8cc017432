import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'

/** Longer ones are cut: an address may have thousands of characters. */
const PATH_MAX_CHARS = 500

const SECOND_MS = 1_000

/**
 * Takes note of an answer. The request is Node's or Fastify's; the route is its pattern, null for none.
 * @typedef {(request: {id?: string, method?: string, url?: string}, route: string | null, status: number,
 *   duration_ms: number) => void} Note
 */

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
 * One line for each request, at the level info. Page views that go well have a limited number of lines a second, as a
 * line takes a quarter of the time of an answer from memory; `unlogged` counts the views without a line since the last.
 * @param {import('fastify').FastifyBaseLogger} log
 * @param {object} options
 * @param {(raw: any) => string} options.idOf  for requests that have none yet
 * @param {string} options.viewRoute
 * @param {number} options.viewsPerS  lines
 * @returns {Note}
 */
export function createRequestLog (log, { idOf, viewRoute, viewsPerS }) {
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
    const isView = route === viewRoute && (request.method === 'GET' || request.method === 'HEAD') && status < 400
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
 * What a log may say of an address: what people search for is in the query.
 * @param {{url?: string}} request
 */
export const pathOf = ({ url = '' }) => url.split('?', 1)[0].slice(0, PATH_MAX_CHARS)
