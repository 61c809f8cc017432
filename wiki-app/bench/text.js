import { createRandom } from '@stevec/harness/random'

const VOCABULARY = 4_000
const PARAGRAPH_WORDS = 60
const LETTERS_MIN = 2
const LETTERS_SPREAD = 9

const random = createRandom(0)
const letter = () => String.fromCharCode(97 + Math.floor(random() * 26))
const WORDS = Array.from({ length: VOCABULARY }, () =>
  Array.from({ length: LETTERS_MIN + Math.floor(random() * LETTERS_SPREAD) }, letter).join(''))

/**
 * Returns a text whose words have the frequencies of a language (Zipf's law: they fall with the rank). The text index
 * costs many times as much for a text in which no word occurs twice.
 * @param {number} seed
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function createText (seed, sizeChars) {
  const draw = createRandom(seed)
  let text = ''
  for (let word = 1; text.length < sizeChars; word++) {
    text += WORDS[Math.floor(VOCABULARY ** draw()) - 1] + (word % PARAGRAPH_WORDS === 0 ? '.\n\n' : ' ')
  }
  // Markdown would drop white space at the end.
  return `${text.slice(0, sizeChars - 1)}.`
}
