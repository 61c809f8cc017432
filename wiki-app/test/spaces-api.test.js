// What programs do with private spaces and groups.
import assert from 'node:assert/strict'
import test from 'node:test'
import { hashOf } from '../src/http/hash.js'
import { filesIn } from './archives.js'
import { get, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, post } from './people.js'
import { put, send, startWithPeople, WORD } from './spaces.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
const API = '/api/v1'
/** Strangers; people without a role in the space; those with one; administrators of the wiki. */
const BY = ['', 'reader', 'editor', 'teamreader', 'teameditor', 'teamadmin', 'admin']
/** What each of them gets. */
const READS = [401, 404, 404, 200, 200, 200, 200]

/** @param {App} app @param {string} url @param {{by?: string, method?: string, payload?: any, type?: string}} [how] */
const ask = (app, url, { by = 'teamreader', method = 'GET', payload, type } = {}) => app.inject({
  method: /** @type {'GET'} */ (method),
  url: API + url,
  payload,
  headers: { ...by && bearer(by), ...type && { 'content-type': type } }
})

/** @param {App} app @param {string} url @param {object} [how] */
async function itemsOf (app, url, how) {
  const answer = await ask(app, url, how)
  assert.equal(answer.statusCode, 200, `${url} ${answer.body}`)
  return answer.json()
}

/** @param {App} app @param {string} name  of a space, in which each team has its role */
async function makeSpace (app, name) {
  const by = 'admin'
  const made = await ask(app, '/spaces', { by, method: 'POST', payload: { name } })
  assert.equal(made.statusCode, 201, made.body)
  const at = `/spaces/${encodeURIComponent(name)}`
  assert.equal(made.headers.location, API + at)
  assert.deepEqual(made.json(), { name, role: 'admin', state: 'open', grants: [] })
  for (const role of ['reader', 'editor', 'admin']) {
    const group = `${role}s of ${name}`
    const below = `/groups/${encodeURIComponent(group)}/members/team${role}`
    assert.equal((await ask(app, '/groups', { by, method: 'POST', payload: { name: group } })).statusCode, 201)
    assert.equal((await ask(app, below, { by, method: 'PUT' })).statusCode, 204)
    const granted = await ask(app, `${at}/grants/${encodeURIComponent(group.toUpperCase())}`,
      { by, method: 'PUT', payload: { role } })
    assert.equal(granted.statusCode, 204, granted.body)
  }
}

/** Two spaces; no member of one is in the other. @param {import('node:test').TestContext} t */
async function start (t) {
  const started = await startWithPeople(t, wiki)
  const { app } = started
  await makeSpace(app, 'Team')
  await send(app, '/edit/spaces', { name: `Other/${WORD}` })
  const content = 'A *hive* near the mill.'
  for (const name of ['Team', 'Team/Plan', 'Talk:Team/Plan']) await put(app, name, { content })
  await put(app, 'Team/Plan', { content: 'Plans of a hive.', summary: 'again' })
  await put(app, `Other/${WORD}/Hive`, { content: `hive ${WORD}`, summary: WORD, tags: [WORD] }, 'admin')
  const type = 'image/png'
  const uploaded = await ask(app, `/spaces/Other%2F${WORD}/files?alt=${WORD}`,
    { by: 'admin', method: 'POST', payload: png(5), type })
  assert.equal(uploaded.statusCode, 201, uploaded.body)
  return started
}

/** What does not differ from request to request, without the name. @param {string} body @param {string} name */
const without = (body, name) => body.replaceAll(name, '').replace(/"request_id":"[^"]*"/, '')

