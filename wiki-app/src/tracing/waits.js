/** @import {ConcurrencyLimits} from '../http/concurrency-limits.js' */
/** @import {Steps} from './steps.js' */

/** Nearly every request has its turn at once; a span for each would say nothing. */
const SHOWN_MIN_MS = 0.5

/**
 * Shows how long a request waited for its turn.
 * @param {Steps} steps
 * @returns {(limits: ConcurrencyLimits) => ConcurrencyLimits}
 */
export function createWaits (steps) {
  return (limits) => ({
    ...limits,
    limited (handler, options) {
      /** @type {WeakMap<object, number>} */
      const since = new WeakMap()
      const run = limits.limited(function (request, reply) {
        const waitedMs = performance.now() - (since.get(request) ?? Infinity)
        if (waitedMs >= SHOWN_MIN_MS) steps.past('wait for a turn', waitedMs)
        return handler.call(this, request, reply)
      }, options)
      return function (request, reply) {
        if (steps.active() !== undefined) since.set(request, performance.now())
        return run.call(this, request, reply)
      }
    }
  })
}
