import { driverOf } from '../database/driver.js'

const PAGES_AT_ONCE = 500
/** Earlier versions searched texts by it; each edit took 14 ms or more of the database's processor time for it. */
const TEXT_INDEX = 'full_text'
/** NamespaceNotFound, IndexNotFound. */
const NOT_THERE = new Set([26, 27])

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export function wordsOutside ({ models: { Pages } }) {
  /** After a crash it begins anew, and passes over what is done. @returns {Promise<number>} changed pages */
  async function run () {
    const pages = driverOf(Pages)
    await pages.dropIndex(TEXT_INDEX).catch((error) => { if (!NOT_THERE.has(error.code)) throw error })
    let changed = 0
    for (let after = ''; ;) {
      const found = await pages
        .find({ _id: { $gt: after }, title_key: { $exists: true } }, { projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(PAGES_AT_ONCE)
        .toArray()
      if (found.length === 0) return changed
      const names = found.map(({ _id }) => _id)
      const { modifiedCount } = await pages.updateMany({ _id: { $in: names } }, { $unset: { title_key: 1 } })
      changed += modifiedCount
      after = names[names.length - 1]
    }
  }

  return { number: 4, name: 'words-outside', run }
}
