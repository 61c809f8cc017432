/** @import {Sqlite} from './sqlite.js' */

/** Shorter words have too many neighbours, and may be abbreviations. */
const WORD_MIN_CHARS = 4
/** From this length on two edits are allowed. */
const LONG_CHARS = 8
/** Words of the index that are compared with one of a query; beyond it, only those with the same two first letters. */
const COMPARED_MAX = 5_000
const SIMILAR_MAX = 3
const LETTERS = /^\p{L}+$/u

/** @param {string} word @returns {boolean} whether words like it are worth a look */
export const hasSimilar = (word) => word.length >= WORD_MIN_CHARS && LETTERS.test(word)

/**
 * Words of the index that are one edit away, or two for long words: a letter more, less or another one, or two letters
 * that have changed places. Mistakes in the first letter are rare, so they are not looked for.
 * @param {Sqlite} sqlite  with fts5vocab as `temp.terms` @param {string} word  as it is indexed, for which `hasSimilar`
 * @returns {Promise<string[]>} at most 3: the nearest first, of those the one that most pages have
 */
export async function similarTo (sqlite, word) {
  const most = word.length < LONG_CHARS ? 1 : 2
  const [first, second] = word
  const all = await termsIn(sqlite, first, word.length, most)
  const terms = all.length <= COMPARED_MAX ? all : await termsIn(sqlite, first + second, word.length, most)
  return terms
    .filter(({ term }) => LETTERS.test(term))
    .map(({ term, doc }) => ({ term, doc, distance: distanceOf(word, term, most) }))
    .filter(({ distance }) => distance <= most)
    .sort((one, other) => one.distance - other.distance || other.doc - one.doc)
    .slice(0, SIMILAR_MAX)
    .map(({ term }) => term)
}

/**
 * @param {Sqlite} sqlite @param {string} beginning @param {number} chars @param {number} most
 * @returns {Promise<{term: string, doc: number}[]>} one more than are compared, if there are
 */
const termsIn = (sqlite, beginning, chars, most) => sqlite.all(
  'select term, doc from temp.terms where term >= ? and term < ? and length(term) between ? and ? limit ?',
  beginning, `${beginning}\u{10FFFF}`, chars - most, chars + most, COMPARED_MAX + 1)

/**
 * Restricted Damerau–Levenshtein, or optimal string alignment. fastest-levenshtein, the library for this, counts two
 * letters that have changed places as two edits.
 * @param {string} a @param {string} b @param {number} most @returns {number} any number above `most` if it is more
 */
export function distanceOf (a, b, most) {
  /** @type {number[]} */
  let beforeLast = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j], beforeLast[j - 2] + 1)
      least = Math.min(least, row[j])
    }
    if (least > most) return most + 1
    beforeLast = last
    last = row
  }
  return last[b.length]
}
