// Pages that administrators alone change.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { zipOf } from './archives.js'
import { BROWSER, get, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'
import { settled } from './saves.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {{url: string, payload?: any, headers?: Record<string, string>}} Sent */

const wiki = useWiki()
const TEXT = 'Intro\n\n## Part\n\n- [ ] a task\n'

/** Routes that change no page. Add a new one here, or to WAYS. */
const NO_PAGES = [
  'POST /edit/preview/*', 'POST /api/v1/preview', 'POST /edit/upload', 'POST /api/v1/files',
  'PATCH /api/v1/files/:file', 'DELETE /api/v1/files/:file', 'POST /edit/picture/:file',
  'POST /edit/delete-picture/:file', 'POST /edit/in/upload/*', 'POST /edit/in/picture/*',
  'POST /edit/in/delete-picture/*', 'POST /edit/short-link/*', 'POST /api/v1/short-links',
  'PUT /api/v1/short-links/:id', 'POST /api/v1/spaces/:name/files', 'PATCH /api/v1/spaces/:name/files/:file',
  'DELETE /api/v1/spaces/:name/files/:file', 'POST /edit/proposal/:id/withdraw', 'POST /api/v1/proposals/:id/withdraw'
]

/** What saves a text: where changes wait for a review, it becomes a proposal. The others are refused. */
const PROPOSE = ['POST /wiki/*', 'POST /edit/text/*', 'PUT /api/v1/pages/:name']

/** @param {string} page  in `page`, `a` is the page in question @param {object} payload */
const asBrowser = (page, payload) => ({ url: page, payload, headers: { ...BROWSER, 'sec-fetch-site': 'same-origin' } })

/** @param {string} path  in a zip */
const importOf = async (path) => ({
  url: '/api/v1/import', payload: await zipOf([[path, 'imported']]), headers: { 'content-type': 'application/zip' }
})

/** @param {string} path @returns {Sent} */
function formOf (path) {
  const payload = new FormData()
  payload.append('on_conflict', 'replace')
  payload.append('folder', new Blob(['imported']), path)
  return { url: '/edit/import', payload }
}

/**
 * All ways to change pages, as route and request. `Law` is protected with all below it, and so is `Talk:Law`; `name` is
 * a page below it, `free` one elsewhere.
 * @type {[string, (name: string, free: string) => Sent | Promise<Sent>][]}
 */
const WAYS = [
  ['POST /wiki/*', (name) => ({ url: `/wiki/${name}`, payload: { content: 'x' } })],
  ['POST /wiki/*', (name) => ({ url: `/wiki/${name}`, payload: { content: TEXT, tags: ['tag'] } })],
  ['POST /wiki/*', (name) => ({ url: `/wiki/${name}-missing/deep`, payload: { content: 'x' } })],
  ['POST /wiki/*', (name) => ({ url: `/wiki/%20${name.replace('/', ' %2F ')}`, payload: { content: 'x' } })],
  ['DELETE /wiki/*', (name) => ({ url: `/wiki/${name}` })],
  ['POST /edit/text/*', (name) => asBrowser(`/edit/text/${name}`, { content: 'x', base_revision: '2' })],
  ['POST /edit/text/*', (name) =>
    asBrowser(`/edit/text/${name}`, { content: '## Part\n\nx\n', section: '1', base_revision: '2' })],
  ['POST /edit/text/*', (name) => asBrowser(`/edit/text/${name}`, { content: 'Top\n', base_revision: '1' })],
  ['POST /edit/delete/*', (name) => ({ url: `/edit/delete/${name}` })],
  ['POST /edit/rename/*', (name, free) => ({ url: `/edit/rename/${name}`, payload: { to: `${free}-to` } })],
  ['POST /edit/rename/*', (name, free) => ({ url: `/edit/rename/${free}`, payload: { to: `${name}-to` } })],
  ['POST /edit/revert/*', (name) => ({ url: `/edit/revert/${name}`, payload: { revision: 1 } })],
  ['POST /edit/revert/*', (name) => ({ url: `/edit/revert/${name}-deleted`, payload: { revision: 1 } })],
  ['POST /edit/task/*', (name) =>
    ({ url: `/edit/task/${name}`, payload: { base_revision: '2', task: '5', checked: 'true' } })],
  ['POST /edit/topic/*', () => ({ url: '/edit/topic/Talk:Law', payload: { topic: 'Topic', content: 'x' } })],
  ['PUT /api/v1/pages/:name', (name) =>
    ({ url: `/api/v1/pages/${encodeURIComponent(name)}`, payload: { content: 'x' } })],
  ['DELETE /api/v1/pages/:name', (name) => ({ url: `/api/v1/pages/${encodeURIComponent(name)}` })],
  ['POST /api/v1/pages/:name/rename', (name, free) =>
    ({ url: `/api/v1/pages/${encodeURIComponent(name)}/rename`, payload: { to: `${free}-to` } })],
  ['POST /api/v1/pages/:name/rename', (_, free) =>
    ({ url: `/api/v1/pages/${free}/rename`, payload: { to: `Law/${free}/new`, subpages: true } })],
  ['POST /api/v1/pages/:name/revert', (name) =>
    ({ url: `/api/v1/pages/${encodeURIComponent(name)}/revert`, payload: { revision: 1 } })],
  ['POST /api/v1/import', (name) => importOf(`${name}.md`)],
  ['POST /api/v1/import', (name) => importOf(`${name}-missing.md`)],
  ['POST /edit/import', (name) => formOf(`${name}.md`)]
]

/** @param {App} app @param {string} method @param {Sent} sent @param {string} by */
const send = (app, method, { url, payload, headers }, by) => app.inject({
  method: /** @type {'GET'} */ (method),
  url,
  payload,
  headers: { accept: 'application/json', ...headers, ...bearer(by) }
})

/** @param {App} app @param {string} name @param {string} [content] @param {string} [by] */
const put = (app, name, content = TEXT, by = 'admin') =>
  send(app, 'PUT', { url: `/api/v1/pages/${encodeURIComponent(name)}`, payload: { content } }, by)

/** @param {App} app @param {string} name @param {object} [rule] @param {string} [by] */
const protect = (app, name, rule = {}, by = 'admin') =>
  send(app, 'PUT', { url: `/api/v1/protections/${encodeURIComponent(name)}`, payload: rule }, by)

/** @param {App} app @param {string} name @param {string} [by] */
const unprotect = (app, name, by = 'admin') =>
  send(app, 'DELETE', { url: `/api/v1/protections/${encodeURIComponent(name)}` }, by)

/** @param {App} app */
const list = async (app) =>
  (await send(app, 'GET', { url: '/api/v1/protections' }, 'admin')).json().protections

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [settings] */
async function start (t, settings = {}) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri, ...settings })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const revisions = client.db().collection('revisions')
  return { app, client, count: () => revisions.countDocuments() }
}

