import { Gauge } from 'prom-client'
import { lagOf } from '../queue/depth.js'

/**
 * Several processes see the same queue, so the largest value counts.
 * @param {Pick<import('../queue/queue.js').Queue, 'state'>} queue @returns {import('prom-client').Metric[]}
 */
export const queueMetrics = ({ state }) => [
  new Gauge({
    registers: [],
    aggregator: 'max',
    name: 'wiki_queue_waiting',
    help: 'Things to do after edits that are not done yet, as this process saw them last; counted up to 10 000',
    collect () {
      this.set(state().waiting)
    }
  }),
  new Gauge({
    registers: [],
    aggregator: 'max',
    name: 'wiki_queue_set_aside',
    help: 'Things to do after edits that failed too often, so that nobody tries again',
    collect () {
      this.set(state().setAside)
    }
  }),
  new Gauge({
    registers: [],
    aggregator: 'max',
    name: 'wiki_queue_lag_seconds',
    help: 'How long the oldest thing to do after an edit has waited',
    collect () {
      this.set(lagOf(state().oldestAt, new Date()))
    }
  })
]
