import { createHash } from 'node:crypto'
import { arrivalsIn, stagesOf } from '../../scenarios/arrivals.js'
import { draw, pageName, requestAt } from '../../scenarios/plan.js'
import { cellsOf } from './definition.js'

const ORDER_STREAM = 0x632be5ab

/** @typedef {import('../../scenarios/plan.js').Plan} Plan */
/** @typedef {import('./definition.js').Definition} Definition */
/** @typedef {import('./definition.js').Settings} Settings */

/**
 * The requests of one or more trials of a repetition; trials with the same plan are compared in pairs.
 * @typedef {object} TrialPlan
 * @property {string} id
 * @property {number} repetition
 * @property {string} hash
 * @property {Plan} plan
 * @property {number} reads  iterations without an edit
 * @property {number} writes  iterations with an edit
 * @property {number} distinct_pages
 */

/**
 * @typedef {object} PlannedTrial
 * @property {number} trial
 * @property {number} repetition
 * @property {import('./definition.js').Cell} cell
 * @property {Settings} settings
 * @property {TrialPlan} plan
 */

/**
 * Returns all trials of a run in order: each repetition has every cell once, in an order drawn from the seed, so that
 * drift of the machine affects all cells alike.
 * @param {Definition} definition
 * @param {number} seed
 * @returns {{trials: PlannedTrial[], plans: TrialPlan[], hash: string}} `hash` covers all requests of the run, in order
 */
export function planRun (definition, seed) {
  const cells = cellsOf(definition)
  /** @type {PlannedTrial[]} */
  const trials = []
  /** @type {Map<string, TrialPlan>} */
  const plans = new Map()
  const all = createHash('sha256')
  for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
    /** @type {Omit<PlannedTrial, 'trial'>[]} */
    const round = cells.map(({ cell, settings }) => {
      const plan = planOf(settings, seed, repetition)
      const key = JSON.stringify(plan)
      if (!plans.has(key)) {
        const made = { id: `p${plans.size + 1}`, repetition, plan, ...contentsOf(plan, settings.edit) }
        plans.set(key, made)
        all.update(`${made.hash}\n`)
      }
      return { repetition, cell, settings, plan: /** @type {TrialPlan} */ (plans.get(key)) }
    })
    // Fisher–Yates.
    for (let last = round.length - 1; last > 0; last--) {
      const other = Math.floor(draw(seed, ORDER_STREAM + repetition, last) * (last + 1))
      ;[round[last], round[other]] = [round[other], round[last]]
    }
    for (const trial of round) trials.push({ trial: trials.length + 1, ...trial })
  }
  return { trials, plans: [...plans.values()], hash: `sha256:${all.digest('hex')}` }
}

/**
 * Returns the probe's iterations. In the open model, a trial bound by time always takes that time, however the server
 * performs.
 * @param {Settings} settings
 */
export function requestsPlanned ({ requests, model, bound, rate_per_s: rate, burst, duration_max_s: duration }) {
  return model === 'open' && bound === 'either'
    ? Math.min(requests, arrivalsIn(stagesOf(/** @type {number} */ (rate), burst, duration)))
    : requests
}

/**
 * @param {Pick<PlannedTrial, 'trial'>} trial
 * @returns {string} what marks its edits; unique within a run
 */
export const markOf = ({ trial }) => `t${trial}`

/**
 * Makes a plan from the seed, the repetition and the load only, not from what is compared under that load: every door
 * gets the same pages in the same order, with edits or without, and each popularity maps the same draws to pages. Each
 * load level has its own draws, so that levels are independent.
 * @param {Settings} settings
 * @param {number} seed
 * @param {number} repetition
 * @returns {Plan}
 */
function planOf (settings, seed, repetition) {
  const {
    pages,
    page_size_chars: size,
    rate_per_s: rate,
    background_vus: background,
    edit_ratio: editRatio,
    popularity,
    edit_popularity: editPopularity
  } = settings
  const requests = requestsPlanned(settings)
  return {
    seed,
    stream: streamOf([repetition, pages, size, requests, rate, background]),
    requests,
    pages,
    edit_ratio: editRatio,
    popularity,
    edit_popularity: editPopularity
  }
}

/**
 * @param {unknown[]} facts
 * @returns {number} 0…2³²−1
 */
function streamOf (facts) {
  return createHash('sha256').update(JSON.stringify(facts)).digest().readUInt32BE(0)
}

/**
 * Returns the background's requests: the same pages, drawn independently of the probe's.
 * @param {Plan} plan
 * @returns {Plan}
 */
export function backgroundPlan (plan) {
  return { ...plan, stream: streamOf(['background', plan.stream]), edit_ratio: 0 }
}

/**
 * @param {Plan} plan
 * @param {Settings['edit']} edit
 */
function contentsOf (plan, edit) {
  const hash = createHash('sha256')
  const pages = new Set()
  let writes = 0
  for (let index = 0; index < plan.requests; index++) {
    const request = requestAt(plan, index)
    hash.update(`${request.edit ? edit : 'get'} ${pageName(request.page)}\n`)
    pages.add(request.page)
    if (request.edit) writes += 1
  }
  return { hash: `sha256:${hash.digest('hex')}`, reads: plan.requests - writes, writes, distinct_pages: pages.size }
}
