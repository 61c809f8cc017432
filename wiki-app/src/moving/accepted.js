import { canonicalTag, TAGS_MAX } from '../pages/tags.js'
import { writableName } from '../pages/name.js'
import { hiddenIn } from '../pages/visible.js'
import { AUTHOR_SCHEMA, CHANGE_PROPERTIES } from '../writing/change.js'

/** Of pages/visible.js; here they are left out, not refused. */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u2800\uFFF9-\uFFFB]/gu
const NOT_IN_A_LINE = /[\p{Cc}\p{Cs}\uFFFE\uFFFF\u202A-\u202E\u2066-\u2069\s]+/gu

/**
 * A name that this wiki can have. Hidden characters, and slashes with nothing between them, are left out.
 * @param {string} given
 * @returns {{name: string, changed: boolean} | {reason: string}} `changed`: links to the old name do not lead there
 */
export function acceptedName (given) {
  try {
    const name = writableName(given)
    if (hiddenIn(name) === null) return { name, changed: false }
  } catch { /* It may do without what no name has. */ }
  const less = given.replace(HIDDEN, '').split('/').filter((part) => part.trim() !== '').join('/')
  try {
    const name = writableName(less)
    if (hiddenIn(name) === null) return { name, changed: true }
    return { reason: 'its name has invisible characters' }
  } catch (error) {
    return { reason: /** @type {Error} */ (error).message }
  }
}

/** @param {string} given @param {number} maxChars */
function line (given, maxChars) {
  const text = given.replace(NOT_IN_A_LINE, ' ').trim()
  const characters = [...text]
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join('').trimEnd()}…`
}

/** @param {string} given @returns {string} one line of at most 80 characters, nothing hidden in it */
export function acceptedAuthor (given) {
  const author = line(given, AUTHOR_SCHEMA.maxLength)
  return hiddenIn(author) === null ? author : author.replace(HIDDEN, '').trim()
}

/** @param {string} given @returns {string} one line of at most 200 characters */
export const acceptedSummary = (given) => line(given, CHANGE_PROPERTIES.summary.maxLength)

/** @param {string[]} given @returns {string[]} canonical, sorted, the first 20 of those that can be tags */
export function acceptedTags (given) {
  const tags = given.flatMap((raw) => {
    try {
      const tag = canonicalTag(raw.replace(/[/\\,]/g, '-'))
      return tag === '' || hiddenIn(tag) !== null ? [] : [tag]
    } catch {
      return []
    }
  })
  return [...new Set(tags)].slice(0, TAGS_MAX).sort()
}
