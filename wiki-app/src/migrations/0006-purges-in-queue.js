import { PURGE } from '../caching/purge-entries.js'

/** @import {Collection} from 'mongodb' */

/** @typedef {{_id: any, everything: boolean, urls?: string[], tags?: string[], again: boolean, due_at: Date,
 *   api?: string}} Old */

const MOVED_AT_ONCE = 500
const DUPLICATE_KEY = 11_000
/** NamespaceNotFound, IndexNotFound. */
const NOT_THERE = new Set([26, 27])
/** An index with the kind has replaced it. */
const OLD_INDEX = 'set_aside_at_1_due_at_1'

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export function purgesInQueue ({ models: { Pages } }) {
  const collectionOf = (/** @type {string} */ name) =>
    /** @type {Collection<any>} */ (/** @type {unknown} */ (Pages.db.collection(name)))

  /**
   * Earlier versions kept what caches have to be purged of in a collection of its own. It stays: a wiki of such a
   * version that still runs writes to it. An entry that it purges at this moment may be purged once more.
   * @returns {Promise<number>} moved entries; after a crash it begins anew
   */
  async function run () {
    const [purges, queue] = [collectionOf('purges'), collectionOf('queue')]
    let moved = 0
    for (;;) {
      const old = await purges.find().limit(MOVED_AT_ONCE).toArray()
      if (old.length === 0) break
      await queue.insertMany(old.map(entryOf), { ordered: false })
        .catch((error) => { if (error.code !== DUPLICATE_KEY) throw error })
      await purges.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } })
      moved += old.length
    }
    await queue.dropIndex(OLD_INDEX).catch((error) => { if (!NOT_THERE.has(error.code)) throw error })
    return moved
  }

  return { number: 6, name: 'purges-in-queue', run }
}

/** @param {Old} old */
const entryOf = ({ _id, everything, urls = [], tags = [], again, due_at: dueAt, api }) => ({
  _id,
  kind: PURGE,
  name: '',
  content: { ...everything ? { everything } : { everything, urls, tags }, ...api !== undefined && { api } },
  done_up_to: again ? 'once' : '',
  due_at: dueAt,
  claim: null,
  failures: 0
})
