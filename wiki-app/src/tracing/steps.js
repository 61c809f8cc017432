import { AsyncLocalStorage } from 'node:async_hooks'
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'

/** @import {Attributes, Span, SpanKind, Tracer} from '@opentelemetry/api' */

/**
 * A span that runs, and the clock of its trace: milliseconds since 1970, with fractions. Spans have whole ones by
 * default. It goes with the wall clock of the trace's begin, and never back.
 * @typedef {{span: Span, now: () => number}} Active
 */

/** @typedef {ReturnType<typeof createSteps>} Steps */

/** @returns {Active['now']} */
export function startClock () {
  const offsetMs = Date.now() - performance.now()
  return () => offsetMs + performance.now()
}

/**
 * Spans below the one that the calling code runs in; without one, nothing is recorded.
 *
 * Following a trace across promises (AsyncLocalStorage) makes every promise of the process dearer on Node 20. So a
 * trace is known to the code that a request calls at once; across promises, only while one that needs it runs.
 * @param {Tracer} tracer
 */
export function createSteps (tracer) {
  /** @type {AsyncLocalStorage<Active | undefined>} */
  const storage = new AsyncLocalStorage()
  /** Of the calls that now run, if no promise is followed. @type {Active | undefined} */
  let current
  let followed = 0
  /** @type {(() => void)[]} */
  const whenIdle = []

  const active = () => current ?? storage.getStore()

  /** @template T @param {Active | undefined} trace @param {() => T} work @returns {T} */
  function atOnce (trace, work) {
    const before = current
    current = trace
    try {
      return work()
    } finally {
      current = before
    }
  }

  /** @template T @param {Active} trace @param {() => T} work @returns {T} */
  const within = (trace, work) => storage.getStore() === undefined ? atOnce(trace, work) : storage.run(trace, work)

  /**
   * @param {string} name @param {Active} parent
   * @param {{kind?: SpanKind, attributes?: Attributes, startTime?: number}} [options]
   * @returns {Active}
   */
  function below (name, { span, now }, { startTime = now(), ...options } = {}) {
    return { span: tracer.startSpan(name, { startTime, ...options }, trace.setSpan(ROOT_CONTEXT, span)), now }
  }

  /** Also across promises, until `unfollow`. @template T @param {Active} trace @param {() => T} work @returns {T} */
  function follow (trace, work) {
    followed++
    return atOnce(undefined, () => storage.run(trace, work))
  }

  function unfollow () {
    followed--
    if (followed > 0) return
    storage.disable()
    for (const each of whenIdle) each()
  }

  return {
    active,
    below,
    atOnce,
    follow,
    unfollow,
    /**
     * Follows a trace until the work ends, and its span with it.
     * @template T @param {Active} trace @param {() => Promise<T>} work @returns {Promise<T>}
     */
    followToTheEnd: (trace, work) => ended(trace, () => follow(trace, work)).finally(unfollow),
    isFollowing: () => followed > 0,
    /** @param {() => void} each  called when the last followed trace has ended */
    onIdle: (each) => { whenIdle.push(each) },

    /** Runs work that belongs to no trace. @template T @param {() => T} work @returns {T} */
    outside: (work) => atOnce(undefined, () =>
      storage.getStore() === undefined ? work() : storage.run(undefined, work)),

    /**
     * @template T @param {string} name @param {() => T} work
     * @param {{kind?: SpanKind, attributes?: Attributes}} [options] @returns {T} its result
     */
    step (name, work, options) {
      const parent = active()
      if (parent === undefined) return work()
      const own = below(name, parent, options)
      return ended(own, () => within(own, work))
    },

    /** Records what began earlier and ends now. @param {string} name @param {number} durationMs */
    past (name, durationMs) {
      const parent = active()
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
