// The request plan as a pure function of its seed. Node and k6 both run this file: no APIs of either.
import { choosePage } from './popularity.js'

/**
 * @typedef {object} Plan
 * @property {number} seed  0…2³²−1
 * @property {number} stream  0…2³²−1; separates plans of one seed, e.g. one for each repetition
 * @property {number} requests  iterations
 * @property {number} pages  number of different pages
 * @property {number} edit_ratio  0…1: the chance that an iteration is an edit
 * @property {import('./popularity.js').Popularity} [popularity]  default uniform
 * @property {import('./popularity.js').Popularity | null} [edit_popularity]  draws the pages of edits, independently of
 *   those of reads; default null: an edit takes its iteration's page
 */

/** MurmurHash3's 32-bit finaliser: every bit of the input affects every bit of the output. @param {number} value */
function mix (value) {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** 2³² ÷ golden ratio: spreads consecutive integers far apart. */
const STEP = 0x9e3779b9
/** Edits are drawn independently of pages: a plan with edits and its twin without them visit the same pages. */
const EDIT_STREAM = 0x5bd1e995
const EDIT_PAGE_STREAM = 0x27d4eb2f
/** For a popularity that needs several draws for one page. */
const ATTEMPT_STREAM = 0x165667b1

/**
 * Returns a number that depends only on the three arguments, not on the order in which VUs call this.
 * @param {number} seed
 * @param {number} stream
 * @param {number} index
 * @returns {number} uniform in [0, 1)
 */
export function draw (seed, stream, index) {
  const key = mix(mix(seed ^ STEP) + Math.imul(stream + 1, STEP))
  return mix(key + Math.imul(index + 1, STEP)) / 2 ** 32
}

/**
 * @param {Plan} plan
 * @param {number} index  0…requests − 1; in k6 `exec.scenario.iterationInTest`
 * @returns {{page: number, edit: boolean}} page 0…pages − 1
 */
export function requestAt (plan, index) {
  const { seed, stream, pages, popularity = 'uniform', edit_popularity: editPopularity = null } = plan
  const edit = plan.edit_ratio > 0 && draw(seed, stream ^ EDIT_STREAM, index) < plan.edit_ratio
  const apart = edit && editPopularity !== null
  const from = apart ? stream ^ EDIT_PAGE_STREAM : stream
  const page = choosePage(
    apart ? editPopularity : popularity,
    pages,
    (attempt) => draw(seed, from ^ Math.imul(attempt, ATTEMPT_STREAM), index)
  )
  return { page, edit }
}

/**
 * @param {string} mark  of the trial
 * @param {number} index  of the iteration that creates it
 * @returns {string} name of a page that no other trial of the run has
 */
export const newPageName = (mark, index) => `new-${mark}-${index + 1}`

/**
 * @param {number} page
 * @returns {string} the page's name in the wiki
 */
export function pageName (page) {
  return `page-${String(page + 1).padStart(6, '0')}`
}
