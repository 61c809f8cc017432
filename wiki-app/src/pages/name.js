import createError from '@fastify/error'
import { COUNTER_NAME } from '../counter.js'

const NAME_MAX_CHARS = 200

const InvalidName = createError('WIKI_INVALID_NAME', 'This cannot be the name of a page: %s.', 400)

/** Unicode classes: control characters, and the ones that turn the direction of the text around them. */
const CONTROL = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u
const LONE_SURROGATE = /\p{Cs}/u
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u

/**
 * The one spelling of a page's name: Unicode NFC (UAX #15), no white space around it, single spaces within.
 * @param {string} raw  as a client sent it, percent-decoded
 * @returns {string} at most 200 characters
 * @throws {Error} 400 when no page can have this name
 */
export function canonicalName (raw) {
  if (LONE_SURROGATE.test(raw) || CONTROL.test(raw)) throw new InvalidName('it has characters that cannot be shown')
  const name = raw.normalize('NFC').replace(/\s+/gu, ' ').trim()
  if (!VISIBLE.test(name)) throw new InvalidName('it is empty')
  if ([...name].length > NAME_MAX_CHARS) throw new InvalidName(`it is longer than ${NAME_MAX_CHARS} characters`)
  if (/[/\\]/.test(name)) throw new InvalidName('it has a slash or a backslash')
  if (name === '.' || name === '..') throw new InvalidName('it means a place, not a page')
  return name
}

/**
 * The same for a page that is to be written.
 * @param {string} raw
 * @returns {string}
 * @throws {Error} 400 also when the name is reserved
 */
export function writableName (raw) {
  const name = canonicalName(raw)
  if (name === COUNTER_NAME) throw new InvalidName(`“${COUNTER_NAME}” is reserved`)
  return name
}

/**
 * What titles are sorted and searched by.
 * @param {string} text
 */
export const titleKey = (text) => text.normalize('NFC').toLowerCase()

/** @param {string} name */
export const viewUrl = (name) => `/wiki/${encodeURIComponent(name)}`

/** @param {string} name */
export const editUrl = (name) => `/edit/${encodeURIComponent(name)}`

/** @param {string} name */
export const historyUrl = (name) => `/history/${encodeURIComponent(name)}`

/**
 * @param {string} name
 * @param {number} revision
 */
export const revisionUrl = (name, revision) => `/revision/${encodeURIComponent(name)}/${revision}`

/** @param {string} name */
export const deleteUrl = (name) => `/delete/${encodeURIComponent(name)}`

/** @param {string} name */
export const renameUrl = (name) => `/rename/${encodeURIComponent(name)}`
