import { currentRevision } from '../pages/head.js'
import { createIds } from './revision-ids.js'
import { saveIdPrefix } from './place.js'
import { draftOf, Unwritable } from './write-chunk.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {MovedPage} from './content.js' */
/** @import {Place} from './place.js' */
/** @import {Outcome} from './report.js' */
/** @import {Draft, Position, createWriteChunk} from './write-chunk.js' */

/** What one transaction takes of a page; the page is then as it was at that time, and the rest comes after it. */
const CHUNK_MAX_REVISIONS = 500
const CHUNK_MAX_BYTES = 8_388_608

/** @typedef {'keep' | 'replace' | 'fail'} OnConflict */

/**
 * @typedef {object} Parts
 * @property {Pick<PageStore, 'findSource'>} store
 * @property {ReturnType<typeof createWriteChunk>} writeChunk
 * @property {string} kind
 * @property {number} maxBytes  of a text
 * @property {OnConflict} onConflict
 */

/** @typedef {Pick<Outcome, 'result' | 'revisions' | 'untaken' | 'problem'>} Stored */

/**
 * One page on its way into the store. Revisions that fill a chunk are written while the others are read; `finish`
 * writes the last ones, and may run while other pages are read.
 */
export class PageWriter {
  #parts
  #place
  #prefix
  /** @type {Position} */
  #position
  /** @type {Draft[]} */
  #chunk = []
  #written = 0
  #untaken = 0
  /** @type {string[]} */
  #problems = []
  #unconverted = 0
  #isKnown = true
  /** Nothing that could be deleted. */
  #isGone
  #hasFailed = false
  bytes = 0

  /** @param {Parts} parts @param {{source: string}} page @param {Place} place */
  constructor (parts, { source }, place) {
    this.#parts = parts
    this.#place = place
    this.#prefix = saveIdPrefix(parts.kind, source)
    const { name, head, newest } = place
    this.#isGone = currentRevision(head) === 0
    this.#position = {
      name,
      number: head?.revision ?? 0,
      isFormer: Boolean(head?.redirect_to),
      last: newest && { id: newest._id, at: newest.created_at },
      idAfter: createIds(this.#prefix)
    }
  }

  /**
   * @param {MovedPage['revisions']} revisions
   * @throws {Error} of the reader, or of the database
   */
  async read (revisions) {
    const { stored, isFree } = this.#place
    let isNew = stored === null
    for await (const revision of revisions) {
      if (!isNew) {
        isNew = revision.id === stored
        continue
      }
      if (this.#hasFailed) {
        this.#untaken++
        continue
      }
      if (revision.deleted && this.#isGone) continue
      this.#isGone = revision.deleted === true
      if (revision.problem !== undefined && this.#unconverted++ === 0) this.#problems.push(revision.problem)
      const draft = draftOf(revision, { prefix: this.#prefix, maxBytes: this.#parts.maxBytes })
      if ('reason' in draft) {
        this.#leaveOut(draft.reason, 1)
        continue
      }
      // Of a page that was written here, too, the newest text alone counts.
      if (!isFree) this.#hold([])
      else if (this.#isFull(draft)) await this.#write()
      this.#chunk.push(draft)
      this.bytes += draft.contentBytes
    }
    this.#isKnown = isNew
  }

  /** @returns {Promise<Stored>} @throws {Error} of the database */
  async finish () {
    const { stored, isFree, isTaken, head } = this.#place
    const { onConflict, store } = this.#parts
    if (!this.#isKnown) return this.#done('kept', 'the newest revision here that came from there is not in the file')
    if (this.#chunk.length === 0 || isFree) {
      while (this.#chunk.length > 0) await this.#write({ isEnd: true })
      if (this.#written > 0) return this.#done(stored === null ? 'created' : 'appended')
      return this.#done(stored === null && isFree ? 'untaken' : 'unchanged')
    }
    if (isTaken) return this.#done('untaken', 'another page of that wiki has this name here')
    const [{ content, tags }] = this.#chunk
    const there = await store.findSource(this.#position.name)
    if (there?.content === content && there.tags.join() === tags.join()) return this.#done('unchanged')
    if (onConflict === 'fail') return this.#done('untaken', 'there is a page of this name, or was')
    if (onConflict === 'keep') {
      return this.#done('kept', head?.redirect_to && stored === null
        ? `the name leads to “${head.redirect_to}” here`
        : 'it was written or changed here')
    }
    await this.#write({ isEnd: true, isNow: true })
    return this.#done(this.#written > 0 ? 'replaced' : 'untaken')
  }

  /** @param {Outcome['result']} result @param {string} [problem] @returns {Stored} */
  #done (result, problem) {
    const problems = [...problem ? [problem] : [], ...this.#problems]
    if (this.#unconverted > 1) problems.push(`${this.#unconverted} of its texts are not as in that wiki`)
    if (result === 'untaken' && problems.length === 0) problems.push('it has no revision with a text')
    return {
      result,
      revisions: this.#written,
      ...this.#untaken > 0 && { untaken: this.#untaken },
      ...problems.length > 0 && { problem: problems.join('; ') }
    }
  }

  /** @param {Draft[]} drafts */
  #hold (drafts) {
    this.#chunk = drafts
    this.bytes = drafts.reduce((sum, { contentBytes }) => sum + contentBytes, 0)
  }

  /** @param {Draft} next */
  #isFull (next) {
    return this.#chunk.length >= CHUNK_MAX_REVISIONS ||
      (this.#chunk.length > 0 && this.bytes + next.contentBytes > CHUNK_MAX_BYTES)
  }

  /** @param {string} problem @param {number} count  of revisions */
  #leaveOut (problem, count) {
    if (this.#untaken === 0) this.#problems.push(problem)
    this.#untaken += count
  }

  /** @param {{isEnd?: boolean, isNow?: boolean}} [options]  `isEnd`: no revisions come after these */
  async #write ({ isEnd = false, isNow = false } = {}) {
    const drafts = this.#chunk
    this.#hold([])
    try {
      const { count, problem } = await this.#parts.writeChunk(this.#position, drafts, { isNow })
      this.#written += count
      if (!isEnd || problem === undefined) this.#hold(drafts.slice(count))
      else this.#leaveOut(problem, drafts.length - count)
    } catch (error) {
      if (!(error instanceof Unwritable)) throw error
      this.#leaveOut(error.message, drafts.length)
      this.#hasFailed = true
    }
  }
}
