import { STATUS_CODES } from 'node:http'
import createError from '@fastify/error'
import createRouter from 'find-my-way'
import { t } from '../language.js'
import { isWorthKeeping, showAgain } from '../access/resend.js'
import { pathOf } from '../observe/request-log.js'
import { sayError } from '../say-error.js'
import { SECURITY_HEADERS } from './security-headers.js'
import { HTML, renderFor, wantsHtml } from '../views.js'

/** @import {FastifyInstance, FastifyRequest} from 'fastify' */
/** @import {HTTPMethod} from 'find-my-way' */

const RETRY_AFTER_S = 2

/** For people; programs get the standard's words. @param {number} status */
function titleOf (status) {
  switch (status) {
    case 401: return t('Sign in first')
    case 403: return t('This is not allowed')
    case 404: return t('Not found')
    case 405: return t('This cannot be done here')
    case 400: case 409: case 422: return t('This cannot be done')
    case 410: return t('It was erased')
    case 412: return t('The page has changed')
    case 413: return t('Too large')
    case 415: return t('This cannot be used here')
    case 429: return t('Too many requests')
    case 500: return t('Something went wrong')
    case 503: return t('Not possible just now')
    default: return STATUS_CODES[status] ?? 'Error'
  }
}

const NotFound = createError('WIKI_NOT_FOUND', 'There is nothing at this address.', 404)
const MethodNotAllowed = createError('WIKI_METHOD_NOT_ALLOWED', '%s is not possible here, only %s.%s', 405)

/**
 * @typedef {{createUrl?: string, historyUrl?: string, signInUrl?: string, currentRevision?: number}} Details
 * @typedef {Error & Details & {statusCode?: number, headers?: Record<string, string>}} AnswerableError
 */

/**
 * Not stored: one URL gives people a page and programs an RFC 9457 problem.
 * @param {(error: unknown) => boolean} isUnavailable
 */
export function createErrorHandler (isUnavailable) {
  /** @param {AnswerableError} error @param {FastifyRequest} request @param {import('fastify').FastifyReply} reply */
  return function answerError (error, request, reply) {
    const { status, detail, headers } = describe(error)
    if (status === 500) {
      request.log.error({ request_id: request.id, err: error, method: request.method, url: pathOf(request) }, 'unexpected error')
    }
    reply.code(status).headers({ ...SECURITY_HEADERS, ...headers, 'cache-control': 'no-store' })
    if (wantsHtml(request)) {
      const title = titleOf(status)
      const { signInUrl, createUrl, historyUrl } = error
      const shown = { title, detail: sayError(detail), requestId: request.id, signInUrl, unavailable: status === 503 }
      if (isWorthKeeping(request, shown)) return showAgain(request, reply, shown)
      return reply.type(HTML).send(renderFor(request, 'error', { ...shown, createUrl, historyUrl }))
    }
    const current = error.currentRevision !== undefined && { current_revision: error.currentRevision }
    const problem = { ...problemOf(status, detail), request_id: request.id, ...current }
    return reply.type('application/problem+json').send(problem)
  }

  /** @param {AnswerableError} error */
  function describe (error) {
    const { statusCode = 500, message, headers } = error
    if ((statusCode >= 400 && statusCode < 500) || statusCode === 503) {
      return { status: statusCode, detail: message, headers }
    }
    if (isUnavailable(error)) {
      return { status: 503, detail: 'The wiki cannot reach its database. Try again in a moment.', headers: { 'retry-after': String(RETRY_AFTER_S) } }
    }
    // Details go to the log only.
    return { status: 500, detail: 'Something went wrong in the wiki. It has been logged.', headers: {} }
  }
}

/** RFC 9457 @param {number} status @param {string} detail  a sentence */
export const problemOf = (status, detail) =>
  ({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail })

/** @throws {Error} 404 */
export function answerNotFound () {
  throw new NotFound()
}

/**
 * @param {FastifyInstance} app
 * @returns {Map<string, string>} by URL pattern, what a 405 response adds for other methods; '' for nothing
 */
export function recordRoutes (app) {
  const known = new Map()
  app.addHook('onRoute', ({ url, config }) => {
    const reason = /** @type {{otherMethods?: string} | undefined} */ (config)?.otherMethods
    known.set(url, reason ? ` ${reason}` : known.get(url) ?? '')
  })
  return known
}

/**
 * 405 with Allow (RFC 9110 §15.5.6), not Fastify's 404. Routes for all methods would take a tenth of the start time.
 * @param {FastifyInstance} app @param {ReturnType<typeof recordRoutes>} known @param {{maxParamLength: number}} options
 */
export function refuseOtherMethods (app, known, { maxParamLength }) {
  const has = (/** @type {string} */ method, /** @type {string} */ url) =>
    app.hasRoute({ method: /** @type {import('fastify').HTTPMethods} */ (method), url })
  const methods = app.supportedMethods.filter((method) => [...known.keys()].some((url) => has(method, url)))
  const addresses = createRouter({ maxParamLength })
  const add = (/** @type {string} */ method, /** @type {string} */ url, /** @type {Address} */ address) =>
    addresses.on(/** @type {HTTPMethod} */ (method), url, () => {}, address)
  const find = (/** @type {string} */ method, /** @type {string} */ url) =>
    /** @type {Address | undefined} */ (
      addresses.find(/** @type {HTTPMethod} */ (method), url)?.store)
  for (const [url, reason] of known) {
    for (const method of methods.filter((method) => has(method, url))) add(method, url, { allowed: true, reason })
  }
  const refusal = (/** @type {FastifyRequest} */ { method, url }) => {
    const found = methods
      .map((method) => /** @type {const} */ ([method, find(method, url)]))
      .filter(([, address]) => address !== undefined)
    if (found.length === 0) return undefined
    const allow = found.filter(([, address]) => address?.allowed).map(([method]) => method).join(', ')
    const reason = found.map(([, address]) => address?.reason).find(Boolean) ?? ''
    return Object.assign(new MethodNotAllowed(method, allow, reason), { headers: { allow } })
  }

  const config = { role: 'anyone', forStrangers: true }
  for (const [url, reason] of [...known]) {
    // A wider pattern's routes must not answer for this URL.
    const elsewhere = methods.filter((method) => !has(method, url) && find(method, url) !== undefined)
    if (elsewhere.length === 0) continue
    for (const method of elsewhere) add(method, url, { allowed: false, reason })
    app.route({
      method: elsewhere,
      url,
      config,
      onRequest: (request, _reply, done) => { done(refusal(request)) },
      handler: answerNotFound
    })
  }
  // The body need not be read.
  app.addHook('onRequest', (request, _reply, done) => { done(request.is404 ? refusal(request) : undefined) })
}

/** @typedef {{allowed: boolean, reason: string}} Address */
