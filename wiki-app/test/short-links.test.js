import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { SHORT_LINK_INDEXES } from '../src/short-links/model.js'
import { BROWSER, createLog, get, save, useWiki } from './helper.js'
import { bearer, peopleOnly, post } from './people.js'

const WAIT_MAX_MS = 60_000
const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {{page: string, revision?: number | null}} Target */

/** @param {App} app @param {Target | object} payload @param {Record<string, string>} [headers] */
const make = (app, payload, headers = {}) =>
  app.inject({ method: 'POST', url: '/api/v1/short-links', payload, headers })

/** @param {App} app @param {string} id @param {Target | object} payload */
const choose = (app, id, payload) =>
  app.inject({ method: 'PUT', url: `/api/v1/short-links/${id}`, payload })

/** @param {App} app @param {string} page @param {string} to @param {object} [others] */
const rename = async (app, page, to, others = {}) => {
  const url = `/api/v1/pages/${encodeURIComponent(page)}/rename`
  const { statusCode } = await app.inject({ method: 'POST', url, payload: { to, ...others } })
  assert.equal(statusCode, 201)
}

/** @param {App} app @param {string} id @param {string} to */
async function leads (app, id, to) {
  const { statusCode, headers, body } = await get(app, `/s/${id}`)
  assert.deepEqual([statusCode, headers.location, body], [302, to, ''])
}

/**
 * Changes the document that a link's making and a renaming both change, in a transaction that stays open: so they meet.
 * @param {import('node:test').TestContext} t @param {string} uri
 */
async function holdTarget (t, uri) {
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const db = client.db()
  const WRITE_CONFLICT = 112
  await db.command({ profile: 1, filter: { errCode: WRITE_CONFLICT } })

  return async (/** @type {string} */ page) => {
    const since = new Date()
    const session = client.startSession()
    session.startTransaction()
    const target = /** @type {object} */ ({ _id: page })
    await db.collection('targets').updateOne(target, { $set: { held: true } }, { session, upsert: true })
    const losers = () => db.collection('system.profile').distinct('appName', { ts: { $gte: since } })
    return {
      /** @param {string[]} apps  `appName` of their connections */
      untilInTheWayOf: async (apps) => assert.ok(await waitUntil(async () => {
        const found = await losers()
        return apps.every((app) => found.includes(app))
      }, WAIT_MAX_MS)),
      async release () {
        await session.abortTransaction()
        await session.endSession()
      }
    }
  }
}

