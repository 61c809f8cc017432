import { MongoClient } from 'mongodb'

/** @typedef {{uri: string, drop: () => Promise<void>}} LabDatabase */

/**
 * A database of the run's own on the server that the user named, so that an experiment never writes to the user's wiki.
 * @param {string} mongodbUri
 * @returns {LabDatabase}
 */
export function labDatabase (mongodbUri) {
  const uri = new URL(mongodbUri)
  const name = `stevec_lab_${Date.now().toString(36)}`
  uri.pathname = `/${name}`
  // Without this, the server would look for the user in the database that was just made up.
  if (uri.username !== '' && !uri.searchParams.has('authSource')) uri.searchParams.set('authSource', new URL(mongodbUri).pathname.slice(1) || 'admin')
  return {
    uri: uri.href,
    async drop () {
      const client = new MongoClient(uri.href, { serverSelectionTimeoutMS: 5_000 })
      try {
        await client.db(name).dropDatabase()
      } finally {
        await client.close()
      }
    }
  }
}
