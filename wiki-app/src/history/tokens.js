/**
 * After white space or the end of a clause, before what begins a word. Two vowel signs, one of Thai and one of Lao, are
 * letters in Unicode but part of the character before them, so they begin nothing.
 */
const PIECES = /(?<=[ \t、。，])(?=[!-~\p{Lu}\p{Ll}\p{Lo}])(?![\u0E33\u0EB3])/u
const ASCII = /^[\0-\x7F]*$/
/** Words, also `isn't`, `3.14` and `example.org`, and runs of one sign, such as `[[` or spaces. */
const ASCII_TOKENS = /\w+(?:['.]\w+)*|(\W)\1*/g
/** Each is a character of its own: letters with cases, Han, kana. */
const SINGLE = /^[\p{Lu}\p{Ll}\p{Nd}\p{P}\p{Zs}\p{Unified_Ideograph}\u3041-\u3096\u30A1-\u30FA]*$/u
/** Intl.Segmenter takes the square of a long text. */
const PIECE_MAX_CHARS = 500

/** @type {{words: Intl.Segmenter, graphemes: Intl.Segmenter} | undefined} */
let made

/** Made when they are needed: that takes milliseconds. They are those of no language, so all machines show the same. */
const segmenters = () => (made ??= {
  words: new Intl.Segmenter('und', { granularity: 'word' }),
  graphemes: new Intl.Segmenter('und', { granularity: 'grapheme' })
})

/**
 * Splits a line into words and what is between them (UAX #29). No token ends within a character as a reader sees it.
 * @param {string} line
 * @param {{chars: number}} left  that may still be taken from words of more than ASCII; the others stay in one piece
 * @returns {string[]}
 */
export const tokensOf = (line, left) => line.split(PIECES).flatMap((piece) => {
  if (ASCII.test(piece)) return piece.match(ASCII_TOKENS) ?? []
  if (piece.length > Math.min(PIECE_MAX_CHARS, left.chars)) return [piece]
  left.chars -= piece.length
  return segmentsOf(piece)
})

/** @param {string} text */
function segmentsOf (text) {
  const { words, graphemes } = segmenters()
  const characters = SINGLE.test(text) ? undefined : graphemes.segment(text)
  /** @type {string[]} */
  const tokens = []
  let sign = ''
  for (const { segment, index, isWordLike } of words.segment(text)) {
    const again = !isWordLike && segment === sign
    // Words of Hangul may end within a syllable that is written in parts.
    const within = index > 0 && characters !== undefined && characters.containing(index)?.index !== index
    if (again || within) tokens[tokens.length - 1] += segment
    else tokens.push(segment)
    sign = isWordLike ? '' : segment
  }
  return tokens
}
