// Private spaces: parts of a public wiki that groups alone read.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { zipOf } from './archives.js'
import { readBackup } from '../src/backup/read.js'
import { writeBackup } from '../src/backup/write.js'
import { BROWSER, get, save, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, cookieOf, MAIL, post } from './people.js'
import { moveIn, page } from './moving.js'
import { makeSpace, put, send, startWithPeople, upload, WORD } from './spaces.js'

const wiki = useWiki()
/** @param {import('node:test').TestContext} t @param {Record<string, string>} [settings] */
const start = (t, settings) => startWithPeople(t, wiki, settings)

/** A picture of the space, and none. @type {Record<string, string>} */
const FILES = {
  [WORD]: createHash('sha256').update(png(3)).digest('hex').slice(0, 32),
  skrivnoxx: '0'.repeat(32)
}

/** Addresses of each route that is read. @param {string} word @returns {(pattern: string) => string[]} */
const urlsFor = (word) => (pattern) => {
  const name = `Team/${word}`
  const url = pattern
    .replace('/revision/*', `/revision/${name}/1`)
    .replace('/spaces/:name', '/spaces/Team')
    .replace(/(?<=^\/edit\/in\/(?:files|picture)\/)[*]/, `Team/${FILES[word]}.png`)
    .replace(/(?<=^\/(?:files|edit\/picture)\/):file$/, `${FILES[word]}.png`)
    .replace('*', name)
    .replace(':name', encodeURIComponent(name))
    .replace(':tag', word).replace(':author', `${word}er`).replace(':revision', '1')
    .replace(/:\w+/, 'a')
  const queries = [...pattern.includes('difference') ? ['from=1&to=1'] : [],
    ...pattern.startsWith('/edit/text') ? [`template=${name}`] : [],
    ...LISTS.has(pattern)
      ? ['under=Team', `q=${word}`, `author=${word}er`, `space=Team&q=${word}`, `page=${name}`]
      : []]
  return [url, ...queries.map((query) => `${url}?${query}`)]
}

/** They have parameters that say what is looked for. */
const LISTS = new Set(['/pages', '/search', '/changes', '/changes.atom', '/edit/in/pages', '/edit/in/changes',
  '/edit/in/search', '/edit/in/export', '/edit/in/files', '/api/v1/spaces/:name/pages', '/api/v1/spaces/:name/search',
  '/api/v1/pages', '/api/v1/search', '/api/v1/changes',
  '/api/v1/saves/:id', '/edit/new', '/edit/protection', '/edit/proposals', '/edit/proposal/:id', '/api/v1/protections',
  '/api/v1/proposals', '/api/v1/proposals/:id'])

/** Without what differs from request to request. @param {import('./helper.js').Response} answer @param {string} word */
function seen ({ statusCode, headers: { date, etag, ...headers }, body }, word) {
  return JSON.stringify([statusCode, headers, body]).replaceAll(word, 'WORD').replaceAll(FILES[word], 'FILE')
    .replace(/"request_id\\":\\"[^"]*"/g, '').replace(/<code>[^<]*<\/code>/g, '')
}

