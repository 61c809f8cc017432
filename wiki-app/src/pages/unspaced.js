/**
 * Blocks of scripts that are written without spaces between words: Thai and Lao, Burmese, Khmer, Han with kana and
 * Bopomofo. Korean has spaces. Blocks are the same in each version of Unicode, so the index does not depend on Node's.
 * https://www.unicode.org/Public/UNIDATA/Blocks.txt
 */
const BLOCKS = [
  [0xE00, 0xEFF], [0x1000, 0x109F], [0x1780, 0x17FF], [0x3005, 0x3007], [0x3021, 0x312F], [0x31A0, 0x31BF],
  [0x31F0, 0x31FF], [0x3400, 0x4DBF], [0x4E00, 0x9FFF], [0xA9E0, 0xA9FF], [0xAA60, 0xAA7F], [0xF900, 0xFAFF],
  [0xFF66, 0xFF9F], [0x1AFF0, 0x1B16F], [0x20000, 0x3FFFD]
]
/** Of a class in a pattern, here and in the database. With signs and marks: what uses it looks for letters. */
export const UNSPACED = BLOCKS.map((block) => block.map((code) => String.fromCodePoint(code)).join('-')).join('')

/** A letter, with its vowel signs and tone marks. */
const CHARACTER = `[[\\p{L}\\p{N}]&&[${UNSPACED}]]\\p{M}*`
const OTHERS = `[[[\\p{L}\\p{N}]--[${UNSPACED}]]\\p{M}]+`
const CHARACTERS = new RegExp(CHARACTER, 'gv')
const TOKENS = new RegExp(`${CHARACTER}|${OTHERS}(?:_+${OTHERS})*`, 'gv')
/** Rules most texts out, ten times as fast: Latin, Greek, Cyrillic, Arabic … */
const SOME = /[\u0E00-\u17FF\u3005-\uFFFF]/

/**
 * @param {string} plain  see plainLetters
 * @returns {string} the text with spaces around each character of a script without spaces: ` 缓  存 ` for `缓存`
 */
export const separated = (plain) => SOME.test(plain) ? plain.replace(CHARACTERS, ' $& ') : plain

/**
 * @param {string} word  letters, digits and marks, with underscores between them
 * @returns {string[]} what the index has of it: `nginx`, `缓` and `存` of `nginx缓存`
 */
export const tokensOf = (word) => word.match(TOKENS) ?? []

/** @param {string} token  of tokensOf @returns {boolean} whether others may stand beside it without a space */
export const isUnspaced = (token) => token.search(CHARACTERS) === 0
