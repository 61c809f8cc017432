import { createHash } from 'node:crypto'

const HASH_CHARS = 16
const SALT_CHARS = 8
/** The text, maybe the change of DokuWiki before it, maybe what was there before: it may be the same text again. */
const ID = /^([0-9a-f]{16})(?:-(\d*))?(?:-[0-9a-f]{8})?$/

/** @param {string} text @param {number} chars */
const hashOf = (text, chars) => createHash('sha256').update(text).digest('hex').slice(0, chars)

/**
 * The id of a text that another program has written, so that DokuWiki has no number for it.
 * @param {string} text
 * @param {{after: string, stored: string | null}} known  `after`: DokuWiki's newest change, '' when it has none;
 *   `stored`: the id of the newest revision that is here
 */
export function outsideId (text, { after, stored }) {
  const hash = hashOf(text, HASH_CHARS)
  const before = stored === null ? null : outsideOf(stored)
  const plain = after === '' ? hash : `${hash}-${after}`
  if (stored === null || before === null || before.after !== after || before.hash === hash) return plain
  return `${hash}-${after}-${hashOf(stored, SALT_CHARS)}`
}

/**
 * @param {string} stored  an id
 * @returns what it says of a text that another program has written; null: DokuWiki's change
 */
export function outsideOf (stored) {
  const [, hash, after = ''] = ID.exec(stored) ?? []
  if (hash === undefined) return null
  const isLater = (/** @type {string} */ id, /** @type {boolean} */ isOutside) =>
    isOutside || Number(id) > Number(after)
  return {
    hash,
    after,
    /** Whether a later text is this one. @param {string} text @param {string} id @param {boolean} isOutside */
    isText: (text, id, isOutside) => isLater(id, isOutside) && hashOf(text, HASH_CHARS) === hash,
    /** Whether this one was before a change, and is not to be found. @param {string} id @param {boolean} isOutside */
    isBefore: (id, isOutside) => after === '' ? isOutside : isLater(id, isOutside)
  }
}
