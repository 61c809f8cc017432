import { hostname } from 'node:os'
import { MongoClient } from 'mongodb'

/**
 * @typedef {object} LabDatabase
 * @property {string} uri
 * @property {() => Promise<number | null>} serverPid  null: the server runs on another machine, or does not say
 * @property {() => Promise<void>} drop
 */

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
  /** @template T @param {(client: MongoClient) => Promise<T>} act */
  const connected = async (act) => {
    const client = new MongoClient(uri.href, { serverSelectionTimeoutMS: 5_000 })
    try {
      return await act(client)
    } finally {
      await client.close()
    }
  }
  return {
    uri: uri.href,
    // A user without the role clusterMonitor may not ask.
    serverPid: () => connected(async (client) => {
      const { host, pid } = await client.db('admin').command({ serverStatus: 1 })
      return String(host).split(':')[0] === hostname() ? Number(pid) : null
    }).catch(() => null),
    drop: () => connected(async (client) => { await client.db(name).dropDatabase() })
  }
}
