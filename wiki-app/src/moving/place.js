import { createHash } from 'node:crypto'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { HEAD_FIELDS } from '../pages/head.js'
import { historyOf } from '../pages/histories.js'
import { createMovedHistories } from './moved-histories.js'

/** @import {Head} from '../pages/head.js' */
/** @import {Models, Revision} from '../pages/model.js' */
/** @import {MovedPage} from './content.js' */

const FOLLOWED_MAX = 10

/** @typedef {Pick<Revision, '_id' | 'revision' | 'save_id' | 'created_at'>} Newest */

/**
 * Where a page of another wiki is, or would be.
 * @typedef {object} Place
 * @property {string} name  a renamed page has another one now
 * @property {Head | null} head
 * @property {Newest | null} newest  revision of its history
 * @property {string | null} stored  the id, in the other wiki, of the newest revision that came from there
 * @property {Date | null} storedAt  its date here
 * @property {boolean} isFree  nothing is there, or only what came from that page, or it leads to one that was moved in
 * @property {boolean} isTaken  another page that was moved in has become this one
 * @property {{refusal: string | null} | null} renaming  it was renamed there; `refusal`: why it is not renamed here
 */

/** A page in the words of its wiki. @typedef {Pick<MovedPage, 'source' | 'id'>} Origin */

/** Neither titles nor paths have a NUL. @param {string} kind @param {string} key */
const prefixOf = (kind, key) => `${kind}:${createHash('sha256').update(key).digest('hex').slice(0, 12)}:`

/** Of revisions that are moved in. @param {string} kind @param {Origin} page */
export const saveIdPrefix = (kind, { source, id }) => prefixOf(kind, id === undefined ? source : `\0${id}`)

/** Of revisions that an import makes when it renames pages: they have no text of their own. @param {string} kind */
export const renamingPrefix = (kind) => `${kind}-renamed:`

/** @param {string} prefix */
const startingWith = (prefix) => mongoose.trusted({ $gte: prefix, $lt: `${prefix}\u{10FFFF}` })

/**
 * Revisions that were moved in have a `save_id` of kind, page and their id there, so each run knows what is here.
 * @param {Models} models @param {string} kind
 */
export function createPlaces ({ Pages, Revisions }, kind) {
  const movedHistories = createMovedHistories(Revisions, kind)

  const { headOf, pageAt, pageWith, newestOf, storedIn } = createReads({ Pages, Revisions }, renamingPrefix(kind))

  /** Also one that only says so. @param {string} history */
  const isRenamedHere = async (history) =>
    await newestOf(history, { summary: /^Renamed from “/, save_id: null }) !== null

  /** @param {string} name @param {Head} page @param {boolean} isLed  the name leads there */
  async function renamingOf (name, page, isLed) {
    if (page._id === name) return null
    if (!await isRenamedHere(String(historyOf(page)))) return { refusal: null }
    return isLed ? null : { refusal: 'it was renamed here' }
  }

  /**
   * A name that such a page had before it was renamed there, and which another one may have now.
   * @param {Head} head @param {Head | null} led  where it leads
   */
  const leadsToMoved = async ({ redirect_to: to }, led) => Boolean(to) && led !== null &&
    await newestOf(String(historyOf(led)), { save_id: startingWith(`${kind}:`) }) !== null

  return {
    headOf,

    /** @param {string} name @param {Origin} origin @returns {Promise<Place>} */
    async find (name, origin) {
      const own = saveIdPrefix(kind, origin)
      // Before pages had ids, their names stood for them.
      const prefixes = [...new Set([own, prefixOf(kind, origin.source)])]
      const head = await headOf(name)
      const led = head === null ? null : await pageAt(name)
      const there = led === null ? null : { page: led, ...await storedIn(String(historyOf(led)), prefixes) }
      const moved = there?.own || origin.id === undefined ? null : await movedHistories.with(own)
      const elsewhere = moved && await pageWith(moved)
      const found = elsewhere
        ? { page: elsewhere, ...await storedIn(String(historyOf(elsewhere)), prefixes) }
        : there
      if (!found?.own) {
        return unknown(kind, { name, head, there, isFree: head === null || await leadsToMoved(head, led) })
      }
      const { page, newest, text, own: last } = found
      const stored = String(last.save_id)
      return {
        name: page._id,
        head: page,
        newest,
        stored: stored.slice(own.length),
        storedAt: last.created_at,
        isFree: text === last,
        isTaken: false,
        renaming: origin.id === undefined ? null : await renamingOf(name, page, page === led)
      }
    }
  }
}

/**
 * @param {string} kind
 * @param {{name: string, head: Head | null, isFree: boolean,
 *   there: {page: Head, newest: Newest | null, text: Newest | null} | null}} found
 * @returns {Place}
 */
function unknown (kind, { name, head, there, isFree }) {
  const isHere = there !== null && there.page._id === name
  return {
    name,
    head,
    newest: isHere ? there.newest : null,
    stored: null,
    storedAt: null,
    isFree,
    isTaken: isHere && (there.text?.save_id?.startsWith(`${kind}:`) ?? false),
    renaming: null
  }
}

/**
 * @param {Pick<Models, 'Pages' | 'Revisions'>} models
 * @param {string} renamed  beginning of the `save_id` of renamings
 */
function createReads ({ Pages, Revisions }, renamed) {
  /** @param {string} name @returns {Promise<Head | null>} */
  const headOf = (name) => /** @type {any} */ (driverOf(Pages).findOne({ _id: name }, { projection: HEAD_FIELDS }))

  /** @param {string} name @returns {Promise<Head | null>} the page that the name leads to */
  async function pageAt (name) {
    let page = await headOf(name)
    for (let hops = 0; page?.redirect_to && hops < FOLLOWED_MAX; hops++) page = await headOf(page.redirect_to)
    return page !== null && historyOf(page) === null ? null : page
  }

  /** @param {string} history @returns {Promise<Head | null>} */
  async function pageWith (history) {
    const found = /** @type {Head | null} */ (
      await driverOf(Pages).findOne({ history }, { projection: HEAD_FIELDS })) ?? await headOf(history)
    return found !== null && historyOf(found) === history ? found : null
  }

  /** @param {string} history @param {object} [which] @returns {Promise<Newest | null>} */
  const newestOf = (history, which = {}) => Revisions
    .findOne({ page: history, ...which }, { revision: 1, save_id: 1, created_at: 1 })
    .sort({ revision: -1 })
    .lean()
    .exec()

  /** @param {string} history @param {string[]} prefixes */
  async function storedIn (history, prefixes) {
    const newest = await newestOf(history)
    const isOfImport = newest?.save_id?.startsWith(renamed) ?? false
    const text = isOfImport
      ? await newestOf(history, { save_id: mongoose.trusted({ $not: startOf(renamed) }) })
      : newest
    if (prefixes.some((prefix) => text?.save_id?.startsWith(prefix))) return { newest, text, own: text }
    for (const prefix of prefixes) {
      const own = await newestOf(history, { save_id: startingWith(prefix) })
      if (own !== null) return { newest, text, own }
    }
    return { newest, text, own: null }
  }

  return { headOf, pageAt, pageWith, newestOf, storedIn }
}

/** @param {string} prefix */
const startOf = (prefix) => new RegExp(`^${prefix}`)

/** @typedef {ReturnType<typeof createPlaces>} Places */