test('to strangers, and members without a group, a private page is as one that is not there', async (t) => {
  const { app } = await start(t, { ...MAIL, CACHE_POLICY: 'ttl' })
  await save(app, 'Home', 'public [[Team]]', bearer('editor'))
  await makeSpace(app, 'Team')
  const name = `Team/${WORD}`
  const payload = { content: `${WORD} [[Team/${WORD}2]]\n`, tags: [WORD], summary: WORD }
  assert.equal((await put(app, name, payload, `${WORD}er`)).statusCode, 201)
  assert.equal((await put(app, name, { ...payload, content: `${WORD} again` }, `${WORD}er`)).statusCode, 200)
  for (const other of ['Team', `${name}/${WORD}`, `Talk:${name}`, 'Team/gone', 'Team/former']) {
    assert.equal((await put(app, other, payload, `${WORD}er`)).statusCode, 201)
  }
  await send(app, '/api/v1/pages/Team%2Fformer/rename', { to: `Team/${WORD}-renamed` }, 'teameditor')
  await send(app, '/edit/delete/Team/gone', {}, 'teameditor')
  assert.equal((await upload(app, 'Team', png(3), { alt: WORD })).statusCode, 201)
  const rule = await send(app, `/api/v1/protections/${encodeURIComponent(name)}`, { review: true, reason: WORD },
    'teamadmin', 'PUT')
  assert.equal(rule.statusCode, 201, rule.body)
  assert.equal((await put(app, name, { ...payload, content: `${WORD} proposed` }, `${WORD}er`)).statusCode, 202)

  const patterns = new Set(/** @type {{method: string | string[], url: string}[]} */ (/** @type {any} */ (app).rules)
    .filter(({ method }) => [method].flat().includes('GET')).map(({ url }) => url))
  assert.ok(patterns.size > 90, String(patterns.size))
  const other = 'skrivnoxx'
  const [there, missing] = [urlsFor(WORD), urlsFor(other)]
  const cookie = await cookieOf(app, 'editor')
  for (const pattern of patterns) {
    if (pattern === '/wiki/stevec' || pattern.startsWith('/assets/')) continue
    const member = pattern.startsWith('/edit/') ? [{ ...BROWSER, ...cookie }] : [bearer('editor')]
    for (const headers of [BROWSER, ...member, ...pattern.startsWith('/api/') ? [{}] : []]) {
      const isSteady = !/^\/(?:status|api\/v1\/counter)/.test(pattern)
      const others = missing(pattern)
      for (const [index, url] of there(pattern).entries()) {
        const answer = await get(app, url, /** @type {Record<string, string>} */ (headers))
        const said = `${url} ${JSON.stringify(headers)}`
        if (url === others[index] || !isSteady) {
          assert.ok(!JSON.stringify([answer.headers, answer.rawPayload.toString('latin1')]).includes(WORD), said)
        } else {
          const same = await get(app, others[index], /** @type {Record<string, string>} */ (headers))
          assert.equal(seen(answer, WORD), seen(same, other), said)
        }
        if (/Team/.test(url) && !pattern.startsWith('/api') && /^\/(?:wiki|history|raw|edit\/in)\/\*/.test(pattern)) {
          assert.match(String(answer.headers['cache-control']), /no-store/, said)
        }
      }
    }
  }
  for (const url of [`/wiki/${name}`, `/wiki/Talk:${name}`, '/wiki/Team/gone', '/wiki/Team/former', '/wiki/Team/never',
    `/history/${name}?before=2`, `/revision/${name}/1`, `/raw/${name}`, `/difference/${name}?from=1&to=2`]) {
    const answer = await get(app, url, BROWSER)
    assert.deepEqual([answer.statusCode, answer.headers.location, answer.headers['cache-control']],
      [303, `/edit/in${url}`, 'no-store'])
  }
})

