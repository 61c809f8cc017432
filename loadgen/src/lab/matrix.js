import { createHash } from 'node:crypto'
import { draw, pageName, requestAt } from '../../scenarios/plan.js'

/** Streams of the seed above any repetition's own. */
const ORDER_STREAM = 1_000_000

/** @typedef {import('../../scenarios/plan.js').Plan} Plan */
/** @typedef {import('./definition.js').Definition} Definition */

/**
 * What a repetition's requests are, the same for each door, so that doors are compared in pairs.
 * @typedef {{repetition: number, plan: Plan, hash: string, distinct_pages: number}} RepetitionPlan
 */

/**
 * @param {Definition} definition
 * @param {number} seed
 * @returns {{plans: RepetitionPlan[], hash: string}} `hash` identifies all requests of the run in their order
 */
export function planRun (definition, seed) {
  const plans = []
  const all = createHash('sha256')
  for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
    const plan = { seed, stream: repetition, requests: definition.requests, pages: definition.pages }
    const hash = createHash('sha256')
    const pages = new Set()
    for (let index = 0; index < plan.requests; index++) {
      const { method, page } = requestAt(plan, index)
      hash.update(`${method} ${pageName(page)}\n`)
      pages.add(page)
    }
    const digest = `sha256:${hash.digest('hex')}`
    all.update(`${digest}\n`)
    plans.push({ repetition, plan, hash: digest, distinct_pages: pages.size })
  }
  return { plans, hash: `sha256:${all.digest('hex')}` }
}

/**
 * Every door once in each repetition, in an order drawn from the seed, so that drift of the machine meets all doors alike.
 * @param {Definition} definition
 * @param {number} seed
 * @returns {{trial: number, repetition: number, door: import('./definition.js').DoorName}[]}
 */
export function orderTrials (definition, seed) {
  const trials = []
  for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
    const doors = [...definition.doors]
    // Fisher–Yates.
    for (let last = doors.length - 1; last > 0; last--) {
      const other = Math.floor(draw(seed, ORDER_STREAM + repetition, last) * (last + 1))
      ;[doors[last], doors[other]] = [doors[other], doors[last]]
    }
    for (const door of doors) trials.push({ trial: trials.length + 1, repetition, door })
  }
  return trials
}
