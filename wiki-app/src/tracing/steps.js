import { AsyncLocalStorage } from 'node:async_hooks'
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'

/** @import {Attributes, Span, SpanKind, Tracer} from '@opentelemetry/api' */

/**
 * A span that runs, and the clock of its trace: milliseconds since 1970, with fractions. Spans have whole ones by
 * default. It goes with the wall clock of the trace's begin, and never back.
 * @typedef {{span: Span, now: () => number}} Active
 */

/** @typedef {ReturnType<typeof createSteps>} Steps */

/**
 * Spans below the one that the calling code runs in; without one, nothing is recorded.
 * @param {Tracer} tracer
 */
export function createSteps (tracer) {
  /** @type {AsyncLocalStorage<Active | undefined>} */
  const storage = new AsyncLocalStorage()
  let roots = 0

  /**
   * @param {string} name @param {Active} parent
   * @param {{kind?: SpanKind, attributes?: Attributes, startTime?: number}} [options]
   * @returns {Active}
   */
  function below (name, { span, now }, { startTime = now(), ...options } = {}) {
    return { span: tracer.startSpan(name, { startTime, ...options }, trace.setSpan(ROOT_CONTEXT, span)), now }
  }

  return {
    active: () => storage.getStore(),
    below,

    /**
     * Runs work of a trace that begins in this process; call `endRoot` when it is done. While none runs, Node follows
     * no promise: following them makes each dearer, also those of requests that are not traced (Node 20).
     * @template T @param {Span} span @param {() => number} now @param {() => T} work @returns {T}
     */
    root (span, now, work) {
      roots++
      return storage.run({ span, now }, work)
    },
    endRoot () {
      roots--
      if (roots === 0) storage.disable()
    },

    /** Runs work that belongs to no trace. @template T @param {() => T} work @returns {T} */
    outside: (work) => storage.getStore() === undefined ? work() : storage.run(undefined, work),

    /** @template T @param {Active} active @param {() => T} work @returns {T} */
    within: (active, work) => storage.run(active, work),

    /**
     * @template T @param {string} name @param {() => T} work @param {Attributes} [attributes] @returns {T} its result
     */
    step (name, work, attributes) {
      const parent = storage.getStore()
      if (parent === undefined) return work()
      const active = below(name, parent, { attributes })
      return ended(active, () => storage.run(active, work))
    },

    /** Records what began earlier and ends now. @param {string} name @param {number} durationMs */
    past (name, durationMs) {
      const parent = storage.getStore()
      if (parent === undefined) return
      const endTime = parent.now()
      below(name, parent, { startTime: endTime - durationMs }).span.end(endTime)
    }
  }
}

/** @template T @param {Active} active @param {() => T} work @returns {T} */
function ended ({ span, now }, work) {
  const failed = (/** @type {any} */ error) => {
    noteError(span, error)
    span.end(now())
    throw error
  }
  let result
  try {
    result = work()
  } catch (error) {
    return failed(error)
  }
  if (!(result instanceof Promise)) {
    span.end(now())
    return result
  }
  return /** @type {T} */ (result.then((value) => {
    span.end(now())
    return value
  }, failed))
}

/**
 * Never the message, which may repeat what a client has sent.
 * @param {Span} span @param {{code?: string | number, name?: string}} error
 */
export function noteError (span, error) {
  span.setAttribute('error.type', String(error?.code ?? error?.name ?? 'unknown'))
  span.setStatus({ code: SpanStatusCode.ERROR })
}
