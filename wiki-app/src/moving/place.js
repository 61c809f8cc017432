import { createHash } from 'node:crypto'
import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { HEAD_FIELDS } from '../pages/head.js'
import { historyOf } from '../pages/histories.js'

/** @import {Head} from '../pages/head.js' */
/** @import {Models, Revision} from '../pages/model.js' */

const FOLLOWED_MAX = 10

/** @typedef {Pick<Revision, '_id' | 'revision' | 'save_id' | 'created_at'>} Newest */

/**
 * Where a page of another wiki is, or would be.
 * @typedef {object} Place
 * @property {string} name  a renamed page has another one now
 * @property {Head | null} head
 * @property {Newest | null} newest  revision of its history
 * @property {string | null} stored  the id, in the other wiki, of the newest revision that came from there
 * @property {boolean} isFree  nothing is there, or only what came from that page
 * @property {boolean} isTaken  another page of the other wiki has become this one
 */

/** @param {string} kind @param {string} source  the page in its wiki */
export const saveIdPrefix = (kind, source) =>
  `${kind}:${createHash('sha256').update(source).digest('hex').slice(0, 12)}:`

/**
 * Revisions that were moved in have a `save_id` of kind, page and their id there, so each run knows what is here.
 * @param {Models} models @param {string} kind
 */
export function createPlaces ({ Pages, Revisions }, kind) {
  /** @param {string} name @returns {Promise<Head | null>} */
  const headOf = (name) => /** @type {any} */ (driverOf(Pages).findOne({ _id: name }, { projection: HEAD_FIELDS }))

  /** @param {string} history @param {object} [which] @returns {Promise<Newest | null>} */
  const newestOf = (history, which = {}) => Revisions
    .findOne({ page: history, ...which }, { revision: 1, save_id: 1, created_at: 1 })
    .sort({ revision: -1 })
    .lean()
    .exec()

  /** @param {string} history @param {string} prefix */
  async function storedIn (history, prefix) {
    const newest = await newestOf(history)
    if (newest?.save_id?.startsWith(prefix)) return { newest, stored: newest.save_id }
    const own = await newestOf(history, { save_id: mongoose.trusted({ $gte: prefix, $lt: `${prefix}\u{10FFFF}` }) })
    return { newest, stored: own?.save_id ?? null }
  }

  return {
    headOf,

    /** @param {string} name @param {string} source @returns {Promise<Place>} */
    async find (name, source) {
      const prefix = saveIdPrefix(kind, source)
      const head = await headOf(name)
      if (head === null) return { name, head, newest: null, stored: null, isFree: true, isTaken: false }
      /** @type {Head | null} */
      let page = head
      for (let hops = 0; page?.redirect_to && hops < FOLLOWED_MAX; hops++) page = await headOf(page.redirect_to)
      const history = page && historyOf(page)
      if (page === null || history === null) return { ...taken(name, head), newest: null, stored: null }
      const { newest, stored } = await storedIn(history, prefix)
      if (stored === null) {
        const isTaken = page === head && (newest?.save_id?.startsWith(`${kind}:`) ?? false)
        return { ...taken(name, head), newest: page === head ? newest : null, stored, isTaken }
      }
      return {
        name: page._id,
        head: page,
        newest,
        stored: stored.slice(prefix.length),
        isFree: newest?.save_id?.startsWith(prefix) === true,
        isTaken: false
      }
    }
  }
}

/** @param {string} name @param {Head} head */
const taken = (name, head) => ({ name, head, isFree: false, isTaken: false })

/** @typedef {ReturnType<typeof createPlaces>} Places */
