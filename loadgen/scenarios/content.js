// What pages say: nothing, at an exact length. Node writes the pages before a trial and k6 the edits in it, so nothing of either may be used here.
import { draw } from './plan.js'

const CONTENT_STREAM = 0x2c1b3c6d
const SIZE_STREAM = 0x297a2d39

/** @typedef {number | [number, number]} Size  characters; of a pair, drawn uniformly for each page, both ends included */

/**
 * @param {number} seed
 * @param {number} page
 * @param {Size} size
 * @returns {number} characters; the same at each call
 */
export function sizeOf (seed, page, size) {
  if (typeof size === 'number') return size
  const [least, most] = size
  return least + Math.floor(draw(seed, SIZE_STREAM, page) * (most - least + 1))
}

/**
 * Words of random letters: what a page says does not matter, its length does.
 * @param {number} seed
 * @param {number} page
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function pageText (seed, page, sizeChars) {
  let text = ''
  for (let index = 0; text.length < sizeChars; index++) {
    const value = draw(seed, CONTENT_STREAM + page, index)
    const length = 2 + Math.floor(value * 9)
    let word = ''
    for (let letter = 0; letter < length; letter++) word += String.fromCharCode(97 + Math.floor((value * 26 ** (letter + 1)) % 26))
    text += index % 60 === 59 ? `${word}.\n\n` : `${word} `
  }
  return cut(text, sizeChars)
}

/**
 * The text of an edit. Different for each `mark`, as saving the text that is there already would be no edit.
 * @param {string} base  at least `sizeChars` long
 * @param {string} mark  a word
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function editText (base, mark, sizeChars) {
  return cut(`${mark} ${base}`, sizeChars)
}

/**
 * Markdown would drop white space at the end.
 * @param {string} text
 * @param {number} sizeChars
 */
const cut = (text, sizeChars) => `${text.slice(0, sizeChars - 1)}.`
