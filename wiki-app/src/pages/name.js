import createError from '@fastify/error'
import { COUNTER_NAME } from '../counter.js'

const NAME_MAX_CHARS = 200
/** Refused before normalising: no sensible name is so long. */
const RAW_MAX_CHARS = 20_000

const InvalidName = createError('WIKI_INVALID_NAME', 'This cannot be the name of a page: %s.', 400)

/** Control characters, changes of direction, and what XML, and so the feed, forbids. */
const CONTROL = /[\p{Cc}\u202A-\u202E\u2066-\u2069\uFFFE\uFFFF]/u
const LONE_SURROGATE = /\p{Cs}/u
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u
/** Most names: no normalising, no encoding. */
const PLAIN = /^(?=.{1,200}$)[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/

/**
 * Unicode NFC (UAX #15), no white space around it or around a slash, single spaces within. `a/b` is a page of its own,
 * and `a` need not exist.
 * @param {string} raw  as a client sent it, percent-decoded @returns {string} at most 200 characters
 * @throws {Error} 400 when no page can have this name
 */
export function canonicalName (raw) {
  if (PLAIN.test(raw)) return raw
  if (LONE_SURROGATE.test(raw) || CONTROL.test(raw)) throw new InvalidName('it has characters that cannot be shown')
  if (raw.length > RAW_MAX_CHARS) throw new InvalidName(`it is longer than ${NAME_MAX_CHARS} characters`)
  if (raw.includes('\\')) throw new InvalidName('it has a backslash')
  const parts = raw.normalize('NFC').split('/').map((part) => part.replace(/\s+/gu, ' ').trim())
  for (const part of parts) {
    if (!VISIBLE.test(part)) {
      throw new InvalidName(parts.length === 1 ? 'it is empty' : 'a part before or after a slash is empty')
    }
    // Browsers and proxies resolve these as path segments.
    if (part === '.' || part === '..') throw new InvalidName('a part of it is “.” or “..”')
  }
  const name = parts.join('/')
  if ([...name].length > NAME_MAX_CHARS) throw new InvalidName(`it is longer than ${NAME_MAX_CHARS} characters`)
  return name
}

/** @param {string} raw @throws {Error} 400 also when the name is reserved */
export function writableName (raw) {
  const name = canonicalName(raw)
  if (name === COUNTER_NAME) throw new InvalidName(`“${COUNTER_NAME}” is reserved for the counter of requests`)
  return name
}

/** Topmost first: `a` and `a/b` for `a/b/c`. @param {string} name */
export const namesAbove = (name) => name
  .split('/')
  .slice(0, -1)
  .map((_, index, parts) => parts.slice(0, index + 1).join('/'))

/** A page's document has its name in six URLs. */
let [lastName, lastEncoded] = ['', '']

/** Leaves what RFC 3986 §3.3 allows in a path: people read URLs. @param {string} name */
export function encodeName (name) {
  if (name === lastName) return lastEncoded
  lastEncoded = PLAIN.test(name)
    ? name
    : encodeURIComponent(name).replace(/%(?:2F|3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent)
  lastName = name
  return lastEncoded
}

/** @param {string} name */
export const viewUrl = (name) => `/wiki/${encodeName(name)}`

/** @param {string} name */
export const historyUrl = (name) => `/history/${encodeName(name)}`

/** @param {string} name */
export const rawUrl = (name) => `/raw/${encodeName(name)}`

/** @param {string} name */
export const linksUrl = (name) => `/links/${encodeName(name)}`

/** The list of the pages right below. @param {string} name */
export const treeUrl = (name) => `/tree/${encodeName(name)}`

/** @param {string} name @param {number} revision */
export const revisionUrl = (name, revision) => `/revision/${encodeName(name)}/${revision}`

/** Which words are of which revision. @param {string} name @param {number} revision */
export const authorsUrl = (name, revision) => `${revisionUrl(name, revision)}/authors`

/** @param {string} name @param {number} from @param {number} to */
export const differenceUrl = (name, from, to) => `/difference/${encodeName(name)}?from=${from}&to=${to}`

/** @param {string} tag */
export const tagUrl = (tag) => `/tags/${encodeName(tag)}`

// Never stored: one rule of a CDN can exclude all below /edit/.

/** @param {string} name */
export const editUrl = (name) => `/edit/text/${encodeName(name)}`

/** @param {string} name */
export const previewUrl = (name) => `/edit/preview/${encodeName(name)}`

/** @param {string} name */
export const deleteUrl = (name) => `/edit/delete/${encodeName(name)}`

/** @param {string} name */
export const renameUrl = (name) => `/edit/rename/${encodeName(name)}`

/** @param {string} name */
export const shortLinkFormUrl = (name) => `/edit/short-link/${encodeName(name)}`

/** @param {string} name */
export const revertUrl = (name) => `/edit/revert/${encodeName(name)}`
