import { defaultTextMapGetter, ROOT_CONTEXT, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { pathOf } from '../observe/request-log.js'
import { startClock } from './steps.js'

/** @import {IncomingMessage, RequestListener, ServerResponse} from 'node:http' */
/** @import {Span, Tracer} from '@opentelemetry/api' */
/** @import {Active, Steps} from './steps.js' */

/** Others have one name, or a client could make up any number of them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * A span for each request that is sampled: its parent is named by `traceparent`
 * (https://www.w3.org/TR/trace-context/#traceparent-header).
 * https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server
 * @param {Tracer} tracer @param {Steps} steps
 */
export function createRequestSpans (tracer, steps) {
  const propagator = new W3CTraceContextPropagator()
  /** @type {WeakMap<object, Active>} */
  const traced = new WeakMap()

  return {
    /** @param {RequestListener} listener @returns {RequestListener} */
    around: (listener) => (request, response) => {
      const method = METHODS.has(String(request.method)) ? String(request.method) : '_OTHER'
      const { traceparent } = request.headers
      const parent = traceparent === undefined
        ? ROOT_CONTEXT
        : propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
      const now = startClock()
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, startTime: now() }, parent)
      if (!span.isRecording()) return steps.outside(() => listener(request, response))
      span.setAttributes({
        'http.request.method': method,
        'url.path': pathOf(request),
        'url.scheme': 'http',
        'network.protocol.version': request.httpVersion
      })
      const trace = { span, now }
      traced.set(request, trace)
      // Also when the client has gone.
      response.once('close', () => {
        noteResponse(span, response)
        span.end(now())
      })
      return steps.atOnce(trace, () => listener(request, response))
    },

    /** What the fast path has not answered. @param {RequestListener} listener @returns {RequestListener} */
    following: (listener) => (request, response) => {
      const trace = traced.get(request)
      if (trace === undefined) return listener(request, response)
      response.once('close', steps.unfollow)
      return steps.follow(trace, () => listener(request, response))
    },

    /**
     * Names the route of a request; routes are few, paths are not.
     * @param {import('../observe/request-log.js').Noted & {raw?: IncomingMessage}} request @param {string | null} route
     */
    observe (request, route) {
      const { span } = traced.get(request.raw ?? request) ?? {}
      if (span === undefined || route === null) return
      span.updateName(`${request.method} ${route}`)
      span.setAttribute('http.route', route)
    }
  }
}

/** @param {Span} span @param {ServerResponse} response */
function noteResponse (span, response) {
  if (!response.writableFinished) return span.setAttribute('error.type', 'client_closed')
  const { statusCode } = response
  span.setAttribute('http.response.status_code', statusCode)
  if (statusCode < 500) return
  span.setAttribute('error.type', String(statusCode))
  span.setStatus({ code: SpanStatusCode.ERROR })
}
