// What pages say: nothing, at an exact length. Node writes the pages before a trial and k6 the edits in it, so nothing of either may be used here.
import { draw } from './plan.js'

const CONTENT_STREAM = 0x2c1b3c6d
const SIZE_STREAM = 0x297a2d39
const ANGLE_STREAM = 0x3c6ef372
const VOCABULARY_STREAM = 0x1f83d9ab
/** Words that there are. */
const VOCABULARY = 4000

/** Fewer characters are no page. */
const LEAST_CHARS = 32

/**
 * Characters. Of a pair, drawn uniformly for each page, both ends included; lognormal: the logarithm is normal with that of the median as its mean and the
 * deviation sigma, and what would be longer than max is as long as that.
 * @typedef {number | [number, number] | {lognormal: {median: number, sigma: number, max: number}}} Size
 */

/** @param {Size} size */
export function largestOf (size) {
  return typeof size === 'number' ? size : Array.isArray(size) ? size[1] : size.lognormal.max
}

/**
 * @param {Size} size
 * @returns {number} what a page has on average; of a lognormal one without the cut at its ends
 */
export function meanOf (size) {
  if (typeof size === 'number') return size
  return Array.isArray(size) ? (size[0] + size[1]) / 2 : size.lognormal.median * Math.exp(size.lognormal.sigma ** 2 / 2)
}

/**
 * @param {number} seed
 * @param {number} page
 * @param {Size} size
 * @returns {number} characters; the same at each call
 */
export function sizeOf (seed, page, size) {
  if (typeof size === 'number') return size
  if (!Array.isArray(size)) return lognormalSize(seed, page, size.lognormal)
  const [least, most] = size
  return least + Math.floor(draw(seed, SIZE_STREAM, page) * (most - least + 1))
}

/**
 * By the Box–Muller transform, from two draws.
 * @param {number} seed
 * @param {number} page
 * @param {{median: number, sigma: number, max: number}} law
 */
function lognormalSize (seed, page, { median, sigma, max }) {
  const radius = Math.sqrt(-2 * Math.log(1 - draw(seed, SIZE_STREAM, page)))
  const normal = radius * Math.cos(2 * Math.PI * draw(seed, ANGLE_STREAM, page))
  return Math.min(max, Math.max(LEAST_CHARS, Math.round(median * Math.exp(sigma * normal))))
}

/**
 * Words of random letters: what a page says does not matter, its length does. They are as often different as words of a language are (the frequency of a word
 * falls with its rank, Zipf's law): the wiki has an index of words, and a text in which no word comes twice would cost it many times as much.
 * @param {number} seed
 * @param {number} page
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function pageText (seed, page, sizeChars) {
  let text = ''
  for (let index = 0; text.length < sizeChars; index++) {
    const rank = Math.floor(VOCABULARY ** draw(seed, CONTENT_STREAM + page, index))
    text += index % 60 === 59 ? `${wordOf(rank)}.\n\n` : `${wordOf(rank)} `
  }
  return cut(text, sizeChars)
}

/** By rank, each made when it is first used. @type {string[]} */
const words = []

/** @param {number} rank  1…VOCABULARY */
function wordOf (rank) {
  if (words[rank] !== undefined) return words[rank]
  const value = draw(0, VOCABULARY_STREAM, rank)
  let word = ''
  for (let letter = 0; letter < 2 + Math.floor(value * 9); letter++) word += String.fromCharCode(97 + Math.floor((value * 26 ** (letter + 1)) % 26))
  words[rank] = word
  return word
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
