import { trialOf } from './known-trial.js'
import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const SERVICE_MS = 50
const READERS = 10
const WITHIN = 0.05
const REVISION = 1

/** A background of known rate beside a probe, at a server where nothing waits. @type {Case} */
export const beside = {
  name: 'known-background',
  title: 'a background beside a probe',
  async measure (context) {
    const requests = context.short ? 40 : 160
    let counted = 0
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 10, requests, background_vus: READERS, connection_reuse: true },
      behaviour: {
        answer () {
          counted += 1
          return { hit: false, revision: REVISION, afterMs: SERVICE_MS }
        }
      }
    }, context)
    const { background, counter, valid } = trialOf(run)
    return {
      ask: [{ run }],
      rows: (said) => [
        {
          ...numberRow('background', 'requests of both that reached the server', counted, counter.requests, 0),
          ...(valid ? {} : { pass: false })
        },
        {
          ...numberRow(
            'background',
            `requests a minute of ${READERS} readers`,
            READERS * 60_000 / SERVICE_MS,
            background.rate_per_min,
            WITHIN
          ),
          timed: true
        },
        {
          ...numberRow(
            'background', 'mean of the probe beside it', SERVICE_MS, said(run).trials[0].mean_ms, WITHIN, 'ms'
          ),
          timed: true
        }
      ]
    }
  }
}
