import { statSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { doKnownRun } from '../known-run.js'
import { changeJson, tampered } from './known-trial.js'
import { caughtRow, numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const REVISION = 1

/** A cache that serves seven of ten requests, in a known order. @type {Case} */
export const hitRatio = {
  name: 'known-hits',
  title: 'a cache of known hit ratio',
  async measure (context) {
    const requests = context.short ? 1_000 : 10_000
    const run = await doKnownRun({
      name: this.name,
      // A lifetime shorter than the trial, for which the theory predicts no number of misses (otherwise one per page).
      settings: { door: 'cached', pages: 100, requests, vus: 4, ttl_s: 1, connection_reuse: true },
      behaviour: { answer: ({ index }) => ({ hit: index * 7 % 10 < 7, revision: REVISION }) }
    }, context)
    const corrupted = tampered(run, (trial) => changeJson(trial, 'trial.json', (value) => {
      value.counter = { ...value.counter, requests: value.counter.requests + 1, reads: value.counter.reads + 1 }
    }))
    const set = tampered(run, (trial) => changeJson(trial, 'trial.json', (value) => { value.monotonic_s += 0.2 }))
    const cutOff = tampered(run, (trial) => {
      const file = path.join(trial, 'samples.csv.gz')
      truncateSync(file, Math.floor(statSync(file).size * 0.7))
    })
    return {
      ask: [run, corrupted, set, cutOff].map((each) => ({ run: each })),
      rows: (said) => {
        const [trial] = said(run).trials
        const reasons = (/** @type {string} */ each) => said(each).trials[0].reasons
        return [
          {
            ...numberRow(
              'hits',
              `of ${requests} requests that the cache answered`,
              requests * 0.7,
              trial.served_by_cache,
              0
            ),
            ...(trial.valid ? {} : { pass: false, measured: trial.reasons.join('; ') })
          },
          numberRow('hit ratio', 'of the reads', 0.7, trial.hit_ratio, 0),
          caughtRow(
            'counter',
            'changed by 1 in the results',
            'a difference of 1',
            reasons(corrupted),
            /but the counter says/
          ),
          caughtRow(
            'clock',
            'set by 0.2 s, in the results',
            'a step of −0.2 s',
            reasons(set),
            /the clock stepped by −0\.2 s/
          ),
          caughtRow(
            'samples',
            'a file that is cut off',
            'it is not whole',
            reasons(cutOff),
            /samples\.csv\.gz is (cut off|damaged)/
          )
        ]
      }
    }
  }
}
