import createError from '@fastify/error'

const HiddenInName = createError('WIKI_HIDDEN_IN_NAME', 'This cannot be the name of a new page: it has %s.', 400)
const HiddenInAuthor = createError('WIKI_HIDDEN_IN_AUTHOR', 'This cannot be the name of an author: it has %s.', 400)
const TurningSummary = createError('WIKI_TURNING_SUMMARY', 'This cannot be the summary of a change: it has %s.', 400)
const TurningAlt = createError('WIKI_TURNING_ALT', 'This cannot be the name of a picture: it has %s.', 400)
const HiddenInTag = createError('WIKI_HIDDEN_IN_TAG', 'These cannot be the tags of a page: one has %s.', 400)

/** Invisible, or changing the direction of the text around (UTS #39 §5.4, UAX #9, UAX #44). */
const HIDDEN = '[\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}\\p{Zl}\\p{Zp}\\u2800\\uFFF9-\\uFFFB]'
/** Scripts in which joiners change the word (RFC 5892 Appendix A.1, A.2). */
const JOINING = [
  'Arab', 'Syrc', 'Mand', 'Mong', 'Nkoo', 'Phag', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda',
  'Mlym', 'Sinh', 'Khmr', 'Mymr', 'Tibt'
]
const LETTER = `[${JOINING.map((script) => `\\p{Script=${script}}`).join('')}]`
const EMOJI = '\\p{Extended_Pictographic}'

/** Where these have a visible effect: within a word or an emoji, never at its beginning. */
const SEEN = [
  `(?<=${LETTER}\\p{M}*)[\\u200C\\u200D](?=${LETTER})`,
  `(?<=${EMOJI}(?:\\uFE0F|\\p{Emoji_Modifier})?)\\u200D(?=${EMOJI})`,
  `(?<=${EMOJI}|[\\p{Emoji_Modifier}])[\\uFE0E\\uFE0F]`,
  '(?<=[0-9#*])\\uFE0F(?=\\u20E3)',
  '(?<=\\p{Script=Han})[\\u{E0100}-\\u{E01EF}]',
  '(?<=\\p{Script=Mong})[\\u180B-\\u180D\\u180F]'
].join('|')
const HIDDEN_HERE = new RegExp(`(?!${SEEN})${HIDDEN}`, 'u')
const ALL_HIDDEN_HERE = new RegExp(HIDDEN_HERE, 'gu')
/** Act beyond their own word, unlike the marks U+200E, U+200F and U+061C. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/u

/**
 * Names that look the same must be the same.
 * @param {string} text
 * @returns {string | null}
 */
export const hiddenIn = (text) => describe(text, HIDDEN_HERE)

/** @param {string} text @returns {string} without the characters that `hiddenIn` finds */
export function withoutHidden (text) {
  // What stands beside a character may make it one of those.
  let rest = text
  for (let before = ''; before !== rest;) [before, rest] = [rest, rest.replace(ALL_HIDDEN_HERE, '')]
  return rest
}

/** An existing page keeps its name. @param {string} name  of a new page @throws {Error} 400 */
export function refuseHiddenName (name) {
  const hidden = hiddenIn(name)
  if (hidden !== null) throw new HiddenInName(hidden)
}

/** @param {import('./store.js').PageStore} store @param {string} name  canonical @throws {Error} 400 */
export async function refuseNewHiddenName (store, name) {
  if (hiddenIn(name) !== null && await store.findSource(name) === null) refuseHiddenName(name)
}

/** @param {string} [author] @returns {string | undefined} trimmed @throws {Error} 400 */
export function visibleAuthor (author) {
  const hidden = hiddenIn(author ?? '')
  if (hidden !== null) throw new HiddenInAuthor(hidden)
  return author?.trim()
}

/** @param {string} [summary] @returns {string | undefined} trimmed @throws {Error} 400 */
export function readableSummary (summary) {
  const turning = describe(summary ?? '', TURNING)
  if (turning !== null) throw new TurningSummary(turning)
  return summary?.trim()
}

/** @param {string} alt  what a picture shows @returns {string} trimmed @throws {Error} 400 */
export function readableAlt (alt) {
  const turning = describe(alt, TURNING)
  if (turning !== null) throw new TurningAlt(turning)
  return alt.trim()
}

/** @param {string} tag @throws {Error} 400 */
export function refuseHiddenTag (tag) {
  const hidden = hiddenIn(tag)
  if (hidden !== null) throw new HiddenInTag(hidden)
}

/** @param {string} text @param {RegExp} pattern */
function describe (text, pattern) {
  const found = pattern.exec(text)
  if (found === null) return null
  const code = /** @type {number} */ (found[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')
  const characters = [...text.slice(0, found.index)].length + 1
  return `the character U+${code} at place ${characters}, which is invisible or changes the direction of the text; ` +
    'remove it'
}
