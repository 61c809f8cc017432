import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { readBackup } from '../src/backup/read.js'
import { judge } from '../torture/oracle.js'
import { stored } from '../torture/torture.js'
import { BROWSER, createLog, get, save, untilFound, useWiki } from './helper.js'
import { largePng, png } from './images.js'

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
/** A wiki of a version whose pages had no tags, no list of their links and no version of their renderer. */
const BEFORE_LINKS = 'wiki-before-links.jsonl'
/** A wiki of a version whose titles were found by `title_key`. */
const BEFORE_SEARCH_KEYS = 'wiki-before-search-keys.jsonl'

/** A wiki of a version whose database kept the words of pages, in a text index. */
const BEFORE_WORDS_OUTSIDE = 'wiki-before-words-outside.jsonl'

/** @param {import('node:test').TestContext} t @param {string} fixture @returns the restored database */
async function restored (t, fixture) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-upgrade-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'old.stevec.gz')
  writeFileSync(file, gzipSync(readFileSync(new URL(`fixtures/${fixture}`, import.meta.url))))
  const uri = wiki.freshUri()
  return { uri, documents: await readBackup({ uri, file }) }
}

test('pages stored by an older version are shown, found, linked and edited like new ones', async (t) => {
  const { uri, documents } = await restored(t, BEFORE_LINKS)
  assert.deepEqual(documents, { pages: 5, revisions: 7 })
  const app = await wiki.build(t, { MONGODB_URI: uri })

  const home = await get(app, '/wiki/Home', BROWSER)
  assert.equal(home.statusCode, 200)
  assert.equal(home.headers['page-revision'], '2')
  assert.match(
    home.body,
    /<a href="\/wiki\/Guide">Guide<\/a>/,
    'an existing page is not marked as missing, even without a save since the upgrade'
  )
  assert.match(home.body, /<a href="\/edit\/new\/Nowhere" class="missing"/)
  assert.match((await get(app, '/pages', BROWSER)).body, /Guide[\s\S]*Home[\s\S]*Moved here/)
  await untilFound(app, 'elsewhere', 1)
  assert.match((await get(app, '/search?q=elsewhere', BROWSER)).body, /Moved here/)
  assert.match((await get(app, '/links/Guide', BROWSER)).body, /Home/)
  assert.equal((await get(app, '/wiki/Old%20name')).headers.location, '/wiki/Moved%20here')
  assert.equal((await get(app, '/wiki/Gone')).statusCode, 404)
  assert.equal((await get(app, '/api/v1/pages/Home')).json().tags.length, 0)
  assert.deepEqual(
    (await get(app, '/api/v1/pages/Home/revisions')).json().items
      .map((/** @type {{revision: number}} */ { revision }) => revision),
    [2, 1]
  )
  assert.match((await get(app, '/revision/Home/1', BROWSER)).body, /Welcome\./)

  const withText = { deleted_at: { $ne: null }, content: { $ne: '' } }
  const connection = await mongoose.createConnection(uri).asPromise()
  t.after(() => connection.close())
  assert.equal(await connection.collection('pages').countDocuments(withText), 0, 'a name without a page keeps no text')

  assert.equal((await save(app, 'Home', 'Now only the [[Guide]].')).json().revision, 3)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/Guide' })).statusCode, 204)
  assert.equal((await save(app, 'Gone', 'Here again.')).json().revision, 3)
  const { torn_pages: pages, torn_counts: counts } = judge([], [], await stored(uri))
  assert.deepEqual({ pages, counts }, { pages: 0, counts: 0 })
})

