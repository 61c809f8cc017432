import { isLine, NAME_MAX_CHARS } from '../access/users.js'
import { isMixed } from './look-alikes.js'

/** Room for a number behind it. */
const GIVEN_MAX_CHARS = NAME_MAX_CHARS - 8
const NUMBERS_MAX = 50
const NAMELESS = 'Person'

/**
 * Without forms of letters and blanks that look like others; for letters of other scripts, see look-alikes.js.
 * @param {string} name
 */
export const plain = (name) => name.normalize('NFKC').replace(/\s+/g, ' ')

/**
 * Names for a person with a name from elsewhere, the best first.
 * @param {string[]} given  of any characters
 * @returns {Generator<string>} of names that `isLine` allows; at most `NUMBERS_MAX`
 */
export function * namesFor (given) {
  const name = given.map(usable).find((each) => each !== null) ?? NAMELESS
  yield name
  for (let number = 2; number <= NUMBERS_MAX; number++) yield `${name} ${number}`
}

/** Of a mail address only its first part: names are shown to everybody. @param {string} given */
function usable (given) {
  const name = plain(given.slice(0, 1_000)).split('@', 1)[0].slice(0, GIVEN_MAX_CHARS).trim()
  return isLine(name, GIVEN_MAX_CHARS) && !isMixed(name) && /\p{L}/u.test(name) ? name : null
}
