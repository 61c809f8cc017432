// A simple record, and the paths of the record service (../records). Node and k6 both run this file: no APIs of either.
import { draw } from './plan.js'

const NUMBER_STREAM = 0x2c1b3c6d
const LETTERS = 'abcdefghijklmnopqrstuvwxyz '

/** @typedef {'none' | 'express' | 'koa' | 'fastify'} Framework  none: inserts without HTTP */
/** @typedef {'none' | 'sync' | 'group-commit' | 'async' | 'group' | 'bulk'} WriteStrategy  none: nothing is inserted */

export const RECORDS_PATH = '/records'
export const EMPTY_PATH = '/empty'

/**
 * @param {string} mark  of the trial
 * @param {number} index  of the iteration
 * @returns {string} a key that no other record of the run has, and that tells the iteration
 */
export const recordKey = (mark, index) => `${mark}-${index + 1}`

/** @param {string} key @returns {number} the index of the iteration */
export const indexOfKey = (key) => Number(key.slice(key.lastIndexOf('-') + 1)) - 1

/**
 * Makes a record that depends on the seed, the trial and the iteration only.
 * @param {{seed: number, mark: string, index: number, sizeChars: number}} options  `sizeChars`: of the text
 */
export function recordOf ({ seed, mark, index, sizeChars }) {
  const number = Math.floor(1e9 * draw(seed, NUMBER_STREAM, index))
  const text = `${LETTERS[number % LETTERS.length].repeat(Math.max(0, sizeChars - 10))}${String(number).padStart(10)}`
  return { key: recordKey(mark, index), number, text: text.slice(0, sizeChars) }
}
