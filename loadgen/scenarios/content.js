// Page texts: no meaning, exact length. Node writes the pages before a trial and k6 the edits in it: no APIs of either.
import { draw } from './plan.js'

const CONTENT_STREAM = 0x2c1b3c6d
const SIZE_STREAM = 0x297a2d39
const ANGLE_STREAM = 0x3c6ef372
const VOCABULARY_STREAM = 0x1f83d9ab
/** Number of different words. */
const VOCABULARY = 4000

/** Smallest page. */
const LEAST_CHARS = 32

/**
 * Size in characters. A pair: drawn uniformly for each page, both ends included. Lognormal: the logarithm is normal,
 * with the median's logarithm as its mean and sigma as its deviation; `max` caps the size.
 * @typedef {number | [number, number] | {lognormal: {median: number, sigma: number, max: number}}} Size
 */

/** @param {Size} size */
export function largestOf (size) {
  return typeof size === 'number' ? size : Array.isArray(size) ? size[1] : size.lognormal.max
}

/**
 * @param {Size} size
 * @returns {number} mean size of a page; of a lognormal size before the limits at both ends
 */
export function meanOf (size) {
  if (typeof size === 'number') return size
  return Array.isArray(size) ? (size[0] + size[1]) / 2 : size.lognormal.median * Math.exp(size.lognormal.sigma ** 2 / 2)
}

/**
 * @param {number} seed
 * @param {number} page
 * @param {Size} size
 * @returns {number} characters; the same on each call
 */
export function sizeOf (seed, page, size) {
  if (typeof size === 'number') return size
  if (!Array.isArray(size)) return lognormalSize(seed, page, size.lognormal)
  const [least, most] = size
  return least + Math.floor(draw(seed, SIZE_STREAM, page) * (most - least + 1))
}

/**
 * Uses the Box–Muller transform on two draws.
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
 * Makes a text of random words: only its length matters, not its content. Word frequency falls with rank as in a
 * natural language (Zipf's law): the wiki has an index of words, and a text without repeated words would cost it many
 * times as much.
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

/** By rank; each word is made at its first use. @type {string[]} */
const words = []

/** @param {number} rank  1…VOCABULARY */
function wordOf (rank) {
  if (words[rank] !== undefined) return words[rank]
  const value = draw(0, VOCABULARY_STREAM, rank)
  let word = ''
  for (let letter = 0; letter < 2 + Math.floor(value * 9); letter++) {
    word += String.fromCharCode(97 + Math.floor((value * 26 ** (letter + 1)) % 26))
  }
  words[rank] = word
  return word
}

/**
 * Makes the text of an edit. It differs for each `mark`, because saving an unchanged text is no edit.
 * @param {string} base  at least `sizeChars` long
 * @param {string} mark  a word
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function editText (base, mark, sizeChars) {
  return cut(`${mark} ${base}`, sizeChars)
}

/**
 * Cuts a text. It ends with a dot, because Markdown would drop white space at the end.
 * @param {string} text
 * @param {number} sizeChars
 */
const cut = (text, sizeChars) => `${text.slice(0, sizeChars - 1)}.`