test('administrators protect pages', async (t) => {
  const { app, client, count } = await start(t)

  await t.test('each way of writing obeys, and none is forgotten', async () => {
    const routes = /** @type {{method: string | string[], url: string, role: string, config: any}[]} */ (
      /** @type {any} */ (app).rules)
      .filter(({ method, role }) => !Array.isArray(method) && !['GET', 'HEAD'].includes(method) && role === 'editor')
      .map(({ method, url }) => `${method} ${url}`)
    assert.deepEqual(routes.sort(), [...new Set([...NO_PAGES, ...WAYS.map(([route]) => route)])].sort())

    const protectLaw = async (/** @type {object} */ rule) => {
      for (const [name, subpages] of /** @type {const} */ ([['Law', true], ['Talk:Law', false]])) {
        assert.ok((await protect(app, name, { subpages, ...rule })).statusCode < 300)
      }
    }
    await protectLaw({ reason: 'it is the law' })
    for (const [index, [route, requestOf]] of WAYS.entries()) {
      const [method] = route.split(' ')
      const [name, free] = [`Law/p${index}`, `Free${index}`]
      await Promise.all([name, free, `${free}/sub`, `${name}-deleted`].map((each) => put(app, each)))
      await put(app, name)
      await send(app, 'DELETE', { url: `/wiki/${name}-deleted` }, 'admin')
      const before = await count()
      const refused = await send(app, method, await requestOf(name, free), 'editor')
      assert.match(refused.body, /is protected.*, and only administrators change it/, `${route}: ${refused.body}`)
      assert.equal(refused.statusCode, route.endsWith('import') ? 200 : 403, route)
      assert.equal(await count(), before, route)
      await protectLaw({ review: true })
      const reviewed = await send(app, method, await requestOf(name, free), 'editor')
      const isProposed = PROPOSE.includes(route)
      if (isProposed) assert.match(String(reviewed.headers.location), /proposals?\/[0-9a-f]{24}/, route)
      else assert.match(reviewed.body, /wait for a review, and only administrators do this/, route)
      const status = isProposed ? reviewed.headers.location?.startsWith('/api') ? 202 : 303 : refused.statusCode
      assert.equal(reviewed.statusCode, status, `${route}: ${reviewed.body}`)
      assert.equal(await count(), before, route)
      const done = await send(app, method, await requestOf(name, free), 'admin')
      assert.ok(done.statusCode < 400, `${route}: ${done.body}`)
      assert.ok(await count() > before, `${route}: ${done.body}`)
      await protectLaw({ reason: 'it is the law' })
    }
    const { detail } = (await put(app, 'Law/x', 'x', 'editor')).json()
    assert.match(detail, /“Law\/x” is protected \(it is the law\), and only/)
  })

  await t.test('a folder that holds a protected page, or whose talk page is protected, keeps its name', async () => {
    for (const name of ['Folder', 'Folder/kept', 'Other', 'Talk:Other']) await put(app, name)
    await protect(app, 'Folder/kept')
    await protect(app, 'Talk:Other')
    for (const [name, subpages] of /** @type {const} */ ([['Folder', true], ['Other', false]])) {
      const url = `/api/v1/pages/${name}/rename`
      const answer = await send(app, 'POST', { url, payload: { to: `${name}2`, subpages } }, 'editor')
      assert.equal(answer.statusCode, 403, answer.body)
    }
    const url = '/api/v1/pages/Folder/rename'
    assert.equal((await send(app, 'POST', { url, payload: { to: 'Moved', subpages: true } }, 'admin')).statusCode, 201)
    // The page stays protected, and its former name, which leads to it.
    for (const name of ['Moved/kept', 'Folder/kept']) {
      assert.equal((await put(app, name, 'x', 'editor')).statusCode, 403)
    }
    assert.equal((await put(app, 'Moved', 'x', 'editor')).statusCode, 200)
  })

  await t.test('the nearest rule counts, talk pages stay open, and names have one spelling', async () => {
    await protect(app, 'Club', { subpages: true })
    await protect(app, 'Club/Sandbox', { subpages: true, role: 'editor' })
    await protect(app, 'Načrt'.normalize('NFD'))
    await protect(app, 'Single')
    for (const [name, status] of /** @type {const} */ ([
      ['Club', 403], ['Club/a/b', 403], ['Club/Sandbox', 201], ['Club/Sandbox/a', 201], ['Clubs', 201],
      ['Talk:Club', 201], ['Načrt'.normalize('NFC'), 403], [' Na\u010drt  '.normalize('NFD'), 403],
      ['Single', 403], ['Single/a', 201]
    ])) assert.equal((await put(app, name, 'x', 'editor')).statusCode, status, name)
    assert.equal((await unprotect(app, 'Club/Sandbox')).statusCode, 204)
    assert.equal((await put(app, 'Club/Sandbox', 'y', 'editor')).statusCode, 403)
    assert.equal((await unprotect(app, 'Club/Sandbox')).statusCode, 404)
  })

  await t.test('once a page is protected, no save that began before it is committed', async () => {
    for (let round = 0; round < 6; round++) {
      const root = `Race${round}`
      for (const name of [`${root}/old`, `${root}/page/below`, `Onto${round}`]) await put(app, name, 'x', 'editor')
      const url = `/api/v1/pages/Onto${round}/rename`
      const saves = [
        ...['', '/old', '/page/below', '/page/new', '/new/deep'].map((path) => put(app, root + path, 'y', 'editor')),
        send(app, 'POST', { url, payload: { to: `${root}/onto` } }, 'editor'),
        ...['/old', '/page', '/new'].map((path) => put(app, root + path, 'z', 'editor'))
      ]
      await saves[round]
      assert.equal((await protect(app, root, { subpages: true })).statusCode, 201)
      const atProtection = await count()
      const statuses = (await Promise.all(saves)).map(({ statusCode }) => statusCode)
      assert.ok(statuses.every((status) => [200, 201, 403].includes(status)), statuses.join())
      assert.equal(await count(), atProtection, statuses.join())
    }
  })

  await t.test('a transaction that began before a rule has to begin again', async (t) => {
    await put(app, 'Begun', 'x', 'editor')
    await put(app, 'Begun/page', 'x', 'editor')
    /** @type {[string, any, object][]} */
    const writes = [
      ['pages', 'Begun/page', { $set: { revision: 2 } }],
      ['targets', 'Begun', { $set: { below: 'of a page that comes' } }],
      ['targets', 'Begun/page', { $set: { below: 'of a page that comes' } }],
      ['targets', 'None', { $set: { is: 'page' } }]
    ]
    for (const [collection, _id, update] of writes) {
      const session = client.startSession()
      t.after(() => session.endSession())
      session.startTransaction({ readConcern: { level: 'snapshot' } })
      await client.db().collection('protections').findOne({ _id }, { session })
      await protect(app, _id.split('/')[0], { subpages: true })
      const writing = client.db().collection(collection).updateOne({ _id }, update, { session, upsert: true })
      await assert.rejects(writing, { codeName: 'WriteConflict' }, `${collection} ${_id}`)
    }
    assert.equal(await client.db().collection('targets').findOne({ _id: /** @type {any} */ ('None') }), null)
  })

  await t.test('a form says so before somebody writes, and loses nothing that was typed', async () => {
    await put(app, 'Rules', 'Some rules.')
    const before = await get(app, '/wiki/Rules')
    await protect(app, 'Rules', { reason: 'agreed <b>by all' })
    const after = await get(app, '/wiki/Rules')
    assert.equal(after.body, before.body, 'a view is the same')
    assert.equal(after.headers.etag, before.headers.etag)
    const editor = await cookieOf(app, 'editor')
    for (const form of ['text/Rules', 'rename/Rules', 'delete/Rules', 'revert/Rules?revision=1']) {
      const url = `/edit/${form}`
      const { body } = await get(app, url, { ...BROWSER, ...editor })
      assert.match(body, /This page is protected: only administrators change it\. <bdi>agreed &lt;b&gt;by all</, url)
      assert.match(body, /its <a href="\/wiki\/Talk:Rules">talk page<\/a>/, url)
      assert.doesNotMatch(body, /\/edit\/protection/, url)
    }
    const fields = { content: 'typed <i>text', tags: '', base_revision: '1' }
    const refused = await post(app, '/edit/text/Rules', fields, editor)
    assert.equal(refused.statusCode, 403)
    assert.match(refused.body, /is protected \(agreed &lt;b&gt;by all\), and only[^]*typed &lt;i&gt;text/)
    const admin = await get(app, '/edit/text/Rules', { ...BROWSER, ...await cookieOf(app, 'admin') })
    assert.match(admin.body, /href="\/edit\/protection\?name=Rules"[^>]*>Change the protection</)
  })

  await t.test('the list has a form, removal, and lines of the audit log; hostile input is refused', async () => {
    const admin = await cookieOf(app, 'admin')
    const form = { name: 'By/form', subpages: 'true', role: 'admin', reason: '<script>' }
    assert.equal((await post(app, '/edit/protection', form, admin)).statusCode, 303)
    const shown = await get(app, '/edit/protection?name=By/form', { ...BROWSER, ...admin })
    assert.match(shown.body, /<a href="\/wiki\/By\/form"[^]*and its subpages[^]*&lt;script&gt;/)
    assert.match(shown.body, /value="true" checked/)
    assert.equal((await put(app, 'By/form/x', 'x', 'editor')).statusCode, 403)
    assert.equal((await post(app, '/edit/protection/remove', { name: 'By/form' }, admin)).statusCode, 303)
    assert.equal((await put(app, 'By/form/x', 'x', 'editor')).statusCode, 201)
    const { body } = await get(app, '/edit/audit', { ...BROWSER, ...admin })
    assert.match(body, /ended the protection of <bdi>By\/form<[^]*protected, with its subpages, <bdi>By\/form</)
    for (const [name, rule] of /** @type {[string, object][]} */ ([
      ['a\\b', {}], ['stevec', {}], ['a', { reason: 'x'.repeat(201) }], ['a', { reason: 'x\u202Ey' }],
      ['a', { reason: 'x\ny' }], ['a', { role: 'reader' }], ['a', { subpages: { $gt: '' } }], ['a', { more: 1 }]
    ])) assert.equal((await protect(app, name, rule)).statusCode, 400, JSON.stringify(rule))
    for (const by of ['editor', 'reader']) {
      assert.equal((await protect(app, 'mine', {}, by)).statusCode, 403)
      assert.equal((await unprotect(app, 'Law', by)).statusCode, 403)
    }
  })

  await t.test('there is a limit of rules', async () => {
    const there = (await list(app)).length
    const more = Array.from({ length: 200 - there }, (_, index) => ({ _id: /** @type {any} */ (`Many${index}`) }))
    await client.db().collection('protections').insertMany(
      more.map((rule) => ({ ...rule, subpages: false, role: 'admin', reason: '', at: new Date() })))
    const refused = await protect(app, 'One too many')
    assert.equal(refused.statusCode, 409)
    assert.match(refused.json().detail, /^There are 200 protected pages already/)
    assert.equal((await protect(app, 'Many1', { reason: 'again' })).statusCode, 200, 'that one is there already')
    assert.equal((await list(app)).length, 200)
  })
})

