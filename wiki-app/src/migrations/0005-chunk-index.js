/** @import {Collection, IndexDescriptionInfo} from 'mongodb' */

const NO_SUCH_COLLECTION = 26
/**
 * Of GridFS's driver. The first is unique and does not begin with a hashed shard key; nothing uses the second.
 * @type {[string, (index: IndexDescriptionInfo) => boolean][]}
 */
const OLD = [
  ['files.chunks', ({ key, unique }) => unique === true && String(Object.entries(key)) === 'files_id,1,n,1'],
  ['files.files', ({ key }) => String(Object.entries(key)) === 'filename,1,uploadDate,1']
]

/**
 * Chunks keep their ids: a new id would copy all pictures, and no chunk is written twice. The index that replaces the
 * unique one exists before (files/model.js), so pictures can be read at any time, also by wikis of the older version.
 * @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration}
 */
export function chunkIndex ({ models: { Pages } }) {
  async function run () {
    for (const [name, isOld] of OLD) {
      const collection = /** @type {Collection} */ (/** @type {unknown} */ (Pages.db.collection(name)))
      const indexes = await collection.indexes().catch((error) => {
        if (error.code !== NO_SUCH_COLLECTION) throw error
        return []
      })
      for (const index of indexes.filter(isOld)) await collection.dropIndex(String(index.name))
    }
    return 0
  }

  return { number: 5, name: 'chunk-index', run }
}
