import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { createRenderer } from '../src/markdown/renderer.js'
import { RENDERER_VERSION } from '../src/markdown/version.js'
import { get, save, untilCounted, useWiki } from './helper.js'

const wiki = useWiki()
const READERS = 100
const PATIENCE_MS = 240_000
const LONG_TEXT = 'A sentence that makes a page as long as one of 20 kB. '.repeat(370)

/**
 * Returns a `createRenderer` of another version, whose HTML names that version.
 * @param {number} version
 * @param {(markdown: string) => Promise<void> | void} [onRender]
 * @returns {typeof createRenderer}
 */
const ofVersion = (version, onRender = () => {}) => (options) => {
  const renderer = createRenderer(options)
  return {
    ...renderer,
    version,
    async render (markdown, how) {
      await onRender(markdown)
      const rendered = await renderer.render(markdown, how)
      return { ...rendered, html: `${rendered.html}<p>By version ${version}.</p>\n` }
    }
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 * @param {number} version
 * @param {(markdown: string) => Promise<void> | void} [onRender]
 */
const appOf = (t, uri, version, onRender) =>
  wiki.build(t, { MONGODB_URI: uri }, {}, { makeRenderer: ofVersion(version, onRender) })

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 */
async function pagesOf (t, uri) {
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  return client.db().collection('pages')
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 */
const view = async (app, name) => {
  const { statusCode, headers, body } = await get(app, `/wiki/${name}`)
  const by = Number(/By version (\d+)/.exec(body)?.[1])
  return { statusCode, etag: headers.etag, modified: headers['last-modified'], by }
}

test('after a renderer change readers get the stored HTML; pages are rendered in the background', async (t) => {
  const uri = wiki.freshUri()
  const names = Array.from({ length: READERS }, (_, index) => `page-${index}`)
  const before = await appOf(t, uri, 1)
  for (const name of names) assert.equal((await save(before, name, `${LONG_TEXT} Of ${name}.`)).statusCode, 201)

  let release = () => {}
  const readersAreDone = new Promise((resolve) => { release = () => resolve(undefined) })
  const after = await appOf(t, uri, 2, () => readersAreDone)
  const views = await Promise.all(names.map((name) => view(after, name)))
  const shown = views.map(({ statusCode, by }) => [statusCode, by])
  assert.deepEqual(shown, names.map(() => [200, 1]), 'no view waits for the renderer')
  release()
  const pages = await pagesOf(t, uri)
  assert.ok(await waitUntil(async () => await pages.countDocuments({ renderer: 2 }) === READERS, PATIENCE_MS))
  assert.equal((await view(after, names[READERS - 1])).by, 2)
})

test('a hundred readers of an outdated page cause one rendering', async (t) => {
  const uri = wiki.freshUri()
  await save(await appOf(t, uri, 1), 'a', LONG_TEXT)
  let renders = 0
  const after = await appOf(t, uri, 2, () => { renders++ })
  const views = await Promise.all(Array.from({ length: READERS }, () => view(after, 'a')))
  assert.ok(views.every(({ statusCode }) => statusCode === 200))
  assert.ok(await waitUntil(async () => (await view(after, 'a')).by === 2, PATIENCE_MS))
  await view(after, 'a')
  assert.equal(renders, 1)
})

test('two renderer versions side by side do not overwrite each other, and entity tags stay the same', async (t) => {
  const uri = wiki.freshUri()
  const [old, young] = [await appOf(t, uri, 1), await appOf(t, uri, 2)]
  await save(old, 'a', 'text')
  assert.equal((await view(old, 'a')).by, 1)
  assert.ok(await waitUntil(async () => (await view(young, 'a')).by === 2, PATIENCE_MS))
  const { etag, modified } = await view(young, 'a')
  for (let round = 0; round < 10; round++) {
    for (const app of [old, young]) {
      assert.deepEqual(await view(app, 'a'), { statusCode: 200, etag, modified, by: 2 })
      assert.equal((await get(app, '/wiki/a', { 'if-none-match': String(etag) })).statusCode, 304)
    }
  }
  await save(young, 'b', '[[a]] [[c]]')
  await save(young, 'c', 'text')
  assert.equal((await view(old, 'b')).by, 2, 'links are updated without the renderer')
  assert.doesNotMatch((await get(old, '/wiki/b')).body, /class="missing"/)
})

test('a renderer version that makes the same HTML keeps the ETag and Last-Modified of a page', async (t) => {
  const uri = wiki.freshUri()
  const plain = (/** @type {number} */ version) => (/** @type {Parameters<typeof createRenderer>[0]} */ options) =>
    ({ ...createRenderer(options), version })
  const old = await wiki.build(t, { MONGODB_URI: uri }, {}, { makeRenderer: plain(1) })
  await save(old, 'a', 'text')
  const { etag, modified } = await view(old, 'a')
  const young = await wiki.build(t, { MONGODB_URI: uri }, {}, { makeRenderer: plain(2) })
  await view(young, 'a')
  const pages = await pagesOf(t, uri)
  assert.ok(await waitUntil(async () => await pages.countDocuments({ renderer: 2 }) === 1, PATIENCE_MS))
  const seen = [await view(young, 'a'), await view(old, 'a')]
  assert.deepEqual(seen.map((each) => [each.etag, each.modified]), [[etag, modified], [etag, modified]])
})

test('a text that a later version refuses keeps its HTML and is not rendered again', async (t) => {
  const uri = wiki.freshUri()
  await save(await appOf(t, uri, 1), 'a', 'text')
  let tries = 0
  const after = await appOf(t, uri, 2, () => {
    tries++
    throw Object.assign(new Error('too complicated'), { statusCode: 422 })
  })
  const pages = await pagesOf(t, uri)
  assert.equal((await view(after, 'a')).by, 1)
  assert.ok(await waitUntil(async () => await pages.countDocuments({ renderer: 2 }) === 1, PATIENCE_MS))
  assert.equal((await view(after, 'a')).by, 1)
  assert.equal(tries, 1)
})

test('HTML from before renderer versions had numbers is outdated', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'a', 'old')
  const pages = await pagesOf(t, uri)
  for (const renderer of ['Zk3hXw0aBcDeFgHi', '9999999999999999', 'outdated 0b8f…', null]) {
    await pages.updateOne({}, { $set: { renderer, html: Buffer.from('<p>As it was.</p>') } })
    assert.match((await get(app, '/wiki/a')).body, /As it was\./)
    const isNew = async () => (await get(app, '/wiki/a')).body.includes('<p>old</p>')
    assert.ok(await waitUntil(isNew, PATIENCE_MS), `${renderer}`)
  }
})

test('a page from before there were formulas gets them, and keeps its prices', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'a', 'It costs $5 and $6, or $x$.')
  const before = '<p>It costs $5 and $6, or $x$.</p>'
  const pages = await pagesOf(t, uri)
  await pages.updateOne({}, { $set: { renderer: RENDERER_VERSION - 1, html: Buffer.from(before) } })
  assert.ok((await get(app, '/wiki/a')).body.includes(before))
  const isNew = async () => (await get(app, '/wiki/a')).body.includes('<p>It costs $5 and $6, or <math>')
  assert.ok(await waitUntil(isNew, PATIENCE_MS))
})

test('when link targets change, all readers see it at once, and the page is stored once', async (t) => {
  const app = await wiki.build(t, { MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await save(app, 'a', `[[b]] ${LONG_TEXT}`)
  const red = (await get(app, '/wiki/a')).headers
  await save(app, 'b', 'text')
  // The count of the first save's link may mark the page, too.
  await untilCounted(app)
  let updates = 0
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  client.on('commandStarted', ({ command }) => { if (command.update === 'pages') updates++ })
  const views = await Promise.all(Array.from({ length: READERS }, () => get(app, '/wiki/a')))
  assert.ok(views.every(({ statusCode, body }) => statusCode === 200 && !body.includes('class="missing"')))
  const tags = new Set(views.map(({ headers }) => headers.etag))
  assert.equal(tags.size, 1)
  assert.ok(!tags.has(red.etag))
  const kept = { 'if-none-match': String([...tags][0]) }
  assert.ok(await waitUntil(async () => (await get(app, '/wiki/a', kept)).statusCode === 304, PATIENCE_MS))
  assert.equal(updates, 1)

  await app.inject({ method: 'DELETE', url: '/wiki/b' })
  assert.equal((await get(app, '/wiki/a')).headers.etag, red.etag, 'the page is the same as before')
})