test('titles stored without search keys are found without accents, and numbers sort by value', async (t) => {
  const { uri } = await restored(t, BEFORE_SEARCH_KEYS)
  const names = async (/** @type {import('fastify').FastifyInstance} */ app, /** @type {string} */ query) =>
    (await get(app, `/api/v1/pages${query}`)).json().items.map((/** @type {{name: string}} */ { name }) => name)
  const lists = async (/** @type {import('fastify').FastifyInstance} */ app) =>
    [await names(app, ''), await names(app, '?q=cebe'), await names(app, '?q=page')]
  const { lines, logTo } = createLog()
  const app = await wiki.build(t, { MONGODB_URI: uri }, {}, { logTo })
  const found = await lists(app)
  assert.deepEqual(found, [
    ['Čebela', 'Dolgi rok čebele', 'Page 2', 'Page 10'], ['Čebela', 'Dolgi rok čebele'], ['Page 2', 'Page 10']
  ])
  // Deleted pages have keys, too: they can be brought back.
  assert.ok(lines.some(({ msg }) => msg === 'migration 2 (search-keys) has changed 5 documents'), JSON.stringify(lines))

  // As after a crash in the middle.
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  await client.db().collection('migrations').deleteOne({ _id: /** @type {any} */ (2) })
  await client.db().collection('pages').updateOne({ _id: /** @type {any} */ ('Page 2') }, { $unset: { search_key: 1 } })
  const again = createLog()
  assert.deepEqual(await lists(await wiki.build(t, { MONGODB_URI: uri }, {}, { logTo: again.logTo })), found)
  assert.ok(again.lines.some(({ msg }) => msg === 'migration 2 (search-keys) has changed 1 document'))
})

/** As older versions stored them: with the driver, which makes the indexes. */
async function storedByDriver (/** @type {import('mongodb').GridFSBucket} */ bucket, /** @type {Buffer} */ bytes) {
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const metadata = { type: 'image/png', extension: 'png', width: 1, height: 1, author: 'Ana', alt: '' }
  const stream = bucket.openUploadStream(name, { metadata })
  await new Promise((resolve, reject) => stream.on('finish', resolve).on('error', reject).end(bytes))
  return `/files/${name}.png`
}

test('pictures of an older version stay, their chunks get an index that may be sharded, and both versions read both',
  async (t) => {
    const uri = wiki.freshUri()
    const client = await mongoose.mongo.MongoClient.connect(uri)
    t.after(() => client.close())
    const db = client.db()
    const old = new mongoose.mongo.GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 1_048_576 })
    const url = await storedByDriver(old, largePng(2_500_000))
    const app = await wiki.build(t, { MONGODB_URI: uri })
    const indexes = async () => (await db.collection('files.chunks').indexes())
      .map(({ key, unique = false }) => [JSON.stringify(key), unique])
    const now = [['{"_id":1}', false], ['{"files_id":1,"n":-1}', false]]
    assert.deepEqual(await indexes(), now)
    assert.ok((await get(app, url)).rawPayload.equals(largePng(2_500_000)))

    const payload = largePng(1_500_000)
    const uploaded = await app.inject({
      method: 'POST', url: '/api/v1/files', headers: { 'content-type': 'image/png' }, payload
    })
    const name = uploaded.json().url.slice(7, 39)
    const chunks = await db.collection('files.chunks').find().sort({ files_id: 1, n: 1 }).toArray()
    const ids = chunks.map(({ _id }) => _id)
    assert.ok(ids.slice(0, 3).every((id) => id instanceof mongoose.mongo.ObjectId), 'old chunks are not copied')
    const { _id: file } = /** @type {import('mongodb').Document} */ (await db.collection('files.files')
      .findOne({ filename: name }))
    assert.deepEqual(ids.slice(3), [`${file}-0`, `${file}-1`])
    await assert.rejects(db.collection('files.chunks').insertOne({ ...(chunks[4]) }), { code: 11_000 })
    assert.ok((await buffer(old.openDownloadStreamByName(name))).equals(payload))

    // A wiki of the older version that starts now makes its own indexes again, and both go on.
    await db.collection('files.chunks').createIndex({ files_id: 1, n: 1 }, { unique: true })
    const late = await storedByDriver(old, png(9))
    const again = await wiki.build(t, { MONGODB_URI: uri })
    assert.ok((await get(again, late)).rawPayload.equals(png(9)))
    assert.equal((await app.inject({ method: 'DELETE', url: `/api/v1${url}` })).statusCode, 204)
    assert.equal(await db.collection('files.chunks').countDocuments(), 3)
  })