test('a save that is answered before it is stored is refused when it is stored', async (t) => {
  const { app, count } = await start(t, { WRITE_STRATEGY: 'unsafe-bulk' })
  await protect(app, 'Law', { reason: 'the law' })
  const save = (/** @type {string} */ by) => put(app, 'Law', 'x', by)
  const refused = await settled(app, (await save('editor')).json())
  assert.equal(refused.status, 'failed')
  assert.equal(refused.problem.status, 403)
  assert.match(refused.problem.detail, /“Law” is protected \(the law\)/)
  await protect(app, 'Law', { review: true })
  const waits = await settled(app, (await save('editor')).json())
  assert.match(waits.problem.detail, /changes of “Law” wait for a review/)
  assert.equal(await count(), 0)
  assert.equal((await settled(app, (await save('admin')).json())).status, 'saved')
})

test('edits that are committed together are refused one by one', async (t) => {
  const { app, count } = await start(t, { WRITE_STRATEGY: 'group-commit' })
  await protect(app, 'Law', { subpages: true })
  const saves = ['Law', 'a', 'Law/x', 'b', 'c'].map((name) => put(app, name, 'x', 'editor'))
  const statuses = (await Promise.all(saves)).map(({ statusCode }) => statusCode)
  assert.deepEqual(statuses, [403, 201, 403, 201, 201])
  assert.equal(await count(), 3)

  await protect(app, 'Law', { subpages: true, review: true })
  const proposals = await Promise.all(['Law', 'd', 'Law/x'].map((name) => put(app, name, 'x', 'editor')))
  assert.deepEqual(proposals.map(({ statusCode }) => statusCode), [202, 201, 202])
  const [law, , below] = proposals.map((answer) => answer.json().url)
  await send(app, 'POST', { url: `${below}/withdraw` }, 'editor')
  const ends = await Promise.all([
    ...[law, below, law].map((url) => send(app, 'POST', { url: `${url}/publish` }, 'admin')), put(app, 'e')
  ])
  assert.deepEqual(ends.map(({ statusCode }) => statusCode).sort(), [200, 201, 409, 409], 'each for itself')
  assert.equal(await count(), 6)
})

test('a wiki that knows nobody by name says that it protects nothing', async (t) => {
  const says = { open: /this wiki knows nobody by name[^]*ACCESS=users/, 'read-only': /only be read/ }
  for (const [ACCESS, detail] of Object.entries(says)) {
    const app = await wiki.build(t, { ACCESS })
    for (const url of ['/edit/protection', '/api/v1/protections']) {
      const answer = await get(app, url)
      assert.equal(answer.statusCode, 403)
      assert.match(answer.json().detail, detail)
    }
    assert.doesNotMatch((await get(app, '/api/v1/openapi.json')).body, /protections/)
  }
})
