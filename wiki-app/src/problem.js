import { METHODS, STATUS_CODES } from 'node:http'
import createError from '@fastify/error'
import { pathOf } from './observe/request-log.js'
import { SECURITY_HEADERS } from './security-headers.js'
import { HTML, renderView, wantsHtml } from './views.js'

const RETRY_AFTER_S = 2

const NotFound = createError('WIKI_NOT_FOUND', 'There is nothing at this address.', 404)
const MethodNotAllowed = createError('WIKI_METHOD_NOT_ALLOWED', '%s is not possible here, only %s.%s', 405)

/**
 * What an error may carry besides `statusCode` and `message`; the URLs are where a person may go on.
 * @typedef {Error & {statusCode?: number, headers?: Record<string, string>, createUrl?: string, historyUrl?: string, signInUrl?: string, currentRevision?: number}} AnswerableError
 */

/**
 * Makes the one error handler: an RFC 9457 problem for programs, a page for people. Neither may be stored, as one URL gives both.
 * @param {(error: unknown) => boolean} isUnavailable  whether the database's absence is the cause
 */
export function createErrorHandler (isUnavailable) {
  /**
   * @param {AnswerableError} error
   * @param {import('fastify').FastifyRequest} request
   * @param {import('fastify').FastifyReply} reply
   */
  return function answerError (error, request, reply) {
    const { status, detail, headers } = describe(error)
    if (status === 500) request.log.error({ request_id: request.id, err: error, method: request.method, url: pathOf(request) }, 'unexpected error')
    reply.code(status).headers({ ...SECURITY_HEADERS, ...headers, 'cache-control': 'no-store' })
    const title = STATUS_CODES[status] ?? 'Error'
    if (wantsHtml(request)) return reply.type(HTML).send(renderView('error', { title, status, detail, requestId: request.id, signInUrl: error.signInUrl, createUrl: error.createUrl, historyUrl: error.historyUrl }))
    return reply.type('application/problem+json').send({ type: 'about:blank', title, status, detail, request_id: request.id, ...(error.currentRevision !== undefined && { current_revision: error.currentRevision }) })
  }

  /** @param {AnswerableError} error */
  function describe (error) {
    const { statusCode = 500, message, headers } = error
    if ((statusCode >= 400 && statusCode < 500) || statusCode === 503) return { status: statusCode, detail: message, headers }
    if (isUnavailable(error)) return { status: 503, detail: 'The wiki cannot reach its database. Try again in a moment.', headers: { 'retry-after': String(RETRY_AFTER_S) } }
    // What went wrong inside is for the log only.
    return { status: 500, detail: 'Something went wrong in the wiki. It has been logged.', headers: {} }
  }
}

/** Handler of whatever matches no route. */
export function answerNotFound () {
  throw new NotFound()
}

/**
 * Notes each route from now on.
 * @param {import('fastify').FastifyInstance} app
 * @returns {Map<string, string>} URL pattern and what there is to say to methods that it has not
 */
export function noteRoutes (app) {
  const known = new Map()
  app.addHook('onRoute', ({ url, config }) => {
    const reason = /** @type {{otherMethods?: string} | undefined} */ (config)?.otherMethods
    known.set(url, reason ? ` ${reason}` : known.get(url) ?? '')
  })
  return known
}

/**
 * Makes every noted URL answer 405 with Allow to the methods that it has not (RFC 9110 §15.5.6). Fastify by itself says 404.
 * @param {import('fastify').FastifyInstance} app
 * @param {ReturnType<typeof noteRoutes>} known
 */
export function refuseOtherMethods (app, known) {
  // WebDAV's and others that Node can parse but Fastify does not know. CONNECT never reaches a route.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  const config = { role: 'anyone' }
  for (const [url, reason] of [...known]) {
    const has = (/** @type {string} */ method) => app.hasRoute({ method: /** @type {import('fastify').HTTPMethods} */ (method), url })
    const allow = app.supportedMethods.filter(has).join(', ')
    app.route({
      method: app.supportedMethods.filter((method) => !has(method)),
      url,
      config,
      // Before the body is read: there is nothing to do with it.
      onRequest: (request, _reply, done) => {
        done(Object.assign(new MethodNotAllowed(request.method, allow, reason), { headers: { allow } }))
      },
      handler: answerNotFound
    })
  }
}