describe('a short address', () => {
  test('is made once for a page and once for a revision, and leads there', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'Bees/Čebele', 'first')
    await save(app, 'Bees/Čebele', 'second')
    const made = await make(app, { page: 'Bees/Čebele' })
    assert.equal(made.statusCode, 201)
    const { id, created_at: createdAt, ...link } = made.json()
    assert.match(id, /^[0-9a-hjkmnp-tv-z]{8}$/)
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < WAIT_MAX_MS)
    assert.deepEqual(link, { url: `/s/${id}`, page: 'Bees/Čebele', revision: null })
    assert.equal(made.headers.location, `/api/v1/short-links/${id}`)
    const again = await make(app, { page: ' Bees / Čebele', revision: null })
    assert.deepEqual([again.statusCode, again.json(), again.headers.location], [200, made.json(), undefined])
    assert.deepEqual((await get(app, `/api/v1/short-links/${id}`)).json(), made.json())
    await leads(app, id, '/wiki/Bees/%C4%8Cebele')

    const old = await make(app, { page: 'Bees/Čebele', revision: 1 })
    assert.deepEqual([old.statusCode, old.json().revision], [201, 1])
    assert.equal((await make(app, { page: 'Bees/Čebele', revision: 1 })).json().id, old.json().id)
    await leads(app, old.json().id, '/revision/Bees/%C4%8Cebele/1')
  })

  test('can be chosen, and never leads elsewhere then', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'Bees', 'text')
    await save(app, 'Wasps', 'text')
    const chosen = await choose(app, 'bees_-1', { page: 'Bees' })
    assert.deepEqual([chosen.statusCode, chosen.headers.location], [201, '/api/v1/short-links/bees_-1'])
    assert.equal((await choose(app, 'bees_-1', { page: 'Bees' })).statusCode, 200)
    for (const target of [{ page: 'Wasps' }, { page: 'Bees', revision: 1 }]) {
      const refused = await choose(app, 'bees_-1', target)
      assert.equal(refused.statusCode, 409)
      assert.match(String(refused.headers['content-type']), /^application\/problem\+json/)
      assert.match(refused.json().detail, /bees_-1.*elsewhere/)
    }
    const { id } = (await make(app, { page: 'Bees' })).json()
    assert.notEqual(id, 'bees_-1')
    assert.equal((await choose(app, id, { page: 'Bees' })).statusCode, 200)
    await leads(app, 'bees_-1', '/wiki/Bees')
    assert.equal((await get(app, '/s/Bees_-1')).statusCode, 404, 'case matters')
  })

  test('follows its page through renamings, with its subpages, also when the old name is written again', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'A', 'text')
    await save(app, 'A/below', 'text')
    const ids = []
    for (const target of [{ page: 'A' }, { page: 'A', revision: 1 }, { page: 'A/below' }]) {
      ids.push((await make(app, target)).json().id)
    }
    await choose(app, 'chosen', { page: 'A' })
    await rename(app, 'A', 'B', { subpages: true })
    await save(app, 'A', 'another page')
    await rename(app, 'B', 'C')
    await leads(app, ids[0], '/wiki/C')
    await leads(app, ids[1], '/revision/C/1')
    await leads(app, ids[2], '/wiki/B/below')
    await leads(app, 'chosen', '/wiki/C')
    const other = await make(app, { page: 'A' })
    assert.equal(other.statusCode, 201)
    assert.notEqual(other.json().id, ids[0])
    assert.deepEqual((await make(app, { page: 'B' })).json(), (await make(app, { page: 'C' })).json(),
      'a former name stands for the new one')
  })

  test('of a deleted page leads to where the wiki says so, and to the page when it is back', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'A', 'text')
    const { id } = (await make(app, { page: 'A' })).json()
    assert.equal((await app.inject({ method: 'DELETE', url: '/api/v1/pages/A' })).statusCode, 204)
    await leads(app, id, '/wiki/A')
    assert.equal((await get(app, '/wiki/A')).statusCode, 404)
    await save(app, 'A', 'again')
    await leads(app, id, '/wiki/A')
    assert.equal((await make(app, { page: 'A' })).json().id, id)
  })

  test('is refused for what is not there', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'A', 'text')
    await save(app, 'Gone', 'text')
    await app.inject({ method: 'DELETE', url: '/api/v1/pages/Gone' })
    for (const [status, target] of /** @type {[number, object][]} */ ([
      [404, { page: 'None' }], [404, { page: 'Gone' }], [404, { page: 'A', revision: 2 }],
      [404, { page: 'Gone', revision: 2 }], [201, { page: 'Gone', revision: 1 }],
      [400, { page: '' }], [400, { page: '..' }],
      [400, { page: 'A', revision: 0 }], [400, { page: 'A', revision: '1' }],
      [400, { page: 'A', url: 'https://elsewhere.example/' }], [400, { page: { $gt: '' } }], [400, {}],
      [400, { page: 'https://elsewhere.example/' }], [400, { page: '//elsewhere.example' }]
    ])) {
      const { statusCode } = await make(app, target)
      assert.equal(statusCode, status, JSON.stringify(target))
      if (status >= 400) assert.ok((await choose(app, 'chosen', target)).statusCode >= 400, JSON.stringify(target))
    }
  })

  test('leads to a path of this wiki, whatever the page is called', async (t) => {
    const app = await wiki.build(t)
    for (const name of ['https:', 'evil.example', '@evil.example', 'a?b#c', 'x\u00A0y', '"><script>', 'a%0d%0ab']) {
      await save(app, name, 'text')
      const { id } = (await make(app, { page: name })).json()
      const { headers } = await get(app, `/s/${id}`)
      const address = new URL(String(headers.location), 'http://wiki.example')
      assert.deepEqual([address.host, address.search, address.hash], ['wiki.example', '', ''])
      assert.equal(decodeURIComponent(address.pathname), `/wiki/${(await make(app, { page: name })).json().page}`)
      assert.equal((await get(app, String(headers.location))).statusCode, 200)
    }
  })

  test('of a hostile form is not found, and never an error', async (t) => {
    const app = await wiki.build(t)
    await save(app, 'A', 'text')
    await choose(app, 'aa', { page: 'A' })
    // Dots and nothing are sent as they are in the next test: here they would be resolved.
    const hostile = [
      '%00', 'aa%00', 'a', 'a'.repeat(41), 'a'.repeat(3_000), '.*', '^aa$', 'a%61%0a',
      '%7B%22$gt%22:%22%22%7D', '$where', 'aa/..', '%2F%2Fevil.example', 'aa%2F', '%F0%9F%90%9D', '[aa]', 'aa;b'
    ]
    for (const id of hostile) {
      const [plain, html, record] = await Promise.all([
        get(app, `/s/${id}`), get(app, `/s/${id}`, BROWSER), get(app, `/api/v1/short-links/${id}`)
      ])
      assert.ok([400, 404, 414].includes(plain.statusCode), `${id}: ${plain.statusCode}`)
      assert.ok([400, 404, 414].includes(html.statusCode), `${id}: ${html.statusCode}`)
      assert.equal(plain.headers['cache-control'], 'no-store')
      assert.ok(record.statusCode >= 400 && record.statusCode < 500, `${id}: ${record.statusCode}`)
      assert.ok([400, 404, 405, 414].includes((await choose(app, id, { page: 'A' })).statusCode), id)
    }
    const respelt = await get(app, '/s/%61a')
    assert.deepEqual([respelt.statusCode, respelt.headers.location, respelt.headers['cache-control']],
      [301, '/s/aa', 'no-store'])
    const tracked = await get(app, '/s/aa?utm=1')
    assert.deepEqual([tracked.statusCode, tracked.headers.location], [301, '/s/aa'])
    const posted = await app.inject({ method: 'POST', url: '/s/aa' })
    assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD'])
  })

  test('is cached as pages are, and counted as they are, with and without the fast path', async (t) => {
    const app = await wiki.build(t, { CACHE_TTL_S: '77' })
    await save(app, 'A', 'text')
    await choose(app, 'aa', { page: 'A' })
    await app.listen({ port: 0 })
    const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
    const ask = (/** @type {string} */ id, /** @type {RequestInit} */ init = {}) =>
      fetch(`http://127.0.0.1:${port}/s/${id}`, { redirect: 'manual', ...init })
    const count = async () => (await get(app, '/api/v1/counter')).json().count
    const path = async (/** @type {string} */ text) => {
      const [response] = await once(httpRequest({ port, path: text }).end(), 'response')
      response.resume()
      return response.statusCode
    }
    for (const text of ['/s/..', '/s/.', '/s/%2e%2e', '/s/', '/s']) assert.equal(await path(text), 404, text)
    const before = await count()
    const [quick, head, conditional, missing] = [
      await ask('aa'), await ask('aa', { method: 'HEAD' }),
      await ask('aa', { headers: { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() } }),
      await ask('none')
    ]
    const slow = await get(app, '/s/aa')
    const after = await count()
    assert.deepEqual([after.reads - before.reads, after.requests - before.requests], [5, 5])
    assert.deepEqual([quick.status, head.status, conditional.status, missing.status], [302, 302, 302, 404])
    assert.equal(missing.headers.get('cache-control'), 'no-store')
    for (const { headers } of [quick, head, conditional]) {
      assert.equal(headers.get('cache-control'), 'public, max-age=77')
      assert.deepEqual([headers.get('location'), headers.get('etag')], ['/wiki/A', null])
    }
    const ours = (/** @type {Record<string, any>} */ { date, connection, 'keep-alive': _, ...others }) => others
    assert.deepEqual(ours(Object.fromEntries(quick.headers)), ours(slow.headers))
  })

  test('is made by editors and administrators alone', async (t) => {
    const app = await wiki.build(t, peopleOnly(t))
    const asked = (/** @type {string} */ who) => make(app, { page: 'A' }, bearer(who))
    await save(app, 'A', 'text', bearer('editor'))
    assert.equal((await make(app, { page: 'A' })).statusCode, 401)
    assert.deepEqual([(await asked('reader')).statusCode, (await asked('editor')).statusCode], [403, 201])
    const { statusCode } = await make(app, { page: 'A' }, { ...bearer('editor'), 'sec-fetch-site': 'cross-site' })
    assert.equal(statusCode, 403)
    const closed = await wiki.build(t, { ACCESS: 'read-only' })
    assert.equal((await make(closed, { page: 'A' })).statusCode, 403)
    const limited = await wiki.build(t, { WRITES_PER_MINUTE: '1' })
    assert.deepEqual([(await make(limited, { page: 'A' })).statusCode, (await make(limited, { page: 'A' })).statusCode],
      [404, 429])
  })

  test('is one when two wikis make it at once, and leads to the new name after a renaming meanwhile', async (t) => {
    const uri = wiki.freshUri()
    const names = ['renames', 'makes']
    /** @type {App[]} */
    const wikis = []
    for (const name of names) wikis.push(await wiki.build(t, { MONGODB_URI: `${uri}&appName=${name}` }))
    const hold = await holdTarget(t, uri)
    for (let round = 0; round < 3; round++) {
      const name = `A${round}`
      await save(wikis[0], name, 'text')
      const answers = await Promise.all([...wikis, ...wikis].map((app) => make(app, { page: name })))
      assert.equal(new Set(answers.map((answer) => answer.json().id)).size, 1)
      assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 201])

      await save(wikis[0], `${name}/x`, 'text')
      const held = await hold(`${name}/x`)
      const both = Promise.all([make(wikis[1], { page: `${name}/x` }), rename(wikis[0], `${name}/x`, `${name}/y`)])
      await held.untilInTheWayOf(names)
      await held.release()
      const [made] = await both
      assert.equal(made.statusCode, 201)
      await leads(wikis[0], made.json().id, `/wiki/${name}/y`)
    }
    const chosen = await Promise.all(wikis.map((app, index) => choose(app, 'same', { page: `A${index}` })))
    assert.deepEqual(chosen.map(({ statusCode }) => statusCode).sort(), [201, 409])
  })

  test('of a page that has a hundred chosen ones is refused', async (t) => {
    const uri = wiki.freshUri()
    const app = await wiki.build(t, { MONGODB_URI: uri })
    await save(app, 'A', 'text')
    const client = await mongoose.mongo.MongoClient.connect(uri)
    t.after(() => client.close())
    await client.db().collection('short_links').insertMany(Array.from({ length: 99 }, (_, number) => (
      {
        _id: /** @type {any} */ (`a${number}`),
        ...{ page: 'A', revision: number % 2 || null, chosen: `a${number}`, created_at: new Date() }
      })))
    assert.equal((await choose(app, 'last', { page: 'A' })).statusCode, 201)
    const refused = await choose(app, 'a100', { page: 'A' })
    assert.deepEqual([refused.statusCode, refused.json().detail.includes('100')], [409, true])
    assert.equal((await choose(app, 'a97', { page: 'A', revision: 1 })).statusCode, 200)
    assert.equal((await make(app, { page: 'A' })).statusCode, 201)
  })
})

