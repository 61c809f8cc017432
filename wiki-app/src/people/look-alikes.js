import createError from '@fastify/error'
import { userKey } from '../access/users.js'

const FOUND_MAX = 10
/** Letters of these look like each other (UTS 39 §5). */
const SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]

export const LooksAlike = createError(
  'WIKI_NAME_LOOKS_ALIKE',
  '“%s” looks like “%s”, a name that is here already. Choose a name that nobody takes for that one.',
  409
)
export const MixedScripts = createError(
  'WIKI_MIXED_SCRIPTS',
  '“%s” has a word with letters of several scripts, such as Latin and Cyrillic, that look like each other. ' +
    'Write each word in one of them.',
  400
)

/** @param {string} text @returns {boolean} whether its letters are of scripts that look like each other */
export const isMixed = (text) => SCRIPTS.filter((script) => script.test(text)).length > 1

/** @param {string} name @throws {Error} 400 */
export function refuseMixed (name) {
  if (name.split(/\s/).some(isMixed)) throw new MixedScripts(name)
}

/**
 * Which of `names` look like another one, also if only capitals differ. By the table of UTS 39 §4, which
 * `unhomoglyph` has; it is loaded with the first new person.
 * @param {string[]} names
 * @param {(AsyncIterable<string> | Iterable<string>)[]} others
 * @returns {Promise<Map<string, string[]>>} the others that each looks like, or is; the first ten
 */
export async function lookAlikes (names, others) {
  const { default: base } = await import('unhomoglyph')
  /** In small letters as well: I looks like l, and i does not. @param {string} name */
  const shapesOf = (name) => [
    `1 ${base(name.normalize('NFD')).toLowerCase()}`, `2 ${base(userKey(name).normalize('NFD'))}`
  ]
  /** @type {Map<string, string[]>} */
  const byShape = new Map()
  for (const name of names) for (const shape of shapesOf(name)) byShape.set(shape, [...byShape.get(shape) ?? [], name])
  /** @type {Map<string, string[]>} */
  const found = new Map()
  for (const each of others) {
    for await (const other of each) {
      for (const name of new Set(shapesOf(other).flatMap((shape) => byShape.get(shape) ?? []))) {
        const likes = found.get(name) ?? []
        if (likes.length < FOUND_MAX) found.set(name, [...likes, other])
      }
    }
  }
  return found
}
