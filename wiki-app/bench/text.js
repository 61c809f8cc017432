import { createRandom } from '@stevec/harness/random'

const VOCABULARY = 4_000
const PARAGRAPH_WORDS = 60
const LETTERS_MIN = 2
const LETTERS_SPREAD = 9

const HAN = 3_000
const HAN_FIRST = 0x4E00
const SENTENCE_WORDS = 12

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

/** Most words of Chinese have two characters, and the most frequent ones one; some characters are in many words. */
const han = () => String.fromCharCode(HAN_FIRST + Math.floor(HAN * random() ** 2))
const HAN_WORDS = Array.from({ length: VOCABULARY }, (_, rank) =>
  Array.from({ length: rank < 40 ? 1 : random() < 0.75 ? 2 : 3 }, han).join(''))

/**
 * A text without spaces, with the frequencies of createText.
 * @param {number} seed
 * @param {number} sizeBytes  in UTF-8, where a character takes three
 */
export function createChinese (seed, sizeBytes) {
  const draw = createRandom(seed)
  let text = ''
  for (let word = 1; text.length < sizeBytes / 3; word++) {
    text += HAN_WORDS[Math.floor(VOCABULARY ** draw()) - 1]
    if (word % SENTENCE_WORDS === 0) text += word % PARAGRAPH_WORDS === 0 ? '。\n\n' : '，'
  }
  return text.slice(0, sizeBytes / 3)
}

/** A frequent word and a rare one. */
export const SEARCHED = { latin: [WORDS[300], WORDS[3_000]], chinese: [HAN_WORDS[300], HAN_WORDS[3_000]] }
