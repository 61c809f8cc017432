import createError from '@fastify/error'
import { refuseHiddenTag } from './visible.js'

const InvalidTags = createError('WIKI_INVALID_TAGS', 'These cannot be the tags of a page: %s.', 400)

export const TAGS_MAX = 20
const TAG_MAX_CHARS = 50

/** Forms send a line with commas, programs an array. */
export const TAGS_SCHEMA = {
  anyOf: [
    { type: 'string', maxLength: 2 * TAGS_MAX * TAG_MAX_CHARS },
    { type: 'array', maxItems: TAGS_MAX, items: { type: 'string', maxLength: 2 * TAG_MAX_CHARS } }
  ]
}

/**
 * NFC, lower case, single spaces, no duplicates, sorted.
 * @param {string | string[] | undefined} given
 * @returns {string[] | undefined} at most 20 of at most 50 characters; undefined: none given @throws {Error} 400
 */
export function canonicalTags (given) {
  if (given === undefined) return undefined
  const words = (typeof given === 'string' ? given.split(',') : given)
    .map(canonicalTag).filter((tag) => tag !== '')
  words.forEach(refuseHiddenTag)
  const tags = [...new Set(words)].sort()
  if (tags.length > TAGS_MAX) throw new InvalidTags(`more than ${TAGS_MAX}`)
  return tags
}

/** @param {string} raw @returns {string} '' for white space alone @throws {Error} 400 */
export function canonicalTag (raw) {
  if (/[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/u.test(raw)) {
    throw new InvalidTags('one has characters that cannot be shown')
  }
  if (/[/\\,]/.test(raw)) throw new InvalidTags('one has a slash, a backslash or a comma')
  const tag = raw.normalize('NFC').toLowerCase().replace(/\s+/gu, ' ').trim()
  if ([...tag].length > TAG_MAX_CHARS) throw new InvalidTags(`one is longer than ${TAG_MAX_CHARS} characters`)
  if (tag === '.' || tag === '..') throw new InvalidTags('one is “.” or “..”')
  return tag
}
