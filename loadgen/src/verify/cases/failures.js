import { isDeepStrictEqual } from 'node:util'
import { trialOf } from './known-trial.js'
import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const SERVICE_MS = 40
const WITHIN = 0.1
const REVISION = 1
const ANSWERED_OR_FAILED = 30
const REFUSED = 10
/** By the last digit of a request's index; the others are answered. */
const FAILS = /** @type {const} */ ({ 2: 'reset', 4: 'close', 6: 'none' })

/**
 * A server that fails in known ways: each failure is counted by its kind, and none counts as a quick response.
 * @type {Case}
 */
export const failures = {
  name: 'known-failures',
  title: 'a server that fails in known ways',
  async measure (context) {
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 5, requests: ANSWERED_OR_FAILED + REFUSED, timeout_s: 1 },
      behaviour: {
        refuseFrom: ANSWERED_OR_FAILED,
        answer: ({ index }) => ({
          hit: false,
          revision: REVISION,
          afterMs: SERVICE_MS,
          status: index % 10 === 8 ? 503 : 200,
          fails: FAILS[/** @type {keyof typeof FAILS} */ (index % 10)]
        })
      }
    }, context)
    const trial = trialOf(run)
    const known = { closed: 3, refused: REFUSED, reset: 3, status: 3, timeout: 3 }
    const found = Object.fromEntries(Object.entries(trial.failures).sort())
    const inWords = (/** @type {Record<string, number>} */ counts) =>
      Object.entries(counts).map(([kind, count]) => `${kind} ${count}`).join(', ')
    return {
      ask: [{ run }],
      rows: (said) => [
        {
          check: 'failures',
          what: `of ${ANSWERED_OR_FAILED + REFUSED} requests, by kind`,
          known: inWords(known),
          measured: trial.valid ? inWords(found) : trial.invalid_reasons.join('; '),
          bound: 'exact',
          pass: trial.valid && isDeepStrictEqual(found, known),
          // A pause of a second would make a time-out of an answer.
          timed: true
        },
        {
          ...numberRow(
            'failures', 'mean of the answered requests', SERVICE_MS, said(run).trials[0].mean_ms, WITHIN, 'ms'
          ),
          timed: true
        }
      ]
    }
  }
}
