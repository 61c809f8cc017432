import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { fieldsOf, hasShardKey, recordCommands } from './commands.js'
import { BROWSER, untilCounted, untilFound, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'

/** @typedef {import('./commands.js').Sent} Sent */
/** @typedef {{method: string, url: string, payload?: any, headers?: Record<string, string>}} Request */

const wiki = useWiki()
const { keys, broadcasts } = readTables()

/** @returns {{keys: Map<string, string[] | null>, broadcasts: Map<string, number | null>}} of docs/operations.md */
function readTables () {
  const text = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [, section] = /^## A sharded cluster\n([^]*?)^## /m.exec(text) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
    .map((line) => line.slice(1, -1).split('|').map((cell) => cell.trim()))
  const ofKeys = rows.filter(({ length }) => length === 3).slice(1).flatMap(([names, key]) => {
    const fields = [...key.matchAll(/(\w+): (?:-?1|'hashed')/g)].map(([, field]) => field)
    return names.split(', ').map((name) => /** @type {const} */ ([name, fields.length > 0 ? fields : null]))
  })
  const ofBroadcasts = rows.filter(({ length }) => length === 4).slice(1).map(([name, by, , most]) =>
    /** @type {const} */ ([`${name}: ${by}`, /^\d+$/.test(most) ? Number(most) : null]))
  return { keys: new Map(ofKeys), broadcasts: new Map(ofBroadcasts) }
}

/** @param {Sent[]} sent @returns {Sent[]} those that a mongos sends to all shards */
const broadcastOf = (sent) => sent.filter((each) => {
  const key = keys.get(each.collection)
  if (key === undefined) throw new Error(`${each.collection} is not in the table of docs/operations.md`)
  return key !== null && !hasShardKey(each, key)
})

/** @param {Sent} sent  the row of the table that it needs */
const rowOf = ({ collection, kind, filter }) => `${collection}: ${
  kind === 'find' ? fieldsOf(filter).map((field) => `\`${field}\``).join(', ') || 'nothing' : kind}`

/**
 * Everything that the wiki has, on a few pages.
 * @param {import('fastify').FastifyInstance} app
 * @returns {Promise<Request[]>} what was requested
 */
async function requestEverything (app) {
  const cookie = await cookieOf(app, 'admin')
  const requests = [{ method: 'POST', url: '/edit/sign-in' }]
  /** @param {string} method @param {string} url @param {any} [payload] @param {Record<string, string>} [headers] */
  async function send (method, url, payload, headers = {}) {
    requests.push({ method, url })
    const asPerson = { ...BROWSER, 'sec-fetch-site': 'same-origin', ...cookie }
    const answer = method === 'POST' && url.startsWith('/edit') && !(payload instanceof FormData)
      ? await post(app, url, payload ?? {}, { ...cookie, ...headers })
      : await app.inject({
        method: /** @type {any} */ (method),
        url,
        payload,
        headers: { ...url.startsWith('/edit') || url === '/watching' ? asPerson : bearer('admin'), ...headers }
      })
    assert.ok(answer.statusCode < 400, `${method} ${url}: ${answer.statusCode} ${answer.body.replace(/<[^>]*>/g, '')}`)
    return answer
  }
  const form = (/** @type {Record<string, string | Blob>} */ fields) => {
    const made = new FormData()
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'string') made.append(name, value)
      else made.append(name, value, 'a.md')
    }
    return made
  }
  for (const name of ['a', 'a/b', 'a/b/c', 'x', 'y', 'w']) {
    const payload = { content: `[[a]] [[wanted]] ${name} words`, tags: ['one', 'two'] }
    await send('PUT', `/api/v1/pages/${encodeURIComponent(name)}`, payload)
  }
  const { url: picture } = (await send('POST', '/api/v1/files', png(), { 'content-type': 'image/png' })).json()
  const { thumbnail_url: small } =
    (await send('POST', '/api/v1/files', png(400), { 'content-type': 'image/png' })).json()
  await send('GET', small)
  await send('POST', '/edit/upload', form({ file: new Blob([new Uint8Array(png(3))]) }))
  const { url: attachment } = (await send('POST', '/api/v1/files?name=a.pdf', '%PDF-', {
    'content-type': 'application/octet-stream'
  })).json()
  await send('GET', attachment)
  const { url: second } = (await send('POST', '/api/v1/files', png(5), { 'content-type': 'image/png' })).json()
  await send('PUT', '/api/v1/pages/x', { content: `![p](${picture})\n\n- [ ] task\n`, tags: [] })
  await send('POST', '/wiki/y', 'text', { 'content-type': 'text/markdown' })
  await untilCounted(app)
  await untilFound(app, 'words', 4)
  const file = picture.slice('/files/'.length)
  for (const url of READ) await send('GET', url.replace('FILE', file))

  await send('PUT', '/api/v1/watching/pages/a')
  await send('PUT', '/api/v1/watching/authors/editor')
  await send('GET', '/api/v1/watching')
  const { read_mark: mark } = (await send('GET', '/api/v1/watching/changes')).json()
  await send('POST', '/api/v1/watching/read', { read_mark: mark })
  await send('POST', '/edit/watching/read', { mark })
  await send('DELETE', '/api/v1/watching/authors/editor')
  await send('DELETE', '/api/v1/watching/pages/a')
  await send('POST', '/edit/watch/x', { watch: 'yes' })
  await send('POST', '/edit/watch-author', { author: 'editor', watch: 'yes' })
  const { body } = await send('POST', '/edit/watching/feed')
  await send('GET', String(/\/feeds\/[\w-]+/.exec(body)?.[0]))

  await send('POST', '/api/v1/short-links', { page: 'a' })
  await send('PUT', '/api/v1/short-links/chosen', { page: 'a' })
  await send('GET', '/api/v1/short-links/chosen')
  await send('GET', '/s/chosen')
  await send('POST', '/edit/short-link/x')

  await send('POST', '/edit/text/y', { content: 'by the form' })
  await send('POST', '/edit/preview/y', { content: '[[a]]' })
  await send('POST', '/api/v1/preview', { content: '[[a]]' })
  await send('POST', '/edit/task/x', { base_revision: '2', task: '3', checked: 'true' })
  await send('POST', '/api/v1/pages/a/rename', { to: 'z', subpages: true })
  await send('POST', '/edit/rename/z', { to: 'zz' })
  await send('POST', '/api/v1/pages/x/revert', { revision: 1 })
  await send('POST', '/edit/revert/y', { revision: '1' })
  await send('GET', '/edit/erase/y?from=1&to=1')
  await send('POST', '/edit/erase/y', { from: '1', to: '1', confirm: 'y', reason: 'a secret' })
  await send('POST', '/edit/revert-author', { author: 'editor' })
  await send('POST', '/edit/topic/Talk:x', { topic: 'A topic', content: 'A message' })
  await administer(app, send)
  await send('POST', '/edit/import', form({ files: new Blob(['imported']) }))
  const { rawPayload: zip } = await send('GET', '/api/v1/export')
  await send('POST', '/api/v1/import', zip, { 'content-type': 'application/zip' })
  await send('PATCH', `/api/v1/files/${file}`, { alt: 'p' })
  await send('POST', `/edit/picture/${file}`, { alt: 'again' })
  await send('DELETE', `/api/v1/files/${file}`)
  await send('POST', second.replace('/files/', '/edit/delete-picture/'), { sure: 'yes' })
  await send('DELETE', '/wiki/y')
  await send('DELETE', '/api/v1/pages/w')
  await send('POST', '/edit/delete/x')
  await send('POST', '/edit/sign-out')
  await untilCounted(app)
  return requests
}

/**
 * What an administrator does with people, and they with their accounts.
 * @param {import('fastify').FastifyInstance} app
 * @param {(method: string, url: string, payload?: any, headers?: any) => Promise<import('./helper.js').Response>} send
 */
async function administer (app, send) {
  const password = 'a new password'
  const { body } = await send('POST', '/edit/people', { name: 'Ana', role: 'reader' })
  const [link] = /** @type {RegExpExecArray} */ (/\/invitations\/[\w-]{43}/.exec(body))
  await send('GET', link)
  await send('POST', link, { password, again: password })
  await send('POST', '/edit/people/role', { name: 'Ana', role: 'admin' })
  const { headers } = await post(app, '/edit/sign-in', { name: 'Ana', password })
  const ana = { cookie: String(headers['set-cookie']).split(';', 1)[0] }
  for (const [url, payload] of /** @type {[string, object][]} */ ([
    ['people', { name: 'Bor', role: 'reader' }],
    ['account/tokens', { label: 'x' }],
    ['account/tokens/remove', { label: 'x', sure: 'yes' }],
    ['account/password', { present: password, password: 'another one', again: 'another one' }]
  ])) await send('POST', `/edit/${url}`, payload, ana)
  await send('GET', '/edit/people/person?name=Ana')
  for (const verb of ['link', 'block', 'unblock']) await send('POST', `/edit/people/${verb}`, { name: 'Ana' })
  await send('POST', '/edit/people/remove', { name: 'Ana', sure: 'yes' })
  await send('POST', '/edit/protection', { name: 'x', subpages: 'true' })
  await send('PUT', '/api/v1/protections/y', { role: 'editor' })
  await send('DELETE', '/api/v1/protections/y')
  await send('POST', '/edit/protection/remove', { name: 'x' })
  await review(app, send)
  await useSpace(send)
}

/**
 * Proposals of an editor, and what becomes of them.
 * @param {import('fastify').FastifyInstance} app
 * @param {(method: string, url: string, payload?: any, headers?: any) => Promise<import('./helper.js').Response>} send
 */
async function review (app, send) {
  const editor = await cookieOf(app, 'editor')
  await send('PUT', '/api/v1/protections/w', { review: true })
  /** @type {[string, string, any, object][]} */
  const ends = [
    ['/edit/proposal', 'publish', undefined, {}], ['/edit/proposal', 'decline', { reason: 'no' }, {}],
    ['/edit/proposal', 'withdraw', undefined, editor], ['/api/v1/proposals', 'publish', undefined, {}],
    ['/api/v1/proposals', 'decline', { reason: 'no' }, {}],
    ['/api/v1/proposals', 'withdraw', undefined, bearer('editor')]
  ]
  for (const [index, [path, verb, payload, by]] of ends.entries()) {
    const { id } = (await send('PUT', '/api/v1/pages/w', { content: `w ${index}` }, bearer('editor'))).json()
    await send('GET', `/edit/text/w?proposal=${id}`)
    await send('GET', `${path}/${id}`)
    await send('POST', `${path}/${id}/${verb}`, payload, by)
  }
  await send('GET', '/edit/proposals', undefined, editor)
  await send('DELETE', '/api/v1/protections/w')
}

/**
 * A private space and its pages.
 * @param {(method: string, url: string, payload?: any, headers?: any) => Promise<import('./helper.js').Response>} send
 */
async function useSpace (send) {
  await send('POST', '/edit/spaces', { name: 'Team' })
  await send('POST', '/edit/groups', { name: 'g' })
  await send('POST', '/edit/groups/add', { name: 'g', person: 'editor' })
  await send('POST', '/edit/spaces/grant', { name: 'Team', group: 'g', role: 'editor' })
  for (const content of ['one', 'two']) await send('PUT', '/api/v1/pages/Team%2Fa', { content })
  for (const url of ['wiki/Team/a', 'history/Team/a', 'revision/Team/a/1', 'raw/Team/a', 'links/Team/a', 'tree/Team',
    'difference/Team/a?from=1&to=2', 'pages?space=Team&q=a', 'changes?space=Team',
    'search?space=Team&q=one', 'search?space=Team&q=two&after=Team', 'export?space=Team']) {
    await send('GET', `/edit/in/${url}`)
  }
  await send('POST', '/edit/watch/Team/a', { watch: 'yes' })
  for (const url of ['/edit/watch/Team/a', '/edit/watching']) await send('GET', url)
  await send('POST', '/api/v1/watching/read', { read_mark: String(Date.now()) })
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(png(7))]), 'a.png')
  const { url: picture } = (await send('POST', '/edit/in/upload/Team', form, { accept: 'application/json' })).json()
  const edited = picture.replace('/files/', '/picture/')
  for (const url of [picture, '/edit/in/files?space=Team', edited]) await send('GET', url)
  await send('POST', edited, { alt: 'p' })
  await send('POST', edited.replace('/picture/', '/delete-picture/'), { sure: 'yes' })
  await send('PUT', '/api/v1/protections/Team', { subpages: true, review: true })
  const { id } = (await send('PUT', '/api/v1/pages/Team%2Fa', { content: 'three' }, bearer('editor'))).json()
  for (const url of ['protection', 'proposals', `proposal/${id}`]) await send('GET', `/edit/${url}?space=Team`)
  await send('POST', `/edit/proposal/${id}/publish?space=Team`)
  await send('POST', '/edit/protection/remove?space=Team', { name: 'Team' })
  for (const url of ['/edit/spaces', '/edit/groups']) await send('GET', url)
  await useSpaceOfPrograms(send)
  await send('DELETE', '/api/v1/pages/Team%2Fa')
  await send('POST', '/edit/spaces/remove', { name: 'Team' })
  await send('POST', '/edit/groups/take', { name: 'g', person: 'editor' })
  await send('POST', '/edit/groups/remove', { name: 'g' })
}

/**
 * The same as programs do it.
 * @param {(method: string, url: string, payload?: any, headers?: any) => Promise<import('./helper.js').Response>} send
 */
async function useSpaceOfPrograms (send) {
  const [space, group] = ['/api/v1/spaces/Team', '/api/v1/groups/h']
  await send('POST', '/api/v1/spaces', { name: 'Work' })
  await send('POST', '/api/v1/groups', { name: 'h' })
  await send('PUT', `${group}/members/editor`)
  await send('PUT', `${space}/grants/h`, { role: 'reader' })
  const { url } = (await send('POST', `${space}/files`, png(9), { 'content-type': 'image/png' })).json()
  for (const path of ['', '/pages', '/pages?q=a', '/changes', '/search?q=one', '/files', '/export']) {
    await send('GET', space + path)
  }
  for (const path of ['spaces', 'groups', 'groups/h/members']) await send('GET', `/api/v1/${path}`)
  const file = `${space}/files/${url.slice(-36)}`
  await send('PATCH', file, { alt: 'p' })
  await send('DELETE', file)
  await send('DELETE', `${space}/grants/h`)
  await send('DELETE', `${group}/members/editor`)
  await send('DELETE', group)
  await send('DELETE', '/api/v1/spaces/Work')
}

/** Pages and lists, each also from its second part on. */
const READ = [
  '/', '/pages', '/pages?after=a', '/pages?q=a', '/pages?q=zz', '/search?q=words', '/tags', '/tags?after=one',
  '/tags/one', '/tags/one?after=a', '/links/a', '/links/a?after=a', '/tree/a', '/orphaned', '/orphaned?after=a',
  '/wanted',
  '/wanted?after=1+wanted', '/dead-ends', '/dead-ends?after=a', '/care', '/overdue', '/random', '/changes',
  '/changes?author=admin', '/changes.atom', '/changes.atom?author=admin',
  '/history/a', '/wiki/a', '/raw/a', '/revision/a/1', '/difference/x?from=1&to=2', '/files', '/files/FILE', '/watching',
  '/wiki/stevec', '/status', '/status.json', '/healthz',
  '/api/v1/counter', '/api/v1/export', '/api/v1/pages', '/api/v1/pages/a', '/api/v1/pages/a/backlinks',
  '/api/v1/pages/a/subpages', '/api/v1/pages/a/revisions', '/api/v1/pages/a/revisions/1',
  '/api/v1/pages/x/difference?from=1&to=2', '/api/v1/files', '/api/v1/tags', '/api/v1/tags/one/pages',
  '/api/v1/orphaned', '/api/v1/wanted', '/api/v1/dead-ends', '/api/v1/search?q=words', '/api/v1/changes',
  '/api/v1/changes?author=admin',
  '/edit/watching', '/edit/watch/a', '/edit/watch-author?author=editor', '/edit/new', '/edit/new/q', '/edit/text/a',
  '/edit/delete/a', '/edit/rename/a', '/edit/import', '/edit/short-link/a', '/edit/revert/a?revision=1',
  '/edit/revert-author', '/edit/topic/Talk:a', '/edit/people', '/edit/people?after=a', '/edit/audit',
  '/edit/protection?name=a', '/api/v1/protections', '/edit/proposals', '/api/v1/proposals',
  '/edit/account', '/edit/picture/FILE', '/edit/sign-in', '/readyz', '/favicon.ico', '/offline.js', '/wiki', '/wiki/',
  '/api', '/api/', '/api/v1/openapi.json', '/robots.txt', '/sitemap.xml', '/sitemap/1.xml'
]

test('each command has the shard key of docs/operations.md, or is in the table of those that ask all shards',
  async (t) => {
    const MONGODB_URI = `${wiki.freshUri()}&monitorCommands=true`
    const { built: app, sent } = await recordCommands(() =>
      wiki.build(t, { MONGODB_URI, ...peopleOnly(t) }, {
        purge: async () => {}, timing: { gatherMs: 5, repeatAfterMs: 30 }
      }))
    const requests = await requestEverything(app)
    const isRequested = (/** @type {Request} */ { method, url }) => {
      const path = new RegExp(`^${url.replace(/[.]/g, '\\.').replace(/\*|:\w+/g, '[^?]+')}(\\?|$)`)
      return requests.some((request) => [method].flat().includes(request.method) && path.test(request.url))
    }
    const routes = /** @type {Request[]} */ (/** @type {any} */ (app).rules)
      // Some answer 405. How a deferred save fares is known where it waits, and not in the database.
      .filter(({ method, url }) => [method].flat().includes('GET') || !Array.isArray(method))
      .filter(({ method, url }) => method !== 'HEAD' && !/^\/assets\/|^\/api\/v1\/saves\//.test(url))
    assert.deepEqual(routes.filter((route) => !isRequested(route)), [], 'requested by `requestEverything`')
    const found = broadcastOf(sent)
    for (const each of found) {
      const row = rowOf(each)
      const most = broadcasts.get(row)
      assert.ok(most !== undefined, `${row} has no shard key, and no row: ${JSON.stringify(each)}`)
      if (most !== null) assert.ok(Number(each.limit ?? Infinity) <= most, `${row}: ${each.limit} at most ${most}`)
    }
    const rows = new Set(found.map(rowOf))
    assert.deepEqual([...broadcasts.keys()].filter((row) => !rows.has(row)), [], 'rows that nothing needs')
  })

test('no sharded collection has a unique index that does not begin with its key', async (t) => {
  const uri = wiki.freshUri()
  await wiki.build(t, { MONGODB_URI: uri, ...peopleOnly(t) })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const collections = await client.db().listCollections().toArray()
  for (const { name } of collections) {
    const key = keys.get(name)
    assert.ok(key !== undefined, `${name} is not in the table of docs/operations.md`)
    for (const index of await client.db().collection(name).indexes()) {
      const isAllowed = key === null || !index.unique || Object.keys(index.key)[0] === key[0]
      assert.ok(isAllowed, `${name}: ${JSON.stringify(index.key)}`)
    }
  }
})

test('a command without the key is noticed', () => {
  /** @param {string} collection @param {string} kind @param {object} filter */
  const isNoticed = (collection, kind, filter) => broadcastOf([{ collection, kind, filter }]).length > 0
  assert.equal(isNoticed('pages', 'find', { _id: 'a', deleted_at: null }), false)
  assert.equal(isNoticed('pages', 'find', { $and: [{ _id: { $in: ['a'] } }, { deleted_at: null }] }), false)
  assert.equal(isNoticed('pages', 'find', { _id: { $gt: 'a' } }), true)
  assert.equal(isNoticed('pages', 'find', { $or: [{ _id: 'a' }, { redirect_to: 'a' }] }), true)
  assert.equal(isNoticed('revisions', 'find', { page: 'a' }), false)
  assert.equal(isNoticed('revisions', 'updateOne', { page: 'a' }), true, 'one of several shards')
  assert.equal(isNoticed('revisions', 'deleteOne', { _id: 1 }), true)
  assert.equal(isNoticed('revisions', 'updateOne', { page: 'a', revision: 1 }), false)
  assert.equal(isNoticed('pages', 'find', { _id: /^a/ }), true)
  assert.equal(isNoticed('revisions', 'insert', { _id: 1, page: 'a' }), true)
  assert.throws(() => isNoticed('new', 'find', {}), /not in the table/)
})
