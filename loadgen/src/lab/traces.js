import { waitUntil } from '@stevec/harness/processes'
import { startTraceReceiver } from '@stevec/harness/trace-receiver'
import { countOf } from '../count-of.js'

/** The wiki sends spans once a second. */
const LATE_MS = 3_000
/** A draw of so many requests is not empty. */
const TRACED_MIN = 20

/**
 * What the wiki sent of its traces during a trial.
 * @typedef {{spans: number, bytes: number}} TrialTraces
 */

/** @typedef {ReturnType<typeof createTraces>} Traces */

/** The lab's collector, on loopback: it counts spans and keeps none. It starts with the first trial that traces. */
export function createTraces () {
  /** @type {import('@stevec/harness/trace-receiver').TraceReceiver | null} */
  let receiver = null

  return {
    /**
     * @param {Pick<import('./settings.js').Settings, 'trace_ratio'>} settings
     * @returns {Promise<string | null>} the collector's address; null: the wiki is not to trace
     */
    async urlFor ({ trace_ratio: ratio }) {
      if (ratio === null) return null
      receiver ??= await startTraceReceiver({ spansMax: 0 })
      return receiver.url
    },

    /**
     * Counts from now on.
     * @param {Pick<import('./settings.js').Settings, 'trace_ratio'>} settings
     * @returns {() => Promise<TrialTraces | null>} null: the wiki is not to trace
     */
    watch ({ trace_ratio: ratio }) {
      const { received } = receiver ?? {}
      if (ratio === null || received === undefined) return async () => null
      const before = received()
      return async () => {
        await waitUntil(async () => received().spans > before.spans, LATE_MS)
        const { spans, bytes } = received()
        return { spans: spans - before.spans, bytes: bytes - before.bytes }
      }
    },

    async stop () {
      await receiver?.stop()
      receiver = null
    }
  }
}

/**
 * @param {Pick<import('./judge.js').Findings, 'trial' | 'counter' | 'traces'>} findings
 * @returns {string[]} a sentence if the wiki should have traced, and has not
 */
export function problemsOfTraces ({ trial, counter, traces = null }) {
  const traced = counter.requests * (trial.settings.trace_ratio ?? 0)
  if (traces === null || traces.spans > 0 || traced < TRACED_MIN) return []
  const all = countOf(counter.requests, 'request')
  return [`of ${all} about ${Math.round(traced)} were to be traced, but the wiki sent no span`]
}
