import { MongoClient } from 'mongodb'

/** @typedef {{uri: string, drop: () => Promise<void>}} LabDatabase */

/**
 * Names a database for one run on the user's server, so that an experiment never writes to the user's wiki.
 * @param {string} mongodbUri
 * @returns {LabDatabase}
 */
export function labDatabase (mongodbUri) {
  const uri = new URL(mongodbUri)
  const name = `stevec_lab_${Date.now().toString(36)}`
  uri.pathname = `/${name}`
  // Otherwise the server looks for the user in the new database.
  if (uri.username !== '' && !uri.searchParams.has('authSource')) {
    uri.searchParams.set('authSource', new URL(mongodbUri).pathname.slice(1) || 'admin')
  }
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
