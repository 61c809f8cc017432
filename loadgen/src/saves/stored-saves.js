import { MongoClient, ObjectId } from 'mongodb'

/** The text of an edit begins with a mark of trial and iteration (../../scenarios/messages.js). */
const MARK_CHARS = 60

/**
 * Watches which saves of a trial the wiki's database gets from now on. Keeps no connection to it.
 * @param {string} mongodbUri
 * @param {string} mark  of the trial
 */
export async function watchStored (mongodbUri, mark) {
  /** @type {<T>(act: (revisions: Collection, failures: Collection) => Promise<T>) => Promise<T>} */
  async function ask (act) {
    const client = await MongoClient.connect(mongodbUri)
    const [revisions, failures] = ['revisions', 'failed_saves'].map((name) => client.db().collection(name))
    return act(revisions, failures).finally(() => client.close())
  }

  const before = await ask(async (revisions, failures) =>
    ({ newest: await revisions.findOne({}, { sort: { _id: -1 } }), failed: await failures.countDocuments() }))
  // Ids grow by the second; within one, those of several wikis have no order.
  const isLater = before.newest === null ? {} : { _id: { $gte: secondBefore(before.newest._id) } }

  return {
    /** @returns {Promise<Set<number>>} those whose save is a revision of its page */
    iterations: () => ask(async (revisions) => {
      const found = new Set()
      const begin = new RegExp(`^${mark}x(\\d+)\\b`)
      for await (const { text } of revisions.aggregate([
        { $match: { ...isLater, content: begin } },
        { $project: { text: { $substrCP: ['$content', 0, MARK_CHARS] } } }
      ])) found.add(Number(begin.exec(text)?.[1]))
      return found
    }),

    /** @returns {Promise<number>} saves that were acknowledged, and that the wiki then found impossible */
    failed: () => ask(async (_, failures) => await failures.countDocuments() - before.failed)
  }
}

/** @typedef {import('mongodb').Collection} Collection */

/** @param {ObjectId} id */
const secondBefore = (id) => ObjectId.createFromTime(id.getTimestamp().getTime() / 1000 - 1)