test('each role may in a space what its group may, and administrators of the wiki may all', async (t) => {
  const { app, db } = await start(t)
  await makeSpace(app, 'Team')
  await put(app, 'Team/a', { content: `${WORD}\n\n- [ ] task\n\n[[Team/b]] [[Team/none]] [[Nowhere]] [[Other/c]]\n` })
  await put(app, 'Team/b', { content: 'b [[Team/a]]' })
  /** @param {string} by @param {string} url */
  const read = async (by, url) => (await get(app, url, { ...BROWSER, ...bearer(by) })).statusCode
  /** @param {string} by @param {string} name */
  const grant = async (by, name) =>
    (await send(app, '/edit/spaces/grant', { name: 'Team', group: name, role: 'reader' }, by)).statusCode

  /** @type {[string, number, number, number][]} */
  const table = [
    ['reader', 403, 403, 404], ['editor', 403, 403, 404], ['teamreader', 200, 403, 403],
    ['teameditor', 200, 200, 403], ['teamadmin', 200, 200, 204], ['admin', 200, 200, 204]
  ]
  for (const [by, reads, writes, administers] of table) {
    for (const url of ['/edit/in/wiki/Team/a', '/edit/in/history/Team/a', '/edit/in/raw/Team/a', '/edit/in/tree/Team',
      '/edit/in/revision/Team/a/1', '/edit/in/links/Team/b', '/edit/in/pages?space=Team&q=a',
      '/edit/in/changes?space=Team', '/edit/in/search?space=Team&q=task', '/edit/in/revision/Team/a/1/authors']) {
      assert.equal(await read(by, url), reads, `${by} ${url}`)
    }
    const got = await get(app, '/api/v1/pages/Team%2Fa', bearer(by))
    assert.deepEqual([got.statusCode, got.headers['cache-control']], [reads, 'private, no-store'], by)
    assert.equal(await read(by, '/edit/in/export?space=Team'), administers === 204 ? 200 : 403, by)
    assert.equal(await read(by, '/edit/text/Team/a'), writes, by)
    assert.equal(await read(by, '/edit/delete/Team/a'), writes, by)
    assert.equal((await put(app, 'Team/a', { content: `${WORD}\n\n- [ ] task\n` }, by)).statusCode, writes, by)
    assert.equal((await send(app, '/edit/preview/Team/a', { content: 'x' }, by)).statusCode, writes, by)
    assert.equal((await send(app, '/wiki/Team/a', { content: WORD }, by)).statusCode, writes, by)
    assert.equal(await grant(by, 'readers'), administers, by)
  }
  assert.equal(await read('reader', '/edit/in/pages?space=Team&space=x'), 303, 'no name of a space')
  const { body: own } = await get(app, '/edit/in/wiki/Team/a', { ...BROWSER, ...bearer('teameditor') })
  assert.match(own, /data-role="reader"/, 'the browser remembers the role in the wiki')
  assert.match(own, /"\/edit\/text\/Team\/a"/, 'and shows what may be done here')
  assert.equal(await read('admin', '/edit/in/wiki/Home'), 303, 'what is not private is at its own address')
  assert.equal((await put(app, 'Home', { content: 'x' }, 'teameditor')).statusCode, 403, 'a reader elsewhere')

  const shown = await get(app, '/edit/spaces', { ...BROWSER, ...bearer('teamreader') })
  assert.match(shown.body, /href="\/edit\/in\/pages\?space=Team"/)
  assert.doesNotMatch(shown.body, /<select/)
  assert.doesNotMatch((await get(app, '/edit/spaces', { ...BROWSER, ...bearer('editor') })).body, /Team/)

  // All of it is stored apart.
  for (const collection of ['pages', 'revisions', 'tags', 'targets']) {
    const found = JSON.stringify(await db.collection(collection).find({}, { projection: { html: 0 } }).toArray())
    assert.ok(!found.includes('Team'), found)
  }
  await send(app, '/edit/spaces/grant', { name: 'Team', group: 'readers', role: 'none' }, 'teamadmin')
  assert.equal(await read('teamreader', '/edit/in/wiki/Team/a'), 403, 'at once')
  await send(app, '/edit/groups/remove', { name: 'editors' })
  assert.equal(await read('teameditor', '/edit/in/wiki/Team/a'), 403)
  const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
  const dids = acts.map((/** @type {{did: string}} */ { did }) => did)
  for (const did of ['space-made', 'group-made', 'joined', 'granted', 'grant-ended', 'group-removed']) {
    assert.ok(dids.includes(did), did)
  }
  assert.equal((await get(app, '/edit/audit', { ...BROWSER, ...bearer('admin') })).statusCode, 200)
})

