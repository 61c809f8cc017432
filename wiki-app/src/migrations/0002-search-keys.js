import mongoose from 'mongoose'
import { searchKey } from '../pages/search-key.js'

const PAGES_AT_ONCE = 500
/** Earlier versions searched titles by `title_key`. */
const WITHOUT_KEY = { search_key: mongoose.trusted({ $exists: false }) }

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export function searchKeys ({ models: { Pages } }) {
  /** After a crash it begins anew, and passes over what is done. */
  async function run () {
    let changed = 0
    for (let after = ''; ;) {
      /** @type {{_id: string}[]} */
      const pages = await Pages
        .find({ _id: mongoose.trusted({ $gt: after }), ...WITHOUT_KEY }, { _id: 1 })
        .sort({ _id: 1 })
        .limit(PAGES_AT_ONCE)
        .lean()
        .exec()
      if (pages.length === 0) return changed
      await Pages.bulkWrite(pages.map(({ _id }) => ({
        updateOne: { filter: { _id }, update: { $set: { search_key: searchKey(_id) } } }
      })))
      changed += pages.length
      after = pages[pages.length - 1]._id
    }
  }

  return { number: 2, name: 'search-keys', run }
}
