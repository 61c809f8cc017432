import { currentRevision } from '../pages/head.js'
import { createIds } from './revision-ids.js'
import { saveIdPrefix } from './place.js'
import { Unshown } from './newest-shown.js'
import { renamedAsThere } from './rename-as-there.js'
import { AtTheSameMoment, draftOf, Unwritable } from './write-chunk.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {MovedPage, MovedRevision} from './content.js' */
/** @import {Origin, Place, Places} from './place.js' */
/** @import {Outcome} from './report.js' */
/** @import {Draft, Position, createWriteChunk} from './write-chunk.js' */

/** What one transaction takes of a page; the page is then as it was at that time, and the rest comes after it. */
const CHUNK_MAX_REVISIONS = 500
const CHUNK_MAX_BYTES = 8_388_608

const TAKEN = 'another page that was moved in has this name here'
const FREE_BY_NOW = 'another page, which had its name here, has just been renamed: run the same again'

/** @typedef {'keep' | 'replace' | 'fail'} OnConflict */

/**
 * @typedef {object} Parts
 * @property {Pick<PageStore, 'findSource' | 'rename'>} store
 * @property {ReturnType<typeof createWriteChunk>} writeChunk
 * @property {Pick<Places, 'headOf'>} places
 * @property {() => Promise<Place>} find  where the page is by now
 * @property {string} kind
 * @property {number} maxBytes  of a text
 * @property {OnConflict} onConflict
 * @property {boolean} dryRun
 */

/** @typedef {Pick<Outcome, 'result' | 'from' | 'refused' | 'revisions' | 'missing' | 'untaken' | 'problem'>} Stored */

/**
 * One page on its way into the store. Revisions that fill a chunk are written while the others are read; `finish`
 * writes the last ones, and may run while other pages are read.
 */
export class PageWriter {
  #parts
  #page
  #prefix
  /** @type {Place} */
  #place
  /** @type {Position} */
  #position
  /** @type {Draft[]} */
  #chunk = []
  #written = 0
  #untaken = 0
  /** Revisions of there that are not here, of a page that is kept. */
  #missing = 0
  /** @type {string[]} */
  #problems = []
  #unconverted = 0
  #isKnown = true
  /** Nothing that could be deleted. */
  #isGone
  #hasFailed = false
  /** It was renamed there, and is not here. */
  #isRefused = false
  /** The id of the newest revision that is here. @type {string | null} */
  #newest
  /** Its name when the reader asked. */
  #before
  #isDeleted
  bytes = 0

  /** @param {Parts} parts @param {Origin & {name: string}} page @param {Place} place */
  constructor (parts, page, place) {
    this.#parts = parts
    this.#page = page
    this.#prefix = saveIdPrefix(parts.kind, page)
    this.#isGone = this.#isDeleted = currentRevision(place.head) === 0
    this.#newest = place.stored
    this.#before = place.name
    this.#place = place
    this.#position = this.#positionAt(place)
  }