test('all that is written goes to the space, and nothing crosses its border', async (t) => {
  const { app, uri } = await start(t)
  await put(app, 'Free', { content: 'x' }, 'editor')
  await put(app, 'Work/Old', { content: 'x' }, 'editor')
  await put(app, 'Talk:Work/Else', { content: 'x' }, 'editor')
  const refused = await send(app, '/edit/spaces', { name: 'Work' })
  assert.deepEqual([refused.statusCode, /public pages \(2\).*\/pages\?under=Work/.test(refused.body)], [409, true])
  for (const name of ['Work/Old', 'Talk:Work/Else']) await send(app, `/edit/delete/${name}`, {}, 'editor')
  await makeSpace(app, 'Work')
  await makeSpace(app, 'Team')
  for (const [name, status] of [['Work', 409], ['Work/Inner', 409], ['Talk:Free', 400], ['Home', 400]]) {
    assert.equal((await send(app, '/edit/spaces', { name })).statusCode, status, String(name))
  }

  const by = 'teameditor'
  assert.equal((await put(app, 'Team/a', { content: 'one [[Team/none]] [[Nowhere]] [[Work/w]]' }, by)).statusCode, 201)
  assert.equal((await put(app, 'Work/w', { content: 'secret of Work' }, by)).statusCode, 201)
  const cookie = await cookieOf(app, by)
  const view = async (/** @type {string} */ name) =>
    (await get(app, `/edit/in/wiki/${name}`, { ...BROWSER, ...cookie })).body
  const begun = async (/** @type {string} */ template) =>
    (await get(app, `/edit/text/Team/new?template=${template}`, { ...BROWSER, ...cookie })).body
  assert.match(await begun('Team/a'), /one \[\[Team/)
  const hidden = await begun('Work/w')
  assert.doesNotMatch(hidden, /secret of Work/, 'a page of another space is no template')
  assert.equal(hidden, (await begun('Work/n')).replaceAll('Work/n', 'Work/w'))
  assert.match(await view('Team/a'), /class="missing"[^>]*>Team\/none|Team\/none" class="missing"/)
  assert.doesNotMatch((await view('Team/a')).replace(/<a [^>]*Team\/none[^]*?<\/a>/, ''), /class="missing"/)
  assert.match(await view('Team/a'), /Private: members of the space/)

  const form = await post(app, '/edit/text/Team/a', { content: 'two\n\n- [ ] task\n', base_revision: '1' }, cookie)
  assert.equal(form.headers.location, '/wiki/Team/a?saved=2')
  const ticked = await send(app, '/edit/task/Team/a', { base_revision: '2', task: '3', checked: 'true' }, by)
  assert.equal(ticked.statusCode, 200, ticked.body)
  assert.equal((await send(app, '/edit/topic/Talk:Team/a', { topic: 'T', content: 'said' }, by)).statusCode, 200)
  assert.equal((await send(app, '/edit/revert/Team/a', { revision: 1 }, by)).statusCode, 200)
  const conflict = await post(app, '/edit/text/Team/a', { content: 'mine', base_revision: '2' }, cookie)
  assert.equal(conflict.statusCode, 409)
  assert.match(conflict.body, /Two edits/)

  for (const [from, to] of [['Team/a', 'Public'], ['Team/a', 'Work/b'], ['Team/a', 'Work/w'],
    ['Free', 'Team/b']]) {
    const url = `/api/v1/pages/${encodeURIComponent(from)}/rename`
    const renamed = await send(app, url, { to }, from === 'Free' ? 'editor' : by)
    assert.equal(renamed.statusCode, 409, renamed.body)
    assert.match(renamed.json().detail, /private space/)
  }
  const inside = await send(app, '/edit/rename/Team/a', { to: 'Team/moved' }, by)
  assert.equal(inside.statusCode, 201, inside.body)
  const led = await get(app, '/edit/in/wiki/Team/a', { ...BROWSER, ...cookie })
  assert.deepEqual([led.statusCode, led.headers.location], [302, '/wiki/Team/moved'])
  assert.match(await view('Talk:Team/moved'), /said/)
  assert.equal((await get(app, '/wiki/Team/b')).statusCode, 303)

  for (const [url, payload] of /** @type {[string, object][]} */ ([
    ['/edit/short-link/Team/a', {}], ['/api/v1/short-links', { page: 'Team/a' }]])) {
    const answer = await send(app, url, payload, 'admin')
    assert.deepEqual([answer.statusCode, /a name in a private space/.test(answer.body)], [409, true], url)
  }

  const erased = { from: 1, to: 1, confirm: 'Team/moved', reason: 'a secret' }
  for (const [person, status] of /** @type {const} */ ([[by, 403], ['teamadmin', 200]])) {
    assert.equal((await send(app, '/edit/erase/Team/moved', erased, person)).statusCode, status, person)
  }
  assert.equal((await get(app, '/edit/in/revision/Team/moved/1', { ...BROWSER, ...cookie })).statusCode, 410)

  const imported = await app.inject({
    method: 'POST',
    url: '/api/v1/import',
    payload: await zipOf([['Team/imported.md', 'public?']]),
    headers: { ...bearer('admin'), 'content-type': 'application/zip' }
  })
  assert.match(imported.body, /public pages do not go there/)
  assert.equal((await get(app, '/api/v1/pages/Team%2Fimported', bearer(by))).statusCode, 404)

  // The command has no settings that say who may write.
  const moved = await moveIn(uri, [page('Team/moved in', [{}]), page('Open', [{}])])
  assert.deepEqual(moved.outcomes.map(({ result, problem }) => [result, /private space/.test(problem ?? '')]),
    [['untaken', true], ['created', false]])
  const kept = await send(app, '/edit/spaces/remove', { name: 'Work' })
  assert.deepEqual([kept.statusCode, /it has pages \(1\)/.test(kept.body)], [409, true])
  await send(app, '/api/v1/pages/Work%2Fw', {}, by, 'DELETE')
  assert.equal((await send(app, '/edit/spaces/remove', { name: 'Work' })).statusCode, 204)
  assert.equal((await get(app, '/wiki/Work/w', BROWSER)).statusCode, 404)
  assert.equal((await get(app, '/history/Work/w', BROWSER)).statusCode, 404, 'its history stays private')
  assert.equal((await put(app, 'Work/w', { content: 'public' }, 'editor')).statusCode, 201)

  // The address of a revision says which page it is of, and so which space.
  const old = (/** @type {string} */ name) => get(app, `/edit/in/revision/${name}/1`, { ...BROWSER, ...cookie })
  const long = `Team/${'x'.repeat(195)}`
  await put(app, long, { content: 'a name of 200 characters' }, by)
  assert.equal((await old(long)).statusCode, 200)
  await send(app, '/edit/spaces', { name: 'Past' })
  await put(app, 'Past', { content: WORD }, 'admin')
  await send(app, '/api/v1/pages/Past', {}, 'admin', 'DELETE')
  assert.equal((await send(app, '/edit/spaces/remove', { name: 'Past' })).statusCode, 204)
  await makeSpace(app, 'Past/1')
  const { statusCode, headers } = await old('Past')
  assert.deepEqual([statusCode, headers.location], [303, '/revision/Past/1'], 'not of the space “Past/1”')
  assert.equal((await get(app, '/revision/Past/1', BROWSER)).statusCode, 404)
})

test('once a space is made, no save that began before it lands in the public store', async (t) => {
  const { app, db } = await start(t)
  for (let round = 0; round < 4; round++) {
    const root = `Race${round}`
    const names = [root, `${root}/a`, `${root}/b/c`, `Talk:${root}/a`, `Talk:${root}`]
    const saves = names.map((name) => put(app, name, { content: 'x' }, 'admin'))
    await saves[round]
    const made = await send(app, '/edit/spaces', { name: root })
    const statuses = (await Promise.all(saves)).map(({ statusCode }) => statusCode)
    const count = await db.collection('pages').countDocuments({ _id: /** @type {any} */ ({ $in: names }) })
    if (made.statusCode === 201) assert.equal(count, 0, statuses.join())
    else assert.equal(made.statusCode, 409, made.body)
  }
  // None of them was written yet, and each has begun.
  const root = 'Held'
  for (const name of [`${root}/a`, `Talk:${root}/a`, root]) {
    const session = db.client.startSession()
    t.after(() => session.endSession())
    session.startTransaction({ readConcern: { level: 'snapshot' } })
    await db.collection('spaces').findOne({ _id: /** @type {any} */ (root) }, { session })
    await send(app, '/edit/spaces', { name: root })
    const above = name.split('/')[0]
    const writing = db.collection('targets').updateOne(
      { _id: /** @type {any} */ (above) }, { $set: { below: 'of a page that comes' } }, { session, upsert: true })
    await assert.rejects(writing, { codeName: 'WriteConflict' }, name)
    await send(app, '/edit/spaces/remove', { name: root })
  }
})

test('a space that was opened again beside its removal stays', async (t) => {
  const { app, db } = await start(t)
  await makeSpace(app, 'Team')
  const spaces = db.collection('spaces')
  await put(app, 'Team/gone', { content: 'x' })
  await send(app, '/edit/delete/Team/gone', {}, 'teameditor')
  const session = db.client.startSession()
  t.after(() => session.endSession())
  session.startTransaction()
  // The removal waits for it.
  await db.collection('space_pages').updateOne({ revision: 2 }, { $set: { protection: 'x' } }, { session })
  const removing = send(app, '/edit/spaces/remove', { name: 'Team' })
  await waitUntil(async () => await spaces.countDocuments({ state: 'closing' }) === 1, 60_000)
  // As another removal does that has found a page.
  await spaces.updateOne({}, { $set: { state: 'open' } })
  await session.abortTransaction()
  assert.equal((await removing).statusCode, 409)
  assert.equal(await spaces.countDocuments({ state: 'open' }), 1)
  assert.equal((await send(app, '/edit/spaces/remove', { name: 'Team' })).statusCode, 204)
})

test('a person who is removed leaves all groups, no list of private pages, and a name that none is like', async (t) => {
  const { app, db } = await start(t)
  await makeSpace(app, 'Team')
  await send(app, '/edit/people', { name: 'Ana', role: 'reader' })
  await put(app, 'Team/x', { content: 'x' })
  await db.collection('space_revisions').updateOne({}, { $set: { author: 'Ivan' } })
  assert.match((await send(app, '/edit/people', { name: 'lvan', role: 'reader' })).body, /looks like “Ivan”/)
  assert.equal((await send(app, '/edit/groups/add', { name: 'readers', person: 'ana' })).statusCode, 204)
  assert.equal((await send(app, '/edit/groups/add', { name: 'readers', person: 'nobody' })).statusCode, 404)
  const watchers = db.collection('space_watchers')
  await watchers.insertOne({ _id: /** @type {any} */ ('ana'), pages: [] })
  await send(app, '/edit/people/remove', { name: 'Ana', sure: 'yes' })
  assert.equal(await watchers.countDocuments(), 0)
  const { groups } = (await get(app, '/edit/groups', { accept: 'application/json', ...bearer('admin') })).json()
  assert.deepEqual(groups.map((/** @type {{members: string[]}} */ { members }) => members),
    [['teamadmin'], ['teameditor', `${WORD}er`], ['teamreader']])
  assert.equal((await send(app, '/edit/groups', { name: '<b>x' })).statusCode, 201)
  assert.doesNotMatch((await get(app, '/edit/groups', { ...BROWSER, ...bearer('admin') })).body, /<b>x/)
})

test('a backup has the spaces, and a restored wiki keeps them private', async (t) => {
  const uri = wiki.freshUri()
  const { app } = await start(t, { MONGODB_URI: uri })
  await makeSpace(app, 'Team')
  await put(app, 'Team/a', { content: WORD })
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-spaces-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'wiki.stevec.gz')
  const { spaces, groups, space_pages: pages, space_revisions: revisions } = await writeBackup({ uri, file })
  assert.deepEqual({ spaces, groups, pages, revisions }, { spaces: 1, groups: 3, pages: 1, revisions: 1 })
  const other = wiki.freshUri()
  await readBackup({ uri: other, file })
  const { app: restored, db } = await start(t, { MONGODB_URI: other })
  assert.ok((await db.collection('space_pages').indexes()).some(({ name }) => name === 'by_name'))
  const read = (/** @type {string} */ by) => get(restored, '/edit/in/wiki/Team/a', { ...BROWSER, ...bearer(by) })
  assert.match((await read('teamreader')).body, new RegExp(WORD))
  assert.equal((await read('editor')).statusCode, 403)
})
