import { defaultTextMapGetter, defaultTextMapSetter, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { startClock } from './steps.js'

/** @import {Span, SpanContext, Tracer} from '@opentelemetry/api' */
/** @import {Task} from '../queue/entries.js' */
/** @import {Queue} from '../queue/queue.js' */
/** @import {During} from '../queue/worker.js' */
/** @import {Steps} from './steps.js' */

/**
 * A span for what a traced edit leaves to the queue, and one below it for the work. An entry keeps the first one's
 * context as `traceparent`, for the process that does the work. A batch is below the first of its edits, and links to
 * the others.
 * https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 * @param {Tracer} tracer @param {Steps} steps
 */
export function createQueueSpans (tracer, steps) {
  const propagator = new W3CTraceContextPropagator()

  /** @param {Span} span @returns {string} */
  function traceparentOf (span) {
    /** @type {{traceparent?: string}} */
    const carrier = {}
    propagator.inject(trace.setSpan(ROOT_CONTEXT, span), carrier, defaultTextMapSetter)
    return String(carrier.traceparent)
  }

  /** @param {Pick<Task, 'traceparent'>[]} entries @returns {SpanContext[]} of their edits that are traced */
  function contextsOf (entries) {
    /** @type {Map<string, SpanContext>} */
    const contexts = new Map()
    for (const { traceparent } of entries) {
      if (traceparent === undefined || contexts.has(traceparent)) continue
      const context = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter))
      if (context !== undefined) contexts.set(traceparent, context)
    }
    return [...contexts.values()]
  }

  return {
    /** @param {Queue} queue @returns {Queue} */
    sending: (queue) => ({
      ...queue,
      async add (tasks, session) {
        // A group of edits may go on after the request that began it.
        if (tasks.length === 0 || !steps.active()?.span.isRecording()) return queue.add(tasks, session)
        const { name, attributes } = about('send', tasks)
        return steps.step(name, () => {
          const traceparent = traceparentOf(/** @type {import('./steps.js').Active} */ (steps.active()).span)
          return queue.add(tasks.map((task) => ({ ...task, traceparent })), session)
        }, { kind: SpanKind.PRODUCER, attributes })
      }
    }),

    /** @type {During} */
    processing (entries, work) {
      const [parent, ...others] = contextsOf(entries)
      if (parent === undefined) return steps.outside(work)
      const now = startClock()
      const { name, attributes } = about('process', entries)
      const links = others.map((context) => ({ context }))
      const options = { kind: SpanKind.CONSUMER, attributes, links, startTime: now() }
      const span = tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, parent))
      return span.isRecording() ? steps.followToTheEnd({ span, now }, work) : steps.outside(work)
    }
  }
}

/**
 * Each kind of work is a destination of its own.
 * @param {'send' | 'process'} operation @param {Pick<Task, 'kind'>[]} tasks
 */
function about (operation, tasks) {
  const [kind, ...others] = new Set(tasks.map((task) => task.kind))
  const destination = others.length === 0 ? kind : undefined
  return {
    name: destination === undefined ? operation : `${operation} ${destination}`,
    attributes: {
      'messaging.system': 'stevec',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      'messaging.batch.message_count': tasks.length,
      ...destination !== undefined && { 'messaging.destination.name': destination }
    }
  }
}
