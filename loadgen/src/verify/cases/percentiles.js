import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const LEAST_MS = 20
const SCALE_MS = 20
const WITHIN = 0.07
const REVISION = 1
/** Prime, so that its multiples visit every index once, in no order. */
const STRIDE = 7919

/** @param {number} share  0 to 1 */
const quantileMs = (share) => LEAST_MS - SCALE_MS * Math.log(1 - share)

/** Response times of a shifted exponential distribution, each of its quantiles once. @type {Case} */
export const percentiles = {
  name: 'known-percentiles',
  title: 'response times of a known distribution',
  async measure (context) {
    const requests = context.short ? 500 : 2_000
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 10, requests, vus: 10, connection_reuse: true },
      behaviour: {
        answer: ({ index }) => ({
          hit: false,
          revision: REVISION,
          afterMs: quantileMs((index * STRIDE % requests + 0.5) / requests)
        })
      }
    }, context)
    return {
      ask: [{ run }],
      rows: (said) => {
        const [trial] = said(run).trials
        return [50, 90, 99].map((percent) => {
          const row = numberRow(
            'percentile', `p${percent} of ${requests}`, quantileMs(percent / 100), trial[`p${percent}_ms`], WITHIN, 'ms'
          )
          return { ...row, pass: row.pass && trial.valid, timed: true }
        })
      }
    }
  }
}
