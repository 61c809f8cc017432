/** Letters that have no decomposition (UAX #15), in ASCII; the final sigma as any other. */
const PLAIN = new Map(Object.entries({
  đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ĸ: 'k', ł: 'l', ŋ: 'n', ø: 'o', ŧ: 't', ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ς: 'σ'
}))
const WITHOUT_DECOMPOSITION = new RegExp(`[${[...PLAIN.keys()].join('')}]`, 'g')
/** Accents of any script. The vowel signs of a script belong to it, and kana need their voicing marks. */
const ACCENT = /(?![\u3099\u309A])(?=\p{Mn})\p{Script=Inherited}/gu
/** Blocks with letters that have accents: Latin, Greek, Cyrillic; and letters and digits as wide as Han. */
const SPELT = [[0xC0, 0x24F], [0x370, 0x52F], [0x1E00, 0x1FFF], [0xFF10, 0xFF5A]]

/** @param {string} text @returns {string} in lower case, without accents: `cebela` for `Čebela` */
export const plainLetters = (text) => text
  .normalize('NFKD').replace(ACCENT, '').toLowerCase().normalize('NFC')
  .replace(WITHOUT_DECOMPOSITION, (letter) => /** @type {string} */ (PLAIN.get(letter)))

/** @param {string} text @returns {string} a pattern that matches it literally, here and in the database */
export const escapePattern = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const MARK = /\p{M}/u

/** Letters by what plainLetters makes of them; made at the first use. @type {Map<string, string> | undefined} */
let spellings

function findSpellings () {
  /** @type {Map<string, string>} */
  const found = new Map()
  for (const [first, last] of SPELT) {
    for (let code = first; code <= last; code++) {
      const letter = String.fromCharCode(code)
      if (!/[\p{Ll}\p{Nd}]/u.test(letter)) continue
      const plain = plainLetters(letter)
      if (plain === letter || !/^(?:\p{L}{1,2}|\p{Nd})$/u.test(plain)) continue
      found.set(plain, (found.get(plain) ?? '') + letter)
    }
  }
  return found
}

/**
 * @param {string} word
 * @returns {string} the source of a pattern, with the flags `iu`, that matches the word with or without accents. Marks
 *   of its own have no others behind them: a long row of both would take a pattern very long
 */
export function spellingsOf (word) {
  spellings ??= findSpellings()
  const letters = [...plainLetters(word)]
  let pattern = ''
  for (let at = 0; at < letters.length; at++) {
    const [letter, pair] = [letters[at], letters[at] + (letters[at + 1] ?? '')]
    const ligatures = pair.length === 2 ? spellings.get(pair) : undefined
    if (ligatures !== undefined) {
      pattern += `(?:${oneOf(letter)}${oneOf(letters[at + 1])}|[${ligatures}])`
      at++
    } else {
      pattern += oneOf(letter)
    }
  }
  return pattern
}

/** @param {string} letter  plain */
function oneOf (letter) {
  if (MARK.test(letter)) return letter
  const others = spellings?.get(letter)
  return `${others === undefined ? escapePattern(letter) : `[${letter}${others}]`}\\p{Mn}*`
}
