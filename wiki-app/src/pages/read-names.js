import { kindOf } from './head.js'
import { searchKey } from './search-key.js'

const SIMILAR_MAX = 5

/** @param {Pick<import('./model.js').Models, 'Pages'>} models */
export const createNameReads = ({ Pages }) => ({
  /** @param {string} name @returns {Promise<import('./model.js').Target['is']>} what exists under the name */
  async findKind (name) {
    const fields = { revision: 1, deleted_at: 1, redirect_to: 1 }
    return kindOf(await Pages.findOne({ _id: name }, fields).lean().exec())
  },

  /**
   * Of pages whose names differ only in case, accents, leading zeros, and spaces or underscores.
   * @param {string} name @returns {Promise<string[]>} at most 5
   */
  async findSimilar (name) {
    /** @type {{_id: string}[]} */
    const pages = await Pages
      .find({ deleted_at: null, search_key: searchKey(name) }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(SIMILAR_MAX)
      .lean()
      .exec()
    return pages.map(({ _id }) => _id)
  }
})
