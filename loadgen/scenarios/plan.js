// The request plan as a pure function of its seed. Node and k6 both run this file, so nothing of either may be used here.

/**
 * @typedef {object} Plan
 * @property {number} seed  0…2³²−1
 * @property {number} stream  separates plans of one seed, e.g. one for each repetition
 * @property {number} requests
 * @property {number} pages  number of different pages to choose from
 */

/** MurmurHash3's 32-bit finaliser: every bit of the input moves every bit of the output. @param {number} value */
function mix (value) {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** 2³² ÷ golden ratio: consecutive integers become far-apart inputs. */
const STEP = 0x9e3779b9

/**
 * A number that depends on nothing but its three arguments: the order in which VUs ask for it does not matter.
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
 * @returns {{method: 'GET', page: number}} page 0…pages − 1
 */
export function requestAt (plan, index) {
  return { method: 'GET', page: Math.floor(draw(plan.seed, plan.stream, index) * plan.pages) }
}

/**
 * @param {number} page
 * @returns {string} the page's name in the wiki
 */
export function pageName (page) {
  return `page-${String(page + 1).padStart(6, '0')}`
}