test('a button on a page and on an old revision makes its address, and a page shows it', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Č b', 'first')
  await save(app, 'Č b', 'second')
  const form = /<form[^>]* action="(\/edit\/short-link\/%C4%8C%20b)">(<input type="hidden" name="revision" value="1">)?/
  assert.match((await get(app, '/wiki/%C4%8C%20b')).body, form)
  assert.match((await get(app, '/revision/%C4%8C%20b/1')).body, new RegExp(form.source.slice(0, -1)))
  const url = '/edit/short-link/%C4%8C%20b'
  for (const [fields, query, to] of /** @type {[Record<string, string>, string, string][]} */ ([
    [{}, '', '/wiki/%C4%8C%20b'], [{ revision: '1' }, '?revision=1', '/revision/%C4%8C%20b/1']
  ])) {
    assert.match((await get(app, url + query, BROWSER)).body, /Make a short link/)
    const made = await post(app, url, fields)
    assert.deepEqual([made.statusCode, made.headers.location], [303, url + query])
    const shown = await get(app, url + query, { ...BROWSER, host: 'wiki.example:80' })
    assert.equal(shown.headers['cache-control'], 'private, no-store')
    const [, path] = /value="http:\/\/wiki\.example:80(\/s\/\w{8})"/.exec(shown.body) ?? []
    assert.equal((await get(app, path)).headers.location, to)
    assert.equal((await post(app, url, fields)).headers.location, url + query)
  }
  assert.equal((await post(app, '/edit/short-link/none', {})).statusCode, 404)
  assert.equal((await post(app, url, { revision: '0' })).statusCode, 400)
  assert.equal((await post(app, url, {}, { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  const hostile = await get(app, `${url}?revision=1`, { ...BROWSER, host: '"><script>' })
  assert.ok(hostile.statusCode === 400 || !hostile.body.includes('"><script>'), 'a host that is none is not shown')
  const closed = await wiki.build(t, { MONGODB_URI: uri, ACCESS: 'read-only' })
  for (const path of ['/wiki/%C4%8C%20b', '/revision/%C4%8C%20b/1']) {
    const { statusCode, body } = await get(closed, path, BROWSER)
    assert.deepEqual([statusCode, body.includes('/edit/short-link')], [200, false])
  }
})

for (const index of SHORT_LINK_INDEXES) {
  test(`with SHORT_LINK_INDEX=${index} an address is unique, found by its index, and moved`, async (t) => {
    const uri = wiki.freshUri()
    const app = await wiki.build(t, { MONGODB_URI: uri, SHORT_LINK_INDEX: index })
    for (const name of ['A', 'B']) await save(app, name, 'text')
    const answers = await Promise.all(['A', 'B', 'A', 'B'].map((page) => choose(app, 'same', { page })))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 201, 409, 409])
    const { page } = (await get(app, '/api/v1/short-links/same')).json()
    await rename(app, page, 'C')
    await leads(app, 'same', '/wiki/C')
    await choose(app, 'other', { page: 'C' })
    const both = await Promise.all([get(app, '/s/same'), get(app, '/s/other'), get(app, '/s/none')])
    assert.deepEqual(both.map(({ statusCode }) => statusCode), [302, 302, 404])

    const client = await mongoose.mongo.MongoClient.connect(uri)
    t.after(() => client.close())
    const [name] = (await client.db().listCollections({}, { nameOnly: true }).toArray())
      .map((each) => each.name).filter((each) => each.startsWith('short_links'))
    const key = index === 'id' ? '_id' : 'id'
    const filter = /** @type {object} */ ({ [key]: 'same' })
    // As a version without short links renames: the page goes, and its links stay.
    const links = client.db().collection(name)
    const left = { ...await links.findOne({ page: 'C', chosen: 'same' }), page: 'D', chosen: null }
    await links.replaceOne({ chosen: 'same' }, left)
    const own = (await make(app, { page: 'C' })).json().id
    await rename(app, 'C', 'D')
    for (const id of ['same', 'other', own]) await leads(app, id, '/wiki/D')
    assert.equal((await make(app, { page: 'D' })).json().id, own)
    await rename(app, 'D', 'E')
    for (const id of ['same', 'other', own]) await leads(app, id, '/wiki/E')
    const plan = JSON.stringify(await client.db().collection(name).find(filter).explain())
    assert.match(plan, { id: /IDHACK|EXPRESS|"_id_"/, btree: /"id_1"/, hashed: /"id_hashed"/ }[index])
  })
}

test('a wiki that would not find the addresses of its database refuses it', async (t) => {
  const uri = wiki.freshUri()
  const first = await wiki.build(t, { MONGODB_URI: uri, SHORT_LINK_INDEX: 'btree' })
  await save(first, 'A', 'text')
  await choose(first, 'aa', { page: 'A' })
  const { lines, logTo } = createLog()
  const second = await wiki.build(t, { MONGODB_URI: uri, SHORT_LINK_INDEX: 'hashed' }, {}, { logTo })
  assert.equal((await get(second, '/s/aa')).statusCode, 503)
  assert.match(
    lines[0].msg, /stored for SHORT_LINK_INDEX=btree, and this wiki was started with SHORT_LINK_INDEX=hashed/)
  const third = await wiki.build(t, { MONGODB_URI: uri, SHORT_LINK_INDEX: 'btree' })
  await leads(third, 'aa', '/wiki/A')
  assert.ok(await waitUntil(async () => (await get(third, '/readyz')).statusCode === 200, WAIT_MAX_MS))
})
