import mongoose from 'mongoose'
import pino from 'pino'
import { CACHE_SETTINGS } from '../caching/settings.js'
import { loadS3 } from '../files/storage/storages.js'
import { migrate } from '../migrations/migrate.js'
import { createServices } from '../services.js'

/** @import {Config} from '../settings.js' */
/** @import {Services} from '../services.js' */

const SELECTION_MS = 5_000
const PURGE_LOG = 'purge_log'
const SPACES = 'spaces'

/**
 * The parts of a wiki that write its pages, without the wiki: what a save leaves to do is written, and the wiki that
 * runs on the database does it, or will.
 * @param {Config} config  of that wiki: its purges are written as it would write them
 * @param {{mayWrite: boolean}} options  without: nothing is written, not even an index
 * @throws {Error} ConfigError; of the database
 */
export async function openWiki (config, { mayWrite }) {
  const log = pino({ level: 'error' }, pino.destination(2))
  // Without the wiki's settings: caches may follow the log. With them, they say what is purged, as a log may be one of
  // former times.
  const there = await collectionsOf(config.MONGODB_URI)
  const isLogged = config.CACHE_POLICY === CACHE_SETTINGS.CACHE_POLICY.default && config.PURGE_ZONE === undefined &&
    there.has(PURGE_LOG)
  const services = createServices(isLogged ? { ...config, CACHE_POLICY: 'bounded' } : config, log, {
    createS3: await loadS3(config), purge: await purgedBy(config), asksSpaces: there.has(SPACES)
  })
  const { store, models, files } = services
  try {
    if (mayWrite) await connect(services, log)
    else await connectToRead(services, config.MONGODB_URI)
  } catch (error) {
    await close(services)
    throw error
  }
  return { store, models, files, maxBytes: config.PAGE_MAX_BYTES, close: () => close(services) }
}

/** @param {string} uri @returns {Promise<Set<string>>} names @throws {Error} when the database is not there */
async function collectionsOf (uri) {
  const client = new mongoose.mongo.MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_MS })
  try {
    const found = await client.db().listCollections({}, { nameOnly: true }).toArray()
    return new Set(found.map(({ name }) => name))
  } finally {
    await client.close()
  }
}

/** @param {Services} services @param {string} uri */
async function connectToRead ({ database: { connection } }, uri) {
  // `set` does not reach options without a default.
  Object.assign(connection.config, { autoCreate: false, autoIndex: false })
  const client = new mongoose.mongo.MongoClient(uri, { promoteBuffers: true })
  connection.setClient(await client.connect())
}

/** As a wiki's start. @param {Services} services @param {import('pino').Logger} log */
async function connect ({ database, store, pictureUpkeep, refuseOtherForms }, log) {
  /** @type {unknown} */
  let problem = new Error('the database cannot be prepared: it needs the transactions of a replica set, and indexes')
  await database.connect(async (db) => {
    try {
      await refuseOtherForms(db)
      await migrate({ db, migrations: store.migrations, log })
      await pictureUpkeep.claim(db)
      problem = null
    } catch (error) {
      problem = error
      throw error
    }
  })
  if (problem !== null) throw problem
}

/** @param {Services} services */
async function close ({ database, store, renderer, oldRevisions, pictureUpkeep, queue }) {
  await queue.close()
  await Promise.all([pictureUpkeep.close(), oldRevisions.close(), renderer.close(), store.close()])
  await database.close()
}

/**
 * Only the wiki sends purges; here it counts which APIs have a queue.
 * @param {Config} config
 */
async function purgedBy ({ PURGE_ZONE: zoneId, PURGE_URL: apiUrls }) {
  const purge = async () => {}
  if (zoneId === undefined) return undefined
  const urls = apiUrls?.split(',') ?? []
  if (urls.length < 2) return purge
  const { parseApiUrl } = await import('@stevec/cdn/wiki')
  return Object.fromEntries(urls.map((url) => [parseApiUrl(url), purge]))
}