test('programs do with private spaces what people do', async (t) => {
  const { app, db } = await start(t)

  await t.test('each role may what it may, before anything is read, and no cache keeps an answer', async () => {
    /** @type {[string, string, number[], object?][]} */
    const table = [
      ...['', '/pages', '/pages?q=pl', '/changes', '/search?q=hive', '/files'].map((path) =>
        /** @type {[string, string, number[]]} */ (['GET', `/spaces/Team${path}`, READS])),
      ['GET', '/spaces/Team/export', [401, 404, 404, 403, 403, 200, 200]],
      ['POST', '/spaces/Team/files', [401, 404, 404, 403, 201, 200, 200], { payload: png(3), type: 'image/png' }],
      ['PATCH', '/spaces/Team/files/FILE', [401, 404, 404, 403, 200, 200, 200], { payload: { alt: 'a hive' } }],
      ['DELETE', '/spaces/Team/files/x', [401, 404, 404, 403, 404, 404, 404]],
      ['PUT', '/spaces/Team/grants/readers%20of%20team', [401, 404, 404, 403, 403, 204, 204],
        { payload: { role: 'reader' } }],
      ['DELETE', '/spaces/Team/grants/none', [401, 404, 404, 403, 403, 204, 204]],
      ['GET', '/spaces', [401, 200, 200, 200, 200, 200, 200]],
      ['POST', '/spaces', [401, 403, 403, 403, 403, 403, 409], { payload: { name: 'Team' } }],
      ['DELETE', '/spaces/Team', [401, 403, 403, 403, 403, 403, 409]],
      ...['/groups', '/groups/readers%20of%20Team/members'].map((path) =>
        /** @type {[string, string, number[]]} */ (['GET', path, [401, 403, 403, 403, 403, 403, 200]])),
      ['POST', '/groups', [401, 403, 403, 403, 403, 403, 409], { payload: { name: 'READERS OF TEAM' } }],
      ['DELETE', '/groups/none', [401, 403, 403, 403, 403, 403, 404]],
      ...['PUT', 'DELETE'].map((method) => /** @type {[string, string, number[]]} */ (
        [method, '/groups/none/members/reader', [401, 403, 403, 403, 403, 403, 404]]))
    ]
    let file = ''
    for (const [method, url, statuses, sent] of table) {
      for (const [index, by] of BY.entries()) {
        const answer = await ask(app, url.replace('FILE', file), { by, method, ...sent })
        const said = `${method} ${url} by ${by || 'a stranger'}: ${answer.body}`
        assert.equal(answer.statusCode, statuses[index], said)
        assert.deepEqual([answer.headers['cache-control'], answer.headers['cross-origin-resource-policy']],
          ['private, no-store', 'same-origin'], said)
        if (by !== 'admin') assert.ok(!answer.rawPayload.includes(WORD), said)
        if (answer.statusCode === 201) file = answer.json().url.slice('/edit/in/files/Team/'.length)
      }
    }
    const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
    const dids = new Set(acts.map((/** @type {{did: string}} */ { did }) => did))
    for (const did of ['space-made', 'group-made', 'joined', 'granted', 'grant-ended']) assert.ok(dids.has(did), did)
  })

  await t.test('a space that one may not read is as one that is not there, whatever is asked', async () => {
    const below = ['', '/pages', '/pages?q=Hive', '/changes', '/search?q=hive', '/files', '/export', '/pages?limit=x',
      '/pages?cursor=x', '/grants/x', '/pages?space=Team']
    for (const by of ['', 'editor', 'teamadmin']) {
      for (const path of below) {
        const payload = { role: 'admin' }
        for (const how of path === '/grants/x' ? [{ method: 'PUT', payload }, { method: 'DELETE' }] : [{}]) {
          const [there, none] = await Promise.all([`Other/${WORD}`, 'Other/missing'].map(async (name) => {
            const { statusCode, headers: { date, 'content-length': length, ...headers }, body } =
              await ask(app, `/spaces/${encodeURIComponent(name)}${path}`, { by, ...how })
            return [statusCode, headers, without(body, name)]
          }))
          assert.deepEqual(there, none, `${path} by ${by}`)
          assert.equal(there[0], by === '' ? 401 : 404)
        }
      }
    }
    const hostile = ['Team/Plan', 'Talk:Team', 'team', 'Teams', '\0', ' ', '<b>', '{"$gt":""}', '__proto__',
      'Team\u202E', 'é'.repeat(201), `Other/${WORD}/..`, 'Team/../Other']
    for (const name of hostile) {
      for (const by of BY) {
        const { statusCode, body } = await ask(app, `/spaces/${encodeURIComponent(name)}/pages`, { by })
        assert.equal(statusCode, by === '' ? 401 : 404, `${name} ${body}`)
      }
    }
    assert.equal((await ask(app, '/spaces/%20Team%20/pages')).statusCode, 200, 'in any spelling of its name')
  })

  await t.test('lists have what is in the space, part by part, and nothing else', async () => {
    const ids = new Set((await db.collection('space_revisions').find({ page: /^Other/ }).toArray())
      .map(({ _id: id }) => String(id)))
    assert.equal(ids.size, 1)
    /** @type {[string, string[]][]} */
    const lists = [
      ['/spaces/Team/pages?limit=1', ['Team', 'Team/Plan']],
      ['/spaces/Team/pages?q=pla&limit=1', ['Team/Plan']],
      ['/spaces/Team/changes?limit=1', ['Team/Plan', 'Talk:Team/Plan', 'Team/Plan', 'Team']],
      ['/spaces/Team/search?q=hive&limit=2', ['Talk:Team/Plan', 'Team', 'Team/Plan']],
      ['/spaces/Team/search?q=hive%20-mill&limit=1', ['Team/Plan']],
      ['/spaces/Team/search?q=-hive', []],
      ['/spaces/Team/search?q=nothing', []],
      ['/spaces?limit=1', ['Team']]
    ]
    for (const [url, names] of lists) {
      const found = []
      let cursor = ''
      for (let parts = 0; parts < 9; parts++) {
        const { items, next_cursor: next } = await itemsOf(app, url + cursor)
        found.push(...items.map((/** @type {{name: string}} */ { name }) => name))
        const said = `${JSON.stringify(items)} ${Buffer.from(String(next).split('.')[0], 'base64url')}`
        assert.ok(!said.includes(WORD) && ![...ids].some((id) => said.includes(id)), said)
        if (next === null) break
        cursor = `&cursor=${next}`
      }
      assert.deepEqual(found, names, url)
    }
    const [{ excerpt, revision }] = (await itemsOf(app, '/spaces/Team/search?q=plans')).items
    assert.deepEqual([revision, excerpt], [2, [{ text: 'Plans', hit: true }, { text: ' of a hive.', hit: false }]])
    const [newest] = (await itemsOf(app, '/spaces/Team/changes')).items
    assert.deepEqual([newest.revision, newest.follows, newest.author, newest.summary], [2, 1, 'teameditor', 'again'])
  })

  await t.test('a cursor of another list is refused, and a made-up one shows nothing of other spaces', async () => {
    const { next_cursor: next } = await itemsOf(app, '/spaces/Team/pages?limit=1')
    for (const cursor of [next, `${next}x`, 'x', '', '.', `${next}.${next}`]) {
      const { statusCode } = await ask(app, `/spaces/Team/changes?cursor=${encodeURIComponent(cursor)}`)
      assert.equal(statusCode, 400, cursor)
    }
    /** @param {string} list @param {string} position @param {object} [query] */
    const made = (list, position, query = {}) => {
      const sealed = [`${API}/spaces/:name/${list}`, { name: 'Team' }, query, position]
      const cursor = `${Buffer.from(position).toString('base64url')}.${hashOf(JSON.stringify(sealed))}`
      return `/spaces/Team/${list}?${new URLSearchParams({ ...query, cursor })}`
    }
    for (const [url, count] of /** @type {[string, number][]} */ ([
      [made('pages', `Other/${WORD}`), 2], [made('pages', 'Z'), 0], [made('search', 'Other', { q: 'hive' }), 3],
      [made('changes', 'f'.repeat(24)), 4], [made('changes', '0'.repeat(24)), 0],
      [made('files', 'f'.repeat(24)), 1]])) {
      const { items } = await itemsOf(app, url)
      assert.equal(items.length, count, url)
      assert.ok(!JSON.stringify(items).includes(WORD), url)
    }
    for (const url of [made('changes', '-1'), made('changes', `${'f'.repeat(24)}.1`), made('files', '{"$gt":""}')]) {
      assert.equal((await ask(app, url)).statusCode, 400, url)
    }
  })

  await t.test('pictures and files go into the space, and a token reads them where the list says', async () => {
    const by = 'teameditor'
    const type = 'application/octet-stream'
    const attached = await ask(app, '/spaces/Team/files?name=a.csv', { by, method: 'POST', payload: 'a,b\n', type })
    assert.deepEqual([attached.statusCode, attached.json().author], [201, by])
    const { items: [{ url }, picture] } = await itemsOf(app, '/spaces/Team/files')
    assert.equal(url, attached.headers.location)
    assert.match(picture.markdown, /^!\[a hive\]\(\/edit\/in\/files\/Team\/[0-9a-f]{32}\.png\)$/)
    for (const [each, bytes] of /** @type {const} */ ([[url, Buffer.from('a,b\n')], [picture.url, png(3)]])) {
      assert.ok((await get(app, each, bearer('teamreader'))).rawPayload.equals(bytes))
      assert.equal((await get(app, each, bearer('editor'))).statusCode, 403)
    }
    for (const sent of [{ payload: png(3).subarray(0, 40), type: 'image/png' }, { payload: 'x', type }]) {
      assert.equal((await ask(app, '/spaces/Team/files', { by, method: 'POST', ...sent })).statusCode, 415)
    }
    const other = (await itemsOf(app, `/spaces/Other%2F${WORD}/files`, { by: 'admin' })).items[0].url.slice(-36)
    for (const method of ['PATCH', 'DELETE']) {
      const answer = await ask(app, `/spaces/Team/files/${other}`, { by: 'admin', method, payload: { alt: 'x' } })
      assert.equal(answer.statusCode, 404, 'a file of another space')
    }
    for (const each of [String(url).split('/').at(-2), picture.url.slice(-36)]) {
      assert.equal((await ask(app, `/spaces/Team/files/${each}`, { by, method: 'DELETE' })).statusCode, 204)
    }
    assert.deepEqual((await itemsOf(app, '/spaces/Team/files')).items, [])
    assert.equal((await ask(app, '/files', { by: '' })).json().items.length, 0, 'none of them is a public one')
  })

  await t.test('an export has one space', async () => {
    const { headers, rawPayload } = await ask(app, '/spaces/Team/export', { by: 'teamadmin' })
    assert.equal(headers['content-type'], 'application/zip')
    assert.deepEqual([...(await filesIn(rawPayload)).keys()], ['Talk%3ATeam/Plan.md', 'Team.md', 'Team/Plan.md'])
  })

  await t.test('people see their role, and grants where they may change them', async () => {
    assert.deepEqual((await itemsOf(app, '/spaces')).items, [{ name: 'Team', role: 'reader', state: 'open' }])
    assert.deepEqual((await itemsOf(app, '/spaces', { by: 'editor' })).items, [])
    const { grants } = (await ask(app, '/spaces/Team', { by: 'teamadmin' })).json()
    assert.deepEqual(grants, ['editor', 'admin', 'reader'].map((role) => ({ group: `${role}s of Team`, role })))
    assert.deepEqual((await itemsOf(app, '/spaces', { by: 'admin' })).items.map((/** @type {any} */ { name }) => name),
      [`Other/${WORD}`, 'Team'])
    const groups = await itemsOf(app, '/groups?limit=2', { by: 'admin' })
    assert.deepEqual(groups.items, [{ name: 'admins of Team', members: 1 }, { name: 'editors of Team', members: 1 }])
    const rest = await itemsOf(app, `/groups?limit=2&cursor=${groups.next_cursor}`, { by: 'admin' })
    assert.deepEqual([rest.items, rest.next_cursor], [[{ name: 'readers of Team', members: 1 }], null])
    assert.deepEqual((await itemsOf(app, '/groups/READERS%20of%20team/members', { by: 'admin' })).items,
      [{ name: 'teamreader' }])
  })

  await t.test('an administrator of a space is none of the wiki, and a change counts at once', async () => {
    const invited = await send(app, '/edit/people', { name: 'Ana', role: 'reader' })
    const [link] = /** @type {RegExpExecArray} */ (/\/invitations\/[\w-]{43}/.exec(invited.body))
    const password = 'a new password'
    await post(app, link, { password, again: password })
    const { headers } = await post(app, '/edit/sign-in', { name: 'Ana', password })
    const cookie = { cookie: String(headers['set-cookie']).split(';', 1)[0] }
    const { body } = await post(app, '/edit/account/tokens', { label: 'x' }, cookie)
    const [token] = /** @type {RegExpExecArray} */ (/stevec_[\w-]{20,}/.exec(body))
    const byAna = (/** @type {string} */ url, /** @type {object} */ payload, /** @type {'PUT'} */ method = 'PUT') =>
      app.inject({ method, url: API + url, payload, headers: { authorization: `Bearer ${token}` } })

    const members = '/groups/admins%20of%20Team/members/Ana'
    assert.equal((await ask(app, members, { by: 'admin', method: 'PUT' })).statusCode, 204)
    const grant = '/spaces/Team/grants/readers%20of%20Team'
    assert.equal((await byAna(grant, { role: 'editor' })).statusCode, 204)
    assert.equal((await byAna('/spaces/Team/grants/none', { role: 'editor' })).statusCode, 404)
    assert.equal((await byAna(grant, { role: 'owner' })).statusCode, 400)
    const elsewhere = grant.replace('Team', `Other%2F${WORD}`)
    assert.equal((await byAna(elsewhere, { role: 'reader' })).statusCode, 404)
    assert.equal((await put(app, 'Team/New', { content: 'x' }, 'teamreader')).statusCode, 201)
    assert.equal((await ask(app, members, { by: 'admin', method: 'DELETE' })).statusCode, 204)
    assert.equal((await byAna(grant, { role: 'reader' })).statusCode, 404)
    const nobody = members.replace('Ana', 'nobody')
    assert.equal((await ask(app, nobody, { by: 'admin', method: 'PUT' })).statusCode, 404)
    assert.equal((await ask(app, '/groups/readers%20of%20Team', { by: 'admin', method: 'DELETE' })).statusCode, 204)
    assert.equal((await ask(app, '/spaces/Team')).statusCode, 404)
  })

  await t.test('an empty space goes, one with pages stays', async () => {
    const by = 'admin'
    const remove = (/** @type {string} */ name) => ask(app, `/spaces/${name}`, { by, method: 'DELETE' })
    assert.match((await remove('Team')).json().detail, /it has pages/)
    await ask(app, '/spaces', { by, method: 'POST', payload: { name: 'Empty' } })
    assert.equal((await remove('Empty')).statusCode, 204)
    assert.equal((await remove('Empty')).statusCode, 404)
    for (const name of ['a\\b', 'Talk:x', 'Home', '', 'x'.repeat(801)]) {
      assert.equal((await ask(app, '/spaces', { by, method: 'POST', payload: { name } })).statusCode, 400, name)
    }
  })
})
