import mongoose from 'mongoose'

/** Which migrations are applied. */
const KEPT = new Set(['migrations', 'space_migrations'])

/**
 * The databases of a mongod's wikis. Creating one, with some twenty collections and forty indexes, takes mongod longer
 * than most tests, so the next wiki gets that of a closed one, without its documents.
 * @param {{uri: string, uriFor: (database: string) => string}} mongod
 */
export function createDatabases ({ uri, uriFor }) {
  const client = new mongoose.mongo.MongoClient(uri)
  /** @type {string[]} */
  const left = []
  let made = 0
  const fresh = () => `wiki_${++made}`

  /** @param {string} name */
  async function empty (name) {
    const db = client.db(name)
    const collections = await db.listCollections({}, { nameOnly: false }).toArray()
    // Bounded collections are made anew: a wiki asks how large they are.
    await Promise.all(collections.filter(({ name }) => !KEPT.has(name)).map(({ name, options }) =>
      options?.capped ? db.dropCollection(name) : db.collection(name).deleteMany({})))
  }

  return {
    /** One that never was. */
    freshUri: () => uriFor(fresh()),

    /** @returns {Promise<{uri: string, leave: () => void}>} `leave`: once nothing uses it any more */
    async take () {
      const used = left.shift()
      if (used !== undefined) await empty(used)
      const name = used ?? fresh()
      return { uri: uriFor(name), leave: () => { left.push(name) } }
    },

    close: () => client.close()
  }
}
