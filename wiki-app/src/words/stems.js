import { stemmer } from 'stemmer'

/** @import {Language} from '../site/languages.js' */

/** Shorter words have no ending to take off. */
const WORD_MIN_CHARS = 4
const STEM_MIN_CHARS = 3
/** Of words without accents, as they are indexed (terms.js). */
const LATIN = /^[a-z]+$/

/**
 * Endings of Slovene nouns, adjectives and verbs, after M. Popovič and P. Willett, "The effectiveness of stemming for
 * natural-language access to Slovene textual data", JASIS 43 (1992), shortened: Snowball knows no Slovene.
 */
const SLOVENE_ENDINGS = [
  'ovanja', 'ovanje', 'ovanju', 'evanja', 'evanje', 'ovali', 'ovala', 'ovalo', 'ovati', 'ujejo', 'ujemo', 'ujete',
  'anjem', 'enjem', 'ujem', 'ujes', 'oval', 'ajmo', 'ajte', 'imi', 'ami', 'emi', 'ima', 'ama', 'oma', 'ema', 'ega',
  'emu', 'iti', 'ati', 'eti', 'ila', 'ilo', 'ili', 'ile', 'ala', 'alo', 'ali', 'ale', 'ela', 'elo', 'eli', 'ele',
  'imo', 'ite', 'ijo', 'ita', 'iva', 'amo', 'ate', 'ajo', 'ata', 'ava', 'emo', 'ete', 'ejo', 'eta', 'eva', 'uje',
  'anja', 'anje', 'anju', 'enja', 'enje', 'enju', 'ah', 'ih', 'eh', 'am', 'im', 'em', 'om', 'ov', 'ev', 'mi', 'as',
  'is', 'es', 'il', 'al', 'el', 'it', 'at', 'a', 'e', 'i', 'o', 'u'
].sort((one, other) => other.length - one.length)

/** What Korean writes at the end of a word, where other languages have words of their own. Several may follow. */
const PARTICLES = [
  '은', '는', '이', '가', '을', '를', '의', '에', '에서', '에게', '한테', '께', '도', '만',
  '와', '과', '로', '으로', '이나', '하고', '까지', '부터', '처럼', '보다', '마다'
]
const AT_END = new RegExp(`(?<=^.{2,})(?:${PARTICLES.join('|')})+$`)
/** Longer ones would only cost time. */
const HANGUL = /^[가-힣]{3,30}$/

/** @type {Record<Language, (word: string) => string>} */
const STEMMERS = {
  // https://tartarus.org/martin/PorterStemmer/
  en: stemmer,
  sl: (word) => {
    const ending = SLOVENE_ENDINGS.find((each) => word.endsWith(each) && word.length - each.length >= STEM_MIN_CHARS)
    return ending === undefined ? word : word.slice(0, -ending.length)
  }
}

/**
 * What words with other endings have in common.
 * @param {string} word  as it is indexed @param {Language} language
 * @returns {string} the word itself if it has no ending
 */
export function stemOf (word, language) {
  // Whatever the language is: no other one is written so.
  if (HANGUL.test(word)) return word.replace(AT_END, '')
  return word.length < WORD_MIN_CHARS || !LATIN.test(word) ? word : STEMMERS[language](word)
}

/** @param {string} word @param {string} stem @returns {string} how all words with this stem may begin */
export function beginningOf (word, stem) {
  let length = 0
  while (length < stem.length && stem[length] === word[length]) length++
  return word.slice(0, length)
}
