import { randomUUID } from 'node:crypto'
import { driverOf } from '../database/driver.js'
import { hashOf } from '../http/hash.js'
import { namesAbove } from './name.js'
import { afterAllBelow, belowOf } from './subpage-names.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Models, Page} from './model.js' */

/**
 * As shown on a page, without its name and the slash: `Install` for `Guide/Install`.
 * @typedef {object} Subpages
 * @property {string[]} names  at most 50
 * @property {string[]} missing  those of `names` that are no pages, but have pages below them
 * @property {boolean} more
 */

export const LISTED_MAX = 50

const IN_ORDER = new Intl.Collator('en', { numeric: true })

/**
 * A page's document has the list of its subpages, so that a view needs one read (docs/decisions/0034).
 * @param {Pick<Models, 'Pages' | 'Targets'>} models
 */
export function createSubpages ({ Pages, Targets }) {
  /** @param {string} name @param {ClientSession} [session] */
  const find = (name, session) => findSubpages(Pages, name, session)

  /**
   * @param {ClientSession} session @param {string} name  of a page
   * @param {string} [hash]  stored with it; without it the database compares
   * @returns {Promise<boolean>} whether the page has changed
   */
  async function store (session, name, hash) {
    const subpages = await find(name, session)
    const newHash = subpages === null ? '' : hashOf(JSON.stringify(subpages))
    if (newHash === hash) return false
    // Absent is as good as ''.
    const others = newHash === '' ? { $gt: '' } : { $ne: newHash }
    const { modifiedCount } = await driverOf(Pages).updateOne(
      { _id: name, deleted_at: null, subpages_hash: others },
      { $set: { subpages, subpages_hash: newHash, rendered_at: new Date() } },
      { session }
    )
    return modifiedCount > 0
  }

  /**
   * Of a writer of a page and a writer of its subpage, the database makes one try again.
   * @param {ClientSession} session @param {string} name @returns {Promise<boolean>} whether there is such a page
   */
  async function touch (session, name) {
    const target = await Targets.findOneAndUpdate(
      { _id: name },
      { $set: { below: randomUUID() }, $setOnInsert: { is: null, sources: 0 } },
      { session, upsert: true, returnDocument: 'after', lean: true }
    ).exec()
    return target.is === 'page'
  }

  /** @param {ClientSession} session @param {string} name  of no page */
  async function forgetUnlessUsed (session, name) {
    if (await Pages.findOne(belowOf(name), { _id: 1 }, { session }).lean().exec() !== null) return
    await Targets.deleteOne({ _id: name, is: null, sources: 0 }, { session }).exec()
  }

  return {
    find,

    /**
     * A page has its list; without a page it is looked up.
     * @param {string} name @returns {Promise<Subpages | null>} null: none
     */
    async stored (name) {
      const page = await Pages.findOne({ _id: name }, { deleted_at: 1, redirect_to: 1, subpages: 1 }).lean().exec()
      return page === null || page.deleted_at != null || page.redirect_to ? find(name) : page.subpages ?? null
    },

    /**
     * After pages came or went, within the transaction: corrects their own lists, and the list of the next page above
     * each. That has the names between, too, which are no pages.
     * @param {ClientSession} session
     * @param {{came?: Pick<Page, '_id' | 'subpages_hash'>[], went?: string[]}} pages
     * @returns {Promise<string[]>} names of the pages above that have changed
     */
    async update (session, { came = [], went = [] }) {
      for (const { _id, subpages_hash: hash = '' } of came) await store(session, _id, hash)
      const changed = []
      /** Whether there is such a page. @type {Map<string, boolean>} */
      const done = new Map()
      for (const name of [...came.map(({ _id }) => _id), ...went]) {
        for (const above of namesAbove(name).reverse()) {
          let isPage = done.get(above)
          if (isPage === undefined) {
            isPage = await touch(session, above)
            done.set(above, isPage)
            if (!isPage) await forgetUnlessUsed(session, above)
            else if (await store(session, above)) changed.push(above)
          }
          if (isPage) break
        }
      }
      return changed
    }
  }
}

/** @typedef {ReturnType<typeof createSubpages>} SubpageLists */

/**
 * Each read gives a new subpage at least, or skips all that is below one.
 * @param {Models['Pages']} Pages @param {string} name @param {ClientSession} [session]
 * @returns {Promise<Subpages | null>} null: none
 */
async function findSubpages (Pages, name, session) {
  /** Whether there is such a page. @type {Map<string, boolean>} */
  const found = new Map()
  let range = belowOf(name)
  while (found.size <= LISTED_MAX) {
    /** @type {{_id: string}[]} */
    const pages = await Pages
      .find(range, { _id: 1 }, { session })
      .sort({ _id: 1 })
      .limit(LISTED_MAX + 1)
      .lean()
      .exec()
    for (const { _id } of pages) {
      const [part, ...rest] = _id.slice(name.length + 1).split('/')
      if (rest.length === 0 || !found.has(part)) found.set(part, rest.length === 0)
    }
    if (pages.length <= LISTED_MAX) break
    const last = pages[pages.length - 1]._id
    const end = last.indexOf('/', name.length + 1)
    range = belowOf(name, end === -1 ? { $gt: last } : afterAllBelow(last.slice(0, end)))
  }
  if (found.size === 0) return null
  const listed = [...found].slice(0, LISTED_MAX).sort(([a], [b]) => IN_ORDER.compare(a, b))
  return {
    names: listed.map(([part]) => part),
    missing: listed.filter(([, isThere]) => !isThere).map(([part]) => part),
    more: found.size > LISTED_MAX
  }
}