  /** Of the page here. */
  get name () { return this.#position.name }

  /** @param {Place} place @returns {Position} */
  #positionAt ({ name, head, newest }) {
    return {
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
    const { stored, storedAt } = this.#place
    let isNew = stored === null
    /** @type {MovedRevision | null} */
    let newest = null
    for await (const revision of revisions) {
      if (!isNew && revision.id === stored) {
        isNew = true
        this.#missing = 0
      } else if ('isLost' in revision) continue
      else if (isNew) await this.#add(revision)
      else if (storedAt !== null && revision.createdAt > storedAt) {
        this.#missing++
        newest = revision
      }
    }
    this.#isKnown = isNew
    if (!isNew && newest !== null && this.#parts.onConflict === 'replace') await this.#add(newest)
  }

  /** @param {MovedRevision} revision  that is not here */
  async #add (revision) {
    if (this.#hasFailed) {
      this.#untaken++
      return
    }
    if (revision.deleted && this.#isGone) return
    if (revision.problem !== undefined && this.#unconverted++ === 0) this.#problems.push(revision.problem)
    const draft = draftOf(revision, { prefix: this.#prefix, maxBytes: this.#parts.maxBytes })
    if ('reason' in draft) {
      this.#leaveOut(draft.reason, 1)
      return
    }
    this.#isGone = draft.deleted
    // Of a page that was written here, too, the newest text alone counts.
    if (!this.#place.isFree) {
      this.#missing++
      this.#hold([])
    } else if (this.#isFull(draft)) await this.#write()
    this.#chunk.push(draft)
    this.bytes += draft.contentBytes
  }

  /** @returns {Promise<Stored>} @throws {Error} of the database */
  async finish () {
    const { stored, isFree } = this.#place
    if (this.#chunk.length > 0 && !(isFree && this.#isKnown)) return this.#settle()
    if (!this.#isKnown) return this.#kept('the newest revision here that came from there is not in the file')
    while (this.#chunk.length > 0) await this.#write()
    const { from, refusal } = await this.#renamed()
    if (this.#written > 0) return { ...this.#done(stored === null ? 'created' : 'appended', refusal), ...from }
    if (refusal !== undefined) return this.#kept(refusal)
    if (from !== undefined) return { ...this.#done('appended'), ...from }
    return this.#done(stored === null && isFree ? 'untaken' : 'unchanged')
  }

  /** Where there is something else here. @returns {Promise<Stored>} */
  async #settle () {
    const { onConflict, store, find } = this.#parts
    // It may have been another page's when the reader asked.
    if (this.#place.stored === null) await this.#moveTo(await find())
    const { isTaken, isFree, head, stored } = this.#place
    if (isTaken) return this.#done('untaken', TAKEN)
    // All of its revisions but the last one have been passed over.
    if (isFree && this.#isKnown) return this.#done('untaken', FREE_BY_NOW)
    const [{ content, tags }] = this.#chunk
    const there = await store.findSource(this.#position.name)
    const isSame = there?.content === content && there.tags.join() === tags.join()
    if (!isSame && onConflict === 'fail') return this.#done('untaken', 'there is a page of this name, or was')
    const { from, refusal } = await this.#renamed()
    if (isSame) return { ...this.#done(from ? 'appended' : 'unchanged', refusal), ...from }
    if (onConflict === 'keep') {
      const reason = head?.redirect_to && stored === null
        ? `the name leads to “${head.redirect_to}” here`
        : 'it was written or changed here'
      return { ...this.#kept([reason, refusal].filter(Boolean).join('; ')), ...from }
    }
    await this.#write({ isNow: true })
    return { ...this.#done(this.#written > 0 ? 'replaced' : 'untaken', refusal), ...from }
  }

  /** As it was renamed there. @returns {Promise<{from?: {from: string}, refusal?: string}>} `from`: it was, here */
  async #renamed () {
    if (this.#place.renaming === null) return this.#renaming()
    const { store, places, kind, dryRun } = this.#parts
    // The renaming of another page may have renamed this one.
    if (!dryRun) this.#moveTo(await this.#parts.find())
    if (this.#place.renaming === null) return this.#renaming()
    const [before, { name }] = [this.#position.name, this.#page]
    const refusal = this.#place.renaming.refusal ??
      (dryRun ? null : await renamedAsThere({ store, places }, { kind, name: before, target: name }))
    // The renaming is a revision, or that of another page was faster.
    if (!dryRun) this.#moveTo(await this.#parts.find())
    this.#isRefused = refusal !== null && this.#place.renaming !== null
    if (this.#isRefused) return { refusal: `it is called “${name}” there now; ${refusal}` }
    return { from: { from: this.#before } }
  }

  /** Until now. @returns {{from?: {from: string}}} */
  #renaming () { return this.name === this.#before ? {} : { from: { from: this.#before } } }

  /** @param {Place} place */
  #moveTo (place) {
    this.#place = place
    this.#position = this.#positionAt(place)
  }

  /** @param {string} reason @returns {Stored} */
  #kept (reason) {
    return { ...this.#done('kept', reason), ...this.#missing > 0 && { missing: this.#missing } }
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
      ...this.#isRefused && { refused: true },
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

  /** Some of the chunk, from the first; the others stay in it. @param {{isNow?: boolean}} [options] */
  async #write ({ isNow = false } = {}) {
    const drafts = this.#chunk
    // What was written between two deletions may have been left out.
    if (drafts[0].deleted && this.#isDeleted) {
      this.#hold(drafts.slice(1))
      return
    }
    try {
      const count = await this.#writeInTime(drafts, isNow)
      this.#written += count
      this.#newest = drafts[count - 1].saveId.slice(this.#prefix.length)
      this.#isDeleted = drafts[count - 1].deleted
      this.#hold(drafts.slice(count))
    } catch (error) {
      if (error instanceof Unshown) {
        this.#leaveOut(error.message, error.count)
        this.#hold(drafts.slice(error.count))
        return
      }
      if (!(error instanceof Unwritable)) throw error
      const isTaken = error instanceof AtTheSameMoment && (await this.#parts.find()).isTaken
      this.#leaveOut(isTaken ? TAKEN : error.message, drafts.length)
      this.#hold([])
      this.#hasFailed = true
    }
  }

  /** @param {Draft[]} drafts @param {boolean} isNow @returns {Promise<number>} as writeChunk */
  async #writeInTime (drafts, isNow) {
    try {
      return await this.#parts.writeChunk(this.#position, drafts, { isNow })
    } catch (error) {
      if (!(error instanceof AtTheSameMoment)) throw error
      // The renaming of another page, of which this is the talk page, has moved it.
      const place = await this.#parts.find()
      if (!place.isFree || place.stored !== this.#newest) throw error
      this.#moveTo(place)
      return this.#parts.writeChunk(this.#position, drafts, { isNow })
    }
  }
}
