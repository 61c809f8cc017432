/** @import {mongo} from 'mongoose' */
/** @import {Revision} from '../pages/model.js' */

/** The index of revisions by their authors. */
const BY_AUTHOR = { author: 1, _id: -1 }

/**
 * All authors, each once: the database goes from one name to the next in the index, past the rest of their revisions.
 * @param {mongo.Collection<any>} revisions
 * @returns {mongo.AggregationCursor<{_id: Revision['author']}>}
 */
export const authorsOf = (revisions) =>
  revisions.aggregate([{ $sort: { author: 1 } }, { $group: { _id: '$author' } }], { hint: BY_AUTHOR })

/** @param {mongo.Collection<any>} revisions @returns {AsyncGenerator<string>} */
export async function * authorNames (revisions) {
  for await (const { _id: author } of authorsOf(revisions)) if (author) yield author
}
