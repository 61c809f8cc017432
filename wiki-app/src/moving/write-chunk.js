import { isOfDocuments } from '../database/transaction.js'
import { StaleEdit } from '../pages/preconditions.js'
import { englishSize } from '../readable.js'
import { acceptedAuthor, acceptedSummary, acceptedTags } from './accepted.js'
import { createNewest } from './newest-shown.js'
import { dateAfter } from './revision-ids.js'

/** @import {Types} from 'mongoose' */
/** @import {PastRevision, Precondition} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {MovedRevision} from './content.js' */

const COMMITS_MAX = 4

/**
 * @typedef {object} Parts
 * @property {Pick<PageStore, 'prepare' | 'commitTogether'>} store
 * @property {boolean} dryRun
 * @property {() => number} [now]  ms
 */

/** @typedef {Omit<PastRevision, 'id' | 'at'> & {createdAt: Date}} Draft */

/**
 * As far as a page has come in the store.
 * @typedef {object} Position
 * @property {string} name
 * @property {number} number  of its newest revision; 0: none
 * @property {boolean} isFormer  the name leads to another page
 * @property {{id: Types.ObjectId, at: Date} | null} last
 * @property {(at: Date, number: number, previous: Types.ObjectId | null) => Types.ObjectId} idAfter
 */

/** The page cannot be written, and other pages can. */
export class Unwritable extends Error {}

export class AtTheSameMoment extends Unwritable {
  constructor () { super('it was changed here at the same moment; run the same again') }
}

/**
 * @param {MovedRevision} revision @param {{prefix: string, maxBytes: number}} options
 * @returns {Draft | {reason: string}} as this wiki can have it
 */
export function draftOf (
  { id, content: given, tags = [], author, summary, createdAt, deleted = false }, { prefix, maxBytes }
) {
  const content = given.replace(/\p{Cs}/gu, '\uFFFD')
  const contentBytes = Buffer.byteLength(content)
  if (contentBytes > maxBytes) return { reason: `the text of revision ${id} is longer than ${englishSize(maxBytes)}` }
  return {
    content,
    contentBytes,
    tags: acceptedTags(tags),
    author: acceptedAuthor(author),
    summary: acceptedSummary(summary),
    saveId: prefix + id,
    deleted,
    createdAt
  }
}

/** @param {Parts} parts */
export function createWriteChunk ({ store, dryRun, now = Date.now }) {
  const newestOf = createNewest(store)

  /**
   * One transaction: the page is then as it was at the time of the last of these revisions.
   * @param {Position} position  goes on @param {Draft[]} drafts  oldest first
   * @param {{isNow?: boolean}} [options]  `isNow`: it is an edit of today
   * @returns {Promise<number>} of them that are written, from the first
   * @throws {import('./newest-shown.js').Unshown} @throws {Unwritable} @throws {Error} of the database
   */
  return async function writeChunk (position, drafts, { isNow = false } = {}) {
    if (dryRun) return drafts.length
    const { prepared, count } = await newestOf(drafts)
    let { number, last } = position
    const dated = drafts.slice(0, count).map(({ createdAt, ...draft }) => {
      const previous = last?.at ?? null
      const at = dateAfter(isNow ? new Date(now()) : createdAt, previous, now())
      last = { at, id: position.idAfter(at, ++number, last?.id ?? null) }
      return { ...draft, ...last }
    })
    const { at, id, author, summary, saveId } = /** @type {PastRevision} */ (dated.pop())
    await commit({
      ...prepared,
      name: position.name,
      // The command has the whole database anyway.
      attribution: { author, summary, role: 'admin' },
      precondition: unchangedSince({ ...position }),
      saveId,
      past: { id, at, revisions: dated }
    })
    Object.assign(position, { number, last, isFormer: false })
    return count
  }

  /** @param {Parameters<PageStore['commitTogether']>[0]} edit */
  async function commit (edit) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.commitTogether(edit)
      } catch (error) {
        if (error instanceof StaleEdit) throw new AtTheSameMoment()
        // Others write to the same documents.
        if (/** @type {any} */ (error).code === 'WIKI_LOST_RACE' && attempt < COMMITS_MAX) continue
        if (/** @type {any} */ (error).code === 'WIKI_IN_SPACE') {
          throw new Unwritable('its name is in a private space, and an import writes public pages')
        }
        if (isOfDocuments(error) && /** @type {any} */ (error).statusCode === undefined) {
          throw new Unwritable(`it cannot be stored: ${/** @type {Error} */ (error).message}`)
        }
        throw error
      }
    }
  }
}

/** @param {Position} position @returns {Precondition} */
const unchangedSince = ({ number, isFormer }) => (head) => {
  if ((head?.revision ?? 0) !== number || Boolean(head?.redirect_to) !== isFormer) throw new StaleEdit()
}
