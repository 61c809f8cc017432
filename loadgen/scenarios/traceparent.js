// A trace's id for each iteration, as a pure function of the plan. Node and k6 both run this file: no APIs of either.
import { draw } from './plan.js'

/** Drawn independently of pages and edits. */
const TRACE_STREAM = 0x7f4a7c15
const SAMPLE_STREAM = 0x94d049bb
const WORDS = 6
/** Not 0: https://www.w3.org/TR/trace-context/#trace-id refuses an id of zeros. */
const hex = (/** @type {number} */ share) => (1 + Math.floor(share * 0xfffffffe)).toString(16).padStart(8, '0')

/**
 * @param {import('./plan.js').Plan} plan
 * @param {number} index  of the iteration
 * @param {number} ratio  of iterations that are to be traced
 * @returns {string} the header `traceparent`
 */
export function traceparentOf ({ seed, stream }, index, ratio) {
  const words = Array.from({ length: WORDS }, (_, word) =>
    hex(draw(seed, stream ^ TRACE_STREAM ^ Math.imul(word, 0x165667b1), index)))
  const isSampled = draw(seed, stream ^ SAMPLE_STREAM, index) < ratio
  return `00-${words.slice(0, 4).join('')}-${words.slice(4).join('')}-0${isSampled ? 1 : 0}`
}
