import { countOf } from '../count-of.js'
import { createPageSizes } from '../lab/page-sizes.js'
import { requestsPlanned } from '../lab/matrix.js'

export const MAX_REQUESTS = 50_000
/** Estimate per trial: the cold proof, which sends more when a purge is slow, and the readings of the counter. */
const PROOF_REQUESTS = 8
/**
 * The shortest response time over the internet on a new connection, which takes three round trips. The estimate of the
 * background's requests uses it.
 */
const ANSWER_LEAST_S = 0.02

/** A run would send, or has sent, more requests than allowed. */
export class BudgetError extends Error {}

/** @typedef {import('../lab/matrix.js').PlannedTrial} PlannedTrial */

/**
 * Numbers of requests that a run sends to the doors of a zone.
 * @typedef {{probes: number, background: number, proofs: number, pages: number, warm_up: number}} Requests
 */

/**
 * Returns the numbers of requests of one trial. The background's is an estimate: it sends as fast as responses arrive.
 * @param {PlannedTrial} trial
 * @returns {Pick<Requests, 'probes' | 'background' | 'proofs'>}
 */
export function requestsOfTrial ({ settings, plan }) {
  return {
    probes: requestsPlanned(settings) + (settings.edit === 'post' ? 0 : plan.writes),
    background: settings.background_vus === 0 ? 0 : settings.background_vus * (1 + Math.ceil(roundsOf(settings))),
    proofs: PROOF_REQUESTS
  }
}

/**
 * Estimates the responses that one reader of the background gets while the probe runs. Probe and background wait for
 * the same server. If both only wait, a reader gets about as many responses as one VU of the probe, however long each
 * takes.
 * @param {import('../lab/definition.js').Settings} settings
 */
function roundsOf (settings) {
  const { model, vus, pause_s: pauseS, rate_per_s: rate, duration_max_s: durationMaxS } = settings
  const planned = requestsPlanned(settings)
  const longest = durationMaxS / ANSWER_LEAST_S
  if (model === 'open') return Math.min(planned / /** @type {number} */ (rate) / ANSWER_LEAST_S, longest)
  return Math.min(planned / Math.min(vus, planned) * (1 + pauseS / ANSWER_LEAST_S), longest)
}

/**
 * Returns the numbers of requests of a whole run.
 * @param {PlannedTrial[]} trials  in the order of the run
 * @param {number} seed
 * @param {number} warmUpRequests
 * @returns {Requests}
 */
export function requestsOf (trials, seed, warmUpRequests) {
  const sum = { probes: 0, background: 0, proofs: 0, pages: 1, warm_up: warmUpRequests }
  const sizes = createPageSizes(seed)
  for (const trial of trials) {
    const missing = sizes.missing(trial.settings)
    sizes.wrote(missing)
    sizes.edited(trial)
    const { probes, background, proofs } = requestsOfTrial(trial)
    sum.probes += probes
    sum.background += background
    sum.proofs += proofs
    sum.pages += missing.length
  }
  return sum
}

/** @param {Partial<Requests>} requests */
export const total = (requests) => Object.values(requests).reduce((sum, count) => sum + count, 0)

/** @param {Requests} requests */
export function inWords ({ probes, background, proofs, pages, warm_up: warmUp }) {
  return `${probes} by the probes${background > 0 ? `, about ${background} by the background` : ''}, ${proofs} to prove caches cold, ${pages} to write pages, ${warmUp} to warm up`
}

/**
 * @param {Requests} requests
 * @param {number} maxRequests
 * @throws {BudgetError}
 */
export function checkBudget (requests, maxRequests) {
  if (total(requests) <= maxRequests) return
  throw new BudgetError(`the run would send about ${countOf(total(requests), 'request')} (${inWords(requests)}), and may send ${maxRequests}: choose fewer --repetitions, with --only fewer cells, or allow more with --max-requests ${total(requests)}`)
}

/**
 * Counts the requests that a run has sent.
 * @param {number} maxRequests
 */
export function createBudget (maxRequests) {
  let spent = 0
  return {
    spent: () => spent,
    /** @param {number} requests */
    spend (requests) {
      spent += requests
    },
    /**
     * @param {number} next  requests that the next trial may send
     * @throws {BudgetError} when they would exceed the budget
     */
    refuseExcess (next) {
      if (spent + next <= maxRequests) return
      throw new BudgetError(`${countOf(spent, 'request')} ${spent === 1 ? 'is' : 'are'} sent, the next trial may take ${next}, and the run may send ${maxRequests}: finished trials are kept; resume with stevec run --resume --max-requests N`)
    }
  }
}
