import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const WITHIN = 0.05
const SERVERS = 4
const REVISION = 1

/**
 * c servers of s ms each: they complete at most c ÷ s requests per second, and with N > c clients each waits N · s ÷ c.
 * @type {Case}
 */
export const capacity = {
  name: 'known-capacity',
  title: `an origin of ${SERVERS} servers`,
  async measure (context) {
    const serviceMs = context.short ? 60 : 100
    const levels = context.short ? [1, 6, 10] : [1, 2, 4, 6, 7, 9, 10, 12]
    const seconds = context.short ? 2 : 4
    /** When each server becomes free; a late timer delays a response, but not the schedule. @type {number[]} */
    const free = Array(SERVERS).fill(0)
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 10 },
      // Whole rounds of all servers: in a partial round they are not at their capacity.
      factors: {
        clients: Object.fromEntries(levels.map((vus) => [
          `n${vus}`,
          { vus, requests: Math.round(seconds * 1000 / serviceMs) * Math.min(vus, SERVERS) }
        ]))
      },
      behaviour: {
        answer () {
          const now = performance.now()
          const next = free.indexOf(Math.min(...free))
          free[next] = Math.max(now, free[next]) + serviceMs
          return { hit: false, revision: REVISION, afterMs: free[next] - now }
        }
      }
    }, context)
    const limitMs = 2 * serviceMs
    return {
      ask: [{ run, limitMs }],
      rows: (said) => {
        const { trials, crossing_vus: crossing } = said(run)
        const busiest = trials.reduce(
          (/** @type {any} */ most, /** @type {any} */ trial) => trial.vus > most.vus ? trial : most
        )
        return [
          {
            ...numberRow(
              'capacity',
              `${SERVERS} servers of ${serviceMs} ms: requests a second`,
              SERVERS * 1000 / serviceMs,
              busiest.completed_per_s,
              WITHIN,
              '1/s'
            ),
            timed: true
          },
          {
            ...numberRow('knee', `clients at which the mean goes over ${limitMs} ms`, 2 * SERVERS, crossing, WITHIN),
            timed: true
          },
          {
            check: 'limit',
            what: 'is nothing of this machine where its servers only wait',
            known: 'nothing',
            measured: [...new Set(trials.map((/** @type {any} */ trial) => trial.saturation?.limit))].join(', '),
            bound: 'exact',
            pass: trials.every((/** @type {any} */ trial) => trial.valid && trial.saturation?.limit === 'nothing'),
            timed: true
          }
        ]
      }
    }
  }
}
