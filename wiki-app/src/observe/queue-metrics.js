import { Gauge } from 'prom-client'
import { lagOf } from '../queue/depth.js'

/** @typedef {{waiting: number, oldestAt: Date | null}} Depth */

/**
 * @param {Pick<import('../queue/queue.js').Queue, 'state'>} queue @returns {import('prom-client').Metric[]}
 */
export const queueMetrics = ({ state }) => [
  ...depthMetrics('queue', 'things to do after edits', state),
  gauge('wiki_queue_set_aside', 'Things to do after edits that failed too often, so that nobody tries again',
    () => state().setAside)
]

/** @param {{state: () => Depth}} purges @returns {import('prom-client').Metric[]} */
export const purgeMetrics = ({ state }) => depthMetrics('purges', 'purges of caches after edits', state)

/** @param {string} name @param {string} what @param {() => Depth} state */
const depthMetrics = (name, what, state) => [
  gauge(`wiki_${name}_waiting`,
    `How many ${what} are not done yet, as this process saw them last; counted up to 10 000`, () => state().waiting),
  gauge(`wiki_${name}_lag_seconds`, `How long the oldest of the ${what} has waited`,
    () => lagOf(state().oldestAt, new Date()))
]

/**
 * Several processes see the same queue, so the largest value counts.
 * @param {string} name @param {string} help @param {() => number} value
 */
const gauge = (name, help, value) => new Gauge({
  registers: [],
  aggregator: 'max',
  name,
  help,
  collect () {
    this.set(value())
  }
})
