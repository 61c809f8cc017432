import path from 'node:path'
import { createRandom } from '@stevec/harness/random'
import { readPlannedTimesMs } from './known-trial.js'
import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const SERVICE_MS = 10
const RATE_PER_S = 50
const REVISION = 1
/** What is left beside a queue's own time is k6's and Node's. */
const WITHIN = 0.15
/** Queues of as many arrivals differ from the closed form, which is of infinitely many, by chance. */
const SIMULATED_QUEUES = 200
const STANDARD_ERRORS = 3

/**
 * One server, Poisson arrivals, equal service times: the queue M/D/1, whose waiting times are known in closed form.
 * Only a lab that measures from the planned times finds them, and only if its arrivals are Poisson's.
 * @type {Case}
 */
export const openQueue = {
  name: 'known-queue',
  title: 'a queue of known waiting times (M/D/1)',
  async measure (context) {
    let freeAtMs = 0
    const seconds = context.short ? 10 : 60
    const requests = RATE_PER_S * seconds
    const run = await doKnownRun({
      name: this.name,
      settings: {
        model: 'open',
        arrivals: 'poisson',
        rate_per_s: RATE_PER_S,
        requests,
        duration_max_s: seconds,
        vus: 200,
        bound: 'either',
        pages: 10,
        connection_reuse: true
      },
      behaviour: {
        answer () {
          const now = performance.now()
          freeAtMs = Math.max(now, freeAtMs) + SERVICE_MS
          return { hit: false, revision: REVISION, afterMs: freeAtMs - now }
        }
      }
    }, context)
    const known = queueOf(readPlannedTimesMs(path.join(run, 'trials/0001')))
    const formula = { mean: SERVICE_MS + meanWaitMs(), p99: SERVICE_MS + waitPercentileMs(0.99) }
    const error = standardErrors(requests)
    return {
      ask: [{ run }],
      rows: (said) => {
        const [{ mean_ms: mean, p99_ms: p99, valid }] = said(run).trials
        const row = (
          /** @type {string} */ what, /** @type {number} */ value, /** @type {number} */ measured, within = WITHIN
        ) => {
          const compared = numberRow('queue', what, value, measured, within, 'ms')
          return { ...compared, pass: compared.pass && valid, timed: true }
        }
        return [
          row('of these arrivals (Lindley): mean response time', known.mean, mean),
          row('of these arrivals (Lindley): p99 of it', known.p99, p99),
          row('M/D/1 in closed form: mean response time', formula.mean, mean, WITHIN + STANDARD_ERRORS * error.mean),
          row('M/D/1 in closed form: p99 of it', formula.p99, p99, WITHIN + STANDARD_ERRORS * error.p99)
        ]
      }
    }
  }
}

/**
 * Response times in a queue with one server: D. V. Lindley, "The theory of queues with a single server" (1952).
 * @param {number[]} arrivalsMs  rising
 */
function queueOf (arrivalsMs) {
  let freeAtMs = -Infinity
  const responsesMs = arrivalsMs.map((arrivalMs) => {
    freeAtMs = Math.max(arrivalMs, freeAtMs) + SERVICE_MS
    return freeAtMs - arrivalMs
  }).sort((a, b) => a - b)
  return {
    mean: responsesMs.reduce((sum, each) => sum + each, 0) / responsesMs.length,
    p99: responsesMs[Math.round(0.99 * (responsesMs.length - 1))]
  }
}

/**
 * How far the queues of so many arrivals lie from the closed form, by simulation.
 * @param {number} requests
 * @returns {{mean: number, p99: number}} standard errors, as shares of the closed form's values
 */
function standardErrors (requests) {
  const queues = Array.from({ length: SIMULATED_QUEUES }, (_, seed) => {
    const random = createRandom(seed)
    let atMs = 0
    return queueOf(Array.from({ length: requests }, () => {
      atMs -= 1000 / RATE_PER_S * Math.log(1 - random())
      return atMs
    }))
  })
  const relative = (/** @type {'mean' | 'p99'} */ name, /** @type {number} */ formula) =>
    Math.sqrt(queues.reduce((sum, queue) => sum + (queue[name] / formula - 1) ** 2, 0) / queues.length)
  return {
    mean: relative('mean', SERVICE_MS + meanWaitMs()),
    p99: relative('p99', SERVICE_MS + waitPercentileMs(0.99))
  }
}

const LOAD = RATE_PER_S * SERVICE_MS / 1000

/** Pollaczek–Khinchine, for equal service times. */
const meanWaitMs = () => LOAD * SERVICE_MS / (2 * (1 - LOAD))

/**
 * A. K. Erlang, "The theory of probabilities and telephone conversations" (1909): P(W ≤ t) = (1 − ρ) Σₖ (−x)ᵏ eˣ ÷ k!
 * with x = λ (t − k s), over all k ≤ t ÷ s.
 * @param {number} level  0 to 1
 */
function waitPercentileMs (level) {
  const ratePerMs = RATE_PER_S / 1000
  const shareWithin = (/** @type {number} */ waitMs) => {
    let sum = 0
    for (let k = 0; k * SERVICE_MS <= waitMs; k++) {
      const x = ratePerMs * (waitMs - k * SERVICE_MS)
      let term = Math.exp(x)
      for (let factor = 1; factor <= k; factor++) term *= -x / factor
      sum += term
    }
    return (1 - LOAD) * sum
  }
  // The terms alternate, and beyond this they are too large for the precision of their sum.
  let [low, high] = [0, 20 * SERVICE_MS]
  while (high - low > 1e-6) {
    const middle = (low + high) / 2
    if (shareWithin(middle) < level) low = middle
    else high = middle
  }
  return low
}
