/**
 * Code points of the letters A and a, of the digit 0, and of the Greek letters Α and α:
 * https://www.w3.org/TR/mathml-core/#new-text-transform-mappings
 * @type {Record<string, [number, number, number?, number?, number?]>}
 */
const FIRST = {
  bold: [0x1D400, 0x1D41A, 0x1D7CE, 0x1D6A8, 0x1D6C2],
  italic: [0x1D434, 0x1D44E, undefined, 0x1D6E2, 0x1D6FC],
  'bold-italic': [0x1D468, 0x1D482, undefined, 0x1D71C, 0x1D736],
  script: [0x1D49C, 0x1D4B6],
  'bold-script': [0x1D4D0, 0x1D4EA],
  fraktur: [0x1D504, 0x1D51E],
  'bold-fraktur': [0x1D56C, 0x1D586],
  'double-struck': [0x1D538, 0x1D552, 0x1D7D8],
  'sans-serif': [0x1D5A0, 0x1D5BA, 0x1D7E2],
  'bold-sans-serif': [0x1D5D4, 0x1D5EE, 0x1D7EC, 0x1D756, 0x1D770],
  'sans-serif-italic': [0x1D608, 0x1D622],
  'sans-serif-bold-italic': [0x1D63C, 0x1D656, undefined, 0x1D790, 0x1D7AA],
  monospace: [0x1D670, 0x1D68A, 0x1D7F6]
}
/** Letters that Unicode had before the others of their kind. @type {Record<string, Record<string, string>>} */
const OLDER = {
  italic: { h: 'ℎ' },
  script: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ', e: 'ℯ', g: 'ℊ', o: 'ℴ' },
  fraktur: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
  'double-struck': { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' }
}
const RANGES = [['A', 'Z'], ['a', 'z'], ['0', '9'], ['Α', 'Ω'], ['α', 'ω']]

/**
 * Browsers no longer show `mathvariant`, so its letters are those of Unicode.
 * @param {string} text @param {string} variant  a word of MathML 3, as `double-struck`
 * @returns {string | null} null: a character has no such letter
 */
export function letters (text, variant) {
  const shown = []
  for (const letter of text) {
    const other = OLDER[variant]?.[letter] ?? letterOf(letter, FIRST[variant] ?? [])
    if (other === undefined) return null
    shown.push(other)
  }
  return shown.join('')
}

/** @param {string} letter @param {(number | undefined)[]} first */
function letterOf (letter, first) {
  const range = RANGES.findIndex(([from, to]) => letter >= from && letter <= to)
  const start = first[range]
  if (start === undefined) return undefined
  return String.fromCodePoint(start + letter.charCodeAt(0) - RANGES[range][0].charCodeAt(0))
}