test('the text index and its field leave a database of an older version, and words are found as before', async (t) => {
  const { uri } = await restored(t, BEFORE_WORDS_OUTSIDE)
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const pages = client.db().collection(/** @type {string} */ ('pages'))
  const textIndex = () => pages.createIndex({ deleted_at: 1, title_key: 'text', content: 'text' },
    { name: 'full_text', default_language: 'none', weights: { title_key: 10, content: 1 } })
  await textIndex()
  const leftOver = async () => [
    (await pages.indexes()).filter(({ name }) => name === 'full_text').length,
    await pages.countDocuments({ title_key: { $exists: true } })
  ]
  assert.deepEqual(await leftOver(), [1, 5])
  const { lines, logTo } = createLog()
  const app = await wiki.build(t, { MONGODB_URI: uri }, {}, { logTo })
  assert.deepEqual(await leftOver(), [0, 0])
  const said = lines.map(({ msg }) => msg)
  assert.ok(said.includes('migration 4 (words-outside) has changed 5 documents'), JSON.stringify(lines))
  await untilFound(app, 'bees', 3)
  const found = (await get(app, '/api/v1/search?q=honey')).json().items
  const names = found.map((/** @type {{name: string}} */ { name }) => name)
  assert.deepEqual(names, ['Honey badger', 'Bees'], 'by title first')

  // In a rolling upgrade the older version may still save.
  await pages.updateOne({ _id: /** @type {any} */ ('Hive') }, { $set: { title_key: 'hive' } })
  const renamed = await app.inject({ method: 'POST', url: '/api/v1/pages/Hive/rename', payload: { to: 'Nest' } })
  assert.equal(renamed.statusCode, 201, renamed.body)
  assert.deepEqual(await leftOver(), [0, 1])

  // As after a crash in the middle.
  await textIndex()
  await client.db().collection('migrations').deleteOne({ _id: /** @type {any} */ (4) })
  await wiki.build(t, { MONGODB_URI: uri })
  assert.deepEqual(await leftOver(), [0, 0])
})

test('purges that an older version left are sent, each as often as it is still due', async (t) => {
  const uri = wiki.freshUri()
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const db = client.db()
  const due = { everything: false, tags: [], due_at: new Date(0), claim: null }
  await db.collection('purges').insertMany([
    { ...due, urls: ['/wiki/new'], again: false }, { ...due, urls: ['/wiki/once'], again: true },
    // Of a version whose entries had no tags.
    { everything: false, urls: ['/wiki/older'], again: false, due_at: new Date(0) }
  ])
  await db.collection('queue').createIndex({ set_aside_at: 1, due_at: 1 })
  /** @type {string[]} */
  const purged = []
  await wiki.build(t, { MONGODB_URI: uri }, {
    purge: async (stale) => { purged.push(...stale.everything ? ['everything'] : stale.urls) },
    timing: { gatherMs: 5, repeatAfterMs: 30, retryMs: 5, retryMaxMs: 20, checkMs: 20 }
  })
  const left = () => db.collection('queue').countDocuments()
  assert.ok(await waitUntil(async () => purged.length >= 5 && await left() === 0, WAIT_MAX_MS))
  assert.deepEqual(purged.sort(), ['/wiki/new', '/wiki/new', '/wiki/older', '/wiki/older', '/wiki/once'])
  assert.equal(await db.collection('purges').countDocuments(), 0)
  const indexes = (await db.collection('queue').indexes()).map(({ name }) => name)
  assert.deepEqual(indexes.sort(), ['_id_', 'set_aside_at_1_kind_1_due_at_1'])
})
