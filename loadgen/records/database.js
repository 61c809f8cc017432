import { MongoClient } from 'mongodb'
import { WRITE_CONCERN } from './strategies/insert.js'

/** As many inserts at once as there are clients in the study, or in a group. */
const POOL_MAX = 100

/**
 * @param {Pick<import('./config.js').Config, 'mongodbUri' | 'collection'>} config
 * @returns {Promise<{client: MongoClient, records: import('./strategies/insert.js').Records}>}
 */
export async function openRecords ({ mongodbUri, collection }) {
  const client = await MongoClient.connect(mongodbUri, { maxPoolSize: POOL_MAX, writeConcern: WRITE_CONCERN })
  return { client, records: client.db().collection(collection) }
}
