import { escapePattern, plainLetters } from './letters.js'
import { isUnspaced, tokensOf, UNSPACED } from './unspaced.js'

const DIGITS_MAX = 9
/** Of more words in a query only the first count: each is looked for in every title. */
const WORDS_MAX = 20
/** Of words that have spaces between them. Here and in the database (PCRE). */
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{N}]`

/** `A` before a number of one digit … `I` before one of nine or more: 2 sorts before 10. All else is in lower case. */
const markOf = (/** @type {number} */ digits) => String.fromCharCode(64 + Math.min(digits, DIGITS_MAX))

/**
 * Equal for names that differ in case, accents, leading zeros, and spaces or underscores.
 * @param {string} text @returns {string} `dolgi rok cebele` for `Dolgi_rok čebele`, `page B10` for `Page 10`
 */
export const searchKey = (text) => plainLetters(text)
  .replace(/[\s_]+/gu, ' ')
  .trim()
  .replace(/[0-9]+/g, (digits) => {
    const number = digits.replace(/^0+(?=.)/, '')
    return markOf(number.length) + number
  })

/**
 * @typedef {object} TitleQuery
 * @property {string[]} beginnings  the keys of the best titles begin with one of these
 * @property {string} elsewhere  a pattern (PCRE) for the keys of the other titles: each word of the query begins a word
 *   of theirs, or they have the whole query somewhere within
 */

/** @param {string} q  words; one after a minus sign must not be there @returns {TitleQuery | null} null: no words */
export function titleQuery (q) {
  const key = searchKey(q)
  if (key === '') return null
  const beginnings = beginningsOf(key)
  const tokens = plainLetters(q).split(/[\s_]+/u)
  const wordsOf = (/** @type {boolean} */ unwanted) => tokens
    .filter((token) => /^-./.test(token) === unwanted)
    .flatMap((token) => token.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])
    .slice(0, WORDS_MAX)
    .map(wordPattern)
  const wanted = wordsOf(false).map(({ before, word }) => `(?=.*${before}${withOpenEnd(word)})`).join('')
  const unwanted = wordsOf(true).map(({ before, word, after }) => `(?!.*${before}${word}${after})`).join('')
  const within = `(?=.*${withOpenEnd(escapePattern(key).replace(/^[A-I](?=[0-9])/, ''))})`
  return {
    beginnings,
    elsewhere: `^(?!${beginnings.map(escapePattern).join('|')})${unwanted}(?:${wanted ? `${wanted}|` : ''}${within})`
  }
}

/** @param {string} text  a word; in a title another may follow a character of Chinese without a space */
function wordPattern (text) {
  const tokens = tokensOf(text)
  return {
    before: isUnspaced(tokens[0]) ? '' : `(?<!${LETTER})`,
    word: tokens.map((token) => escapePattern(searchKey(token))).join(' ?'),
    after: isUnspaced(tokens[tokens.length - 1]) ? '' : `(?!${LETTER})`
  }
}

/** A number at the end may go on: `page 1` begins `page 10`, too. @param {string} key */
function beginningsOf (key) {
  const [, before, number] = /^(.*)[A-I]([0-9]+)$/su.exec(key) ?? []
  if (number === undefined || number === '0') return [key]
  const least = Math.min(number.length, DIGITS_MAX)
  return Array.from({ length: DIGITS_MAX + 1 - least }, (_, more) => before + markOf(least + more) + number)
}

/** @param {string} pattern  of a key */
const withOpenEnd = (pattern) => pattern.replace(/[A-I](?=[0-9]+$)/, '[A-I]')
