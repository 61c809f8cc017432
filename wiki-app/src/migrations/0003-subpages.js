import mongoose from 'mongoose'
import { inTransaction } from '../database/transaction.js'
import { namesAbove } from '../pages/name.js'

const PAGES_AT_ONCE = 500

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export function subpageLists ({ models: { Pages }, subpages }) {
  /** After a crash it begins anew, and finds the lists that are right. @returns {Promise<number>} changed pages */
  async function run () {
    let changed = 0
    /** Names whose list is done, as many as there are names above pages. @type {Set<string>} */
    const done = new Set()
    for (let after = ''; ;) {
      /** @type {{_id: string}[]} */
      const pages = await Pages
        .find({ deleted_at: null, _id: mongoose.trusted({ $gt: after, $regex: '/' }) }, { _id: 1 })
        .sort({ _id: 1 })
        .limit(PAGES_AT_ONCE)
        .lean()
        .exec()
      for (const { _id: name } of pages) {
        const above = /** @type {string} */ (namesAbove(name).at(-1))
        if (done.has(above)) continue
        done.add(above)
        const lists = await inTransaction(Pages.db, (session) => subpages.update(session, { went: [name] }))
        changed += lists.length
      }
      if (pages.length < PAGES_AT_ONCE) return changed
      after = pages[pages.length - 1]._id
    }
  }

  return { number: 3, name: 'subpages', run }
}
