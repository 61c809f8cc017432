import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, before } from 'node:test'
import mongoose from 'mongoose'
import { startMongod } from '@stevec/harness/mongod'
import { waitUntil } from '@stevec/harness/processes'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { COUNTS } from '../src/pages/counts.js'
import { createDatabases } from './databases.js'
import { endThreads, lastingThreads } from './threads.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('light-my-request').Response} Response */

/** The Accept header of a browser that requests a page. */
export const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

/** The defaults, but without a write limit, and with a queue wait so long that a slow machine refuses nothing. */
const SETTINGS = { LOG_LEVEL: 'warn', WRITES_PER_MINUTE: '0', QUEUE_WAIT_MAX_MS: '20000' }
/** Databases of applications. @type {WeakMap<import('fastify').FastifyInstance, string>} */
const uris = new WeakMap()
const COUNTED_MAX_MS = 60_000
/** The promise is 1 s; the rest is for slow machines. */
const INDEXED_MAX_MS = 60_000
const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })

/** Creates a log stream, and the list of the lines written to it. */
export function createLog () {
  /** @type {Record<string, any>[]} */
  const lines = []
  const logTo = new Writable({
    write (chunk, _encoding, done) {
      for (const line of String(chunk).split('\n').filter(Boolean)) lines.push(JSON.parse(line))
      done()
    }
  })
  return { lines, logTo }
}

/** The files of one process share them. @type {ReturnType<typeof start> | undefined} */
let starting
let users = 0

async function start () {
  const mongod = await startMongod()
  const databases = createDatabases(mongod)
  return {
    ...databases,
    async stop () {
      await Promise.all([endThreads(), databases.close()])
      await mongod.stop()
    }
  }
}

/**
 * Starts one mongod for the test files of a process. Each application gets a database in it that nothing else uses.
 */
export function useWiki () {
  /** @type {Awaited<ReturnType<typeof start>>} */
  let databases
  before(async () => {
    users++
    databases = await (starting ??= start())
  })
  after(async () => { if (--users === 0) await databases.stop() })

  return {
    /** Of a database that never was, for tests that look into it, or have several wikis of it. */
    freshUri: () => databases.freshUri(),
    /**
     * Builds an application that closes at the end of its test.
     * @param {TestContext} t
     * @param {Record<string, string>} [settings]
     * @param {Parameters<typeof buildApp>[1]} [caches]
     * @param {Parameters<typeof buildApp>[3] & {logTo?: NodeJS.WritableStream}} [parts]
     */
    async build (t, settings = {}, caches = {}, { logTo = nowhere(), ...parts } = {}) {
      const own = settings.MONGODB_URI === undefined ? await databases.take() : undefined
      const config = readConfig({ ...SETTINGS, MONGODB_URI: own?.uri, ...settings })
      const app = await buildApp(config, caches, { logTo }, { makeAuthorsPool: lastingThreads, ...parts })
      uris.set(app, config.MONGODB_URI)
      t.after(async () => {
        await app.close()
        own?.leave()
      })
      return app
    }
  }
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} url
 * @param {Record<string, string>} [headers]
 */
export const get = (app, url, headers = {}) => app.inject({ method: 'GET', url, headers })

/**
 * Reads the metrics of a wiki.
 * @param {number} port  METRICS_PORT
 */
export async function readMetrics (port, path = '/metrics') {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: answer.status, text: await answer.text() }
}

/**
 * Saves a page as a program does.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 * @param {string | Buffer} content
 * @param {Record<string, string>} [headers]
 */
export const save = (app, name, content, headers = {}) =>
  app.inject({
    method: 'POST',
    url: `/wiki/${encodeURIComponent(name)}`,
    headers: { 'content-type': 'text/markdown', ...headers },
    payload: content
  })

/**
 * Waits until searches of texts find all that was saved before: the index of words follows in order.
 * @param {import('fastify').FastifyInstance} app
 */
export async function untilIndexed (app) {
  const mark = `mark${randomUUID().replaceAll('-', '')}`
  await save(app, mark, mark)
  await untilFound(app, mark, 1)
  await app.inject({ method: 'DELETE', url: `/wiki/${mark}` })
  await untilFound(app, mark, 0)
}

/**
 * Waits until the links and tags of all that was saved before are counted.
 * @param {import('fastify').FastifyInstance} app  of `build`
 */
export async function untilCounted (app) {
  const client = await mongoose.mongo.MongoClient.connect(/** @type {string} */ (uris.get(app)))
  try {
    // As snapshots read, which can be a moment behind what a local read sees.
    const queue = client.db().collection('queue', { readConcern: { level: 'majority' } })
    const counted = await waitUntil(async () => await queue.countDocuments({ kind: COUNTS }) === 0, COUNTED_MAX_MS)
    if (!counted) throw new Error('the links and tags of what was saved are not counted')
  } finally {
    await client.close()
  }
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} q  words
 * @param {number} hits
 */
export async function untilFound (app, q, hits) {
  const found = await waitUntil(async () => {
    const { statusCode, body } = await get(app, `/api/v1/search?q=${q}`)
    return statusCode === 200 && JSON.parse(body).items.length === hits
  }, INDEXED_MAX_MS)
  if (!found) throw new Error(`a search for ${q} does not find ${hits} pages`)
}

/**
 * Damages a page in the database as no wiki does, so that viewing it is an unexpected error.
 * @param {string} uri  of the wiki's database
 * @param {string} name
 */
export async function breakPage (uri, name) {
  const client = await mongoose.mongo.MongoClient.connect(uri)
  const { matchedCount } = await client.db().collection('pages').updateOne(
    { _id: /** @type {any} */ (name) },
    { $unset: { rendered_at: 1 } }
  )
  await client.close()
  if (matchedCount !== 1) throw new Error(`there is no page ${name} to break`)
}

/**
 * Saves a page as a browser does.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 * @param {Record<string, string>} fields
 */
export const submit = (app, name, fields) => app.inject({
  method: 'POST',
  url: `/wiki/${encodeURIComponent(name)}`,
  headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  payload: new URLSearchParams(fields).toString()
})

/**
 * While it is held, the database answers reads and finishes no write.
 * @param {TestContext} t @param {import('mongodb').Db} db
 */
export async function hold (t, db) {
  const admin = db.client.db('admin')
  let held = true
  await admin.command({ fsync: 1, lock: true })
  const release = async () => {
    if (held) await admin.command({ fsyncUnlock: 1 })
    held = false
  }
  t.after(release)
  return release
}
