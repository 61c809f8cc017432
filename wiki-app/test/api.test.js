import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, untilCounted, untilFound, useWiki } from './helper.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * @param {App} app
 * @param {'GET' | 'PUT' | 'POST' | 'DELETE'} method
 * @param {string} path  below the API
 * @param {object} [payload]
 * @param {Record<string, string>} [headers]
 */
const call = (app, method, path, payload, headers = {}) =>
  app.inject({ method, url: `/api/v1${path}`, payload, headers })

/**
 * @param {App} app
 * @param {string} name
 * @param {object} [fields]
 */
const put = (app, name, fields = {}) =>
  call(app, 'PUT', `/pages/${encodeURIComponent(name)}`, { content: 'text', ...fields })

/**
 * Reads all parts of a list.
 * @param {App} app
 * @param {string} path
 * @returns {Promise<any[][]>}
 */
async function walk (app, path) {
  const parts = []
  for (let cursor = ''; ; cursor = `&cursor=${encodeURIComponent(parts[parts.length - 1].next_cursor)}`) {
    const answer = await call(app, 'GET', path + cursor)
    assert.equal(answer.statusCode, 200, answer.body)
    parts.push(answer.json())
    if (parts[parts.length - 1].next_cursor === null) return parts.map(({ items }) => items)
  }
}

test('an API client creates, reads, replaces and deletes a page', async (t) => {
  const app = await wiki.build(t)
  const created = await put(app, 'a/ b', { content: '# Žabe\n', tags: ['Two', 'one'], author: 'Ana', summary: 'why' })
  assert.equal(created.statusCode, 201)
  assert.equal(created.headers.location, '/api/v1/pages/a%2Fb')
  assert.equal(created.headers['cache-control'], 'no-store')
  assert.deepEqual(created.json(), { name: 'a/b', revision: 1, created: true })

  const read = await call(app, 'GET', '/pages/a%2Fb')
  const { modified_at: modifiedAt, ...page } = read.json()
  assert.deepEqual(page, { name: 'a/b', revision: 1, content: '# Žabe\n', content_bytes: 8, tags: ['one', 'two'] })
  assert.equal(read.headers['cache-control'], 'public, no-cache')
  assert.equal(read.headers['last-modified'], new Date(modifiedAt).toUTCString())
  const etag = String(read.headers.etag)
  assert.equal((await call(app, 'GET', '/pages/a%2Fb', undefined, { 'if-none-match': etag })).statusCode, 304)

  assert.equal((await put(app, 'a/b', { content: 'new' })).statusCode, 200)
  assert.deepEqual((await call(app, 'GET', '/pages/a%2Fb')).json().tags, ['one', 'two'], 'PUT without tags keeps them')
  assert.notEqual((await call(app, 'GET', '/pages/a%2Fb', undefined, { 'if-none-match': etag })).statusCode, 304)

  const deleted = await call(app, 'DELETE', '/pages/a%2Fb?author=Ana&summary=over')
  assert.equal(deleted.statusCode, 204)
  assert.equal(deleted.headers['page-revision'], '3')
  assert.equal((await call(app, 'GET', '/pages/a%2Fb')).statusCode, 404)
  const [[last]] = await walk(app, '/pages/a%2Fb/revisions?limit=100')
  assert.deepEqual([last.deleted, last.author, last.summary], [true, 'Ana', 'over'])
})

test('a write with an outdated precondition gets 412 with the current revision and changes nothing', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await call(app, 'PUT', '/pages/a', { content: 'one' }, { 'if-match': '*' })).json().current_revision, 0)
  assert.equal((await call(app, 'PUT', '/pages/a', { content: 'one' }, { 'if-none-match': '*' })).statusCode, 201)
  const etag = String((await call(app, 'GET', '/pages/a')).headers.etag)
  assert.equal((await call(app, 'PUT', '/pages/a', { content: 'two' }, { 'if-match': etag })).statusCode, 200)
  for (const refused of [
    await call(app, 'PUT', '/pages/a', { content: 'three' }, { 'if-match': etag }),
    await call(app, 'PUT', '/pages/a', { content: 'three' }, { 'if-match': '"x"' }),
    await call(app, 'PUT', '/pages/a', { content: 'three' }, { 'if-none-match': '*' }),
    await call(app, 'PUT', '/pages/a', { content: 'three', base_revision: 1 }),
    await call(app, 'DELETE', '/pages/a?base_revision=1'),
    await call(app, 'DELETE', '/pages/a', undefined, { 'if-match': etag }),
    await call(app, 'POST', '/pages/a/rename', { to: 'b', base_revision: 1 }),
    await call(app, 'POST', '/pages/a/revert', { revision: 1 }, { 'if-match': etag })
  ]) {
    assert.equal(refused.statusCode, 412)
    assert.match(String(refused.headers['content-type']), /^application\/problem\+json/)
    assert.equal(refused.headers['cache-control'], 'no-store')
    assert.equal(refused.json().current_revision, 2)
  }
  assert.equal((await call(app, 'GET', '/pages/a')).json().content, 'two')
  assert.equal((await call(app, 'DELETE', '/pages/a?base_revision=2')).statusCode, 204)
})

test('the old URLs of a renamed page and of its history redirect to the new name', async (t) => {
  const app = await wiki.build(t)
  await put(app, 'a/b', { content: 'one' })
  await put(app, 'taken')
  assert.equal((await call(app, 'POST', '/pages/a%2Fb/rename', { to: 'taken' })).statusCode, 409)
  const renamed = await call(app, 'POST', '/pages/a%2Fb/rename', { to: 'c/d', author: 'Ana' })
  assert.deepEqual(
    [renamed.statusCode, renamed.headers.location, renamed.json()],
    [201, '/api/v1/pages/c%2Fd', { name: 'c/d', revision: 2, subpages: 0 }]
  )
  for (const rest of ['', '/revisions', '/revisions/1', '/difference?from=1&to=2']) {
    const { statusCode, headers } = await call(app, 'GET', `/pages/a%2Fb${rest}`)
    assert.deepEqual([statusCode, headers.location], [302, `/api/v1/pages/c%2Fd${rest}`])
    assert.equal((await get(app, String(headers.location))).statusCode, 200)
  }
})

test('a URL in a non-canonical spelling leads to the same resource, directly or by a redirect', async (t) => {
  const app = await wiki.build(t)
  await put(app, 'Old', { content: 'one', tags: ['x'] })
  await call(app, 'POST', '/pages/Old/rename', { to: 'New' })
  for (const rest of ['', '/revisions', '/revisions/1', '/revisions?limit=1', '/difference?from=1&to=2']) {
    const spellings = [
      `/api/v1/%70ages/Old${rest}`, `/%61pi/v1/pages/Old${rest}`, `/api/v1/pages/%4fld${rest}`,
      `/api/v1/pages/Old${rest.replace('revisions', '%72evisions').replace('difference', 'differenc%65')}`,
      `http://wiki.invalid/api/v1/pages/Old${rest}`
    ]
    for (const url of spellings) {
      const { statusCode, headers } = await get(app, url)
      assert.deepEqual([statusCode, headers.location], [302, `/api/v1/pages/New${rest}`], url)
    }
  }
  assert.equal((await get(app, '/api/v1/%70ages/Never/revisions')).statusCode, 404)
  assert.equal((await get(app, '/api/v1/pages/Old/%72evisions/9')).headers.location, '/api/v1/pages/New/revisions/9')
  for (const [url, location] of [
    ['/%77iki/New', '/wiki/New'], ['/wiki/%4eew', '/wiki/New'], ['/%77iki/Old', '/wiki/Old'],
    ['/%68istory/New?before=2', '/history/New?before=2'], ['/%72evision/New/1', '/revision/New/1'],
    ['/%72aw/New', '/raw/New'], ['/%64ifference/New?from=1&to=2', '/difference/New?from=1&to=2'],
    ['/%74ags/x', '/tags/x'], ['/%6cinks/New', '/links/New']
  ]) {
    const { statusCode, headers } = await get(app, url)
    assert.deepEqual([statusCode, headers.location], [301, location], url)
  }
  assert.equal((await get(app, '/%65dit/new')).statusCode, 200)
  for (const url of ['/%73earch?q=a', '/%63hanges', '/%63hanges.atom', '/%74ags', '/%77anted']) {
    assert.equal((await get(app, url)).statusCode, 200, url)
  }
})

test('old revisions can be read, compared and restored, also after a deletion', async (t) => {
  const app = await wiki.build(t)
  await put(app, 'a', { content: 'one\n', author: 'Ana', tags: ['x'] })
  await put(app, 'a', { content: 'two\n', author: 'Bor', tags: [] })
  const past = await call(app, 'GET', '/pages/a/revisions/1')
  assert.equal(past.headers['cache-control'], 'public, max-age=86400, immutable')
  assert.deepEqual([past.json().content, past.json().author, past.json().follows], ['one\n', 'Ana', null])
  const difference = await call(app, 'GET', '/pages/a/difference?from=1&to=2')
  assert.equal(difference.headers['cache-control'], 'public, max-age=86400, immutable')
  assert.deepEqual(difference.json().lines, [{ kind: 'removed', text: 'one' }, { kind: 'added', text: 'two' }])

  assert.deepEqual(
    (await call(app, 'POST', '/pages/a/revert', { revision: 1 })).json(),
    { name: 'a', revision: 3, created: false }
  )
  await call(app, 'DELETE', '/pages/a')
  assert.equal((await call(app, 'POST', '/pages/a/revert', { revision: 4 })).statusCode, 404, 'a deletion has no text')
  assert.equal((await call(app, 'POST', '/pages/a/revert', { revision: 1 })).statusCode, 201)
  assert.deepEqual((await call(app, 'GET', '/pages/a')).json().tags, ['x'])

  assert.deepEqual(
    (await walk(app, '/pages/a/revisions?limit=2')).map((part) => part.map(({ revision }) => revision)),
    [[5, 4], [3, 2], [1]]
  )
  assert.deepEqual(
    (await walk(app, '/changes?limit=1&author=Bor')).flat().map(({ name, revision }) => [name, revision]),
    [['a', 2]]
  )
  assert.deepEqual((await walk(app, '/changes?limit=2')).map((part) => part.length), [2, 2, 1])
  assert.equal((await walk(app, '/changes?limit=100&author=')).flat().length, 3)
})

test('every list and search is paginated, and the list of pages revalidates with its ETag', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['Alpha', 'beta', 'Gamma/alpha', 'delta', 'Epsilon']) {
    await put(app, name, {
      content: `word [one](/wiki/beta) [two](/wiki/missing%20${name.length})`,
      tags: ['all', name.toLowerCase().slice(0, 1)]
    })
  }
  await untilFound(app, 'word', 5)
  const names = async (/** @type {string} */ path) =>
    (await walk(app, path)).map((part) => part.map(({ name }) => name))
  assert.deepEqual(await names('/pages?limit=2'), [['Alpha', 'beta'], ['delta', 'Epsilon'], ['Gamma/alpha']])
  assert.deepEqual(await names('/pages?limit=1&q=alpha'), [['Alpha'], ['Gamma/alpha']])
  assert.deepEqual((await names('/search?limit=2&q=word')).map((part) => part.length), [2, 2, 1])
  assert.deepEqual(
    (await walk(app, '/search?limit=1&q=delta')).flat().map(({ name, excerpt }) => [name, excerpt.length > 0]),
    [['delta', true]]
  )
  assert.deepEqual(await names('/search?limit=2&q=+'), [[]])
  await untilCounted(app)
  assert.deepEqual(
    (await walk(app, '/tags?limit=2')).flat(),
    [['a', 1], ['all', 5], ['b', 1], ['d', 1], ['e', 1], ['g', 1]].map(([tag, pages]) => ({ tag, pages }))
  )
  assert.deepEqual(await names('/tags/ALL/pages?limit=4'), [['Alpha', 'beta', 'delta', 'Epsilon'], ['Gamma/alpha']])
  assert.deepEqual(
    await names('/pages/beta/backlinks?limit=2'),
    [['Alpha', 'beta'], ['delta', 'Epsilon'], ['Gamma/alpha']]
  )
  assert.deepEqual(await names('/orphaned?limit=3'), [['Alpha', 'delta', 'Epsilon'], ['Gamma/alpha']])
  assert.deepEqual((await walk(app, '/wanted?limit=1')).flat(), [
    { name: 'missing 5', sources: 2 },
    { name: 'missing 4', sources: 1 },
    { name: 'missing 7', sources: 1 },
    { name: 'missing 11', sources: 1 }
  ])

  const list = await call(app, 'GET', '/pages?limit=2')
  assert.equal(list.headers['cache-control'], 'public, no-cache')
  assert.equal(
    (await call(app, 'GET', '/pages?limit=2', undefined, { 'if-none-match': String(list.headers.etag) })).statusCode,
    304
  )
  await put(app, 'aaa')
  assert.equal(
    (await call(app, 'GET', '/pages?limit=2', undefined, { 'if-none-match': String(list.headers.etag) })).statusCode,
    200
  )
})

test('a cursor of another list or a forged cursor gets 400', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a', 'b', 'c']) await put(app, name, { tags: ['x'] })
  const { next_cursor: cursor } = (await call(app, 'GET', '/pages?limit=1')).json()
  assert.equal(
    (await call(app, 'GET', `/pages?limit=2&cursor=${cursor}`)).statusCode,
    200,
    'the limit may change from part to part'
  )
  for (const path of [
    '/pages?q=a&', '/tags?', '/tags/x/pages?', '/changes?', '/search?q=text&', '/pages/a/revisions?', '/orphaned?',
    '/wanted?'
  ]) {
    const refused = await call(app, 'GET', `${path}cursor=${cursor}`)
    assert.equal(refused.statusCode, 400, path)
    assert.match(refused.json().detail, /not one of this list/)
  }
  const [position, seal] = cursor.split('.')
  for (const forged of [
    '', 'x', '.', '.'.repeat(2_000), 'x'.repeat(2_001), `${position}.`, `.${seal}`, `eyIkZ3QiOiIifQ.${seal}`,
    `${position}.${seal}x`, '%00', '%FF%FE', 'null'
  ]) {
    for (const list of ['pages', 'changes', 'pages/a/revisions', 'orphaned']) {
      assert.equal((await call(app, 'GET', `/${list}?limit=1&cursor=${forged}`)).statusCode, 400, `${list} ${forged}`)
    }
  }
})

test('an invalid request gets a problem document (RFC 9457), even when it accepts HTML', async (t) => {
  const app = await wiki.build(t)
  await put(app, 'a')
  /** @type {[number, 'GET' | 'PUT' | 'POST' | 'DELETE', string, object?][]} */
  const cases = [
    [404, 'GET', '/nothing'],
    [404, 'GET', '/pages/none'],
    [404, 'GET', '/pages/a/revisions/9'],
    [404, 'GET', '/pages/none/revisions'],
    [404, 'GET', '/pages/a/b'],
    [405, 'POST', '/pages/a', {}],
    [405, 'DELETE', '/changes'],
    [400, 'GET', '/pages?limit=0'],
    [400, 'GET', '/pages?limit=101'],
    [400, 'GET', '/pages?limit=1e1'],
    [400, 'GET', '/pages?limit=-1'],
    [400, 'GET', '/pages?limit='],
    [400, 'GET', '/pages?limit=1&limit=2'],
    [400, 'GET', '/pages?q[$ne]=a'],
    [400, 'GET', '/pages?other=1'],
    [400, 'GET', '/pages?q=%00'],
    [400, 'GET', '/search'],
    [400, 'GET', '/pages/a/revisions/0'],
    [400, 'GET', '/pages/a/revisions/x'],
    [400, 'GET', '/pages/a/revisions/1e0'],
    [400, 'GET', '/pages/a/difference?from=1'],
    [400, 'GET', '/pages/%00'],
    [400, 'GET', '/pages/a%5Cb'],
    [400, 'GET', '/pages/%20'],
    [400, 'GET', '/pages/..%2F..%2Fetc'],
    [400, 'GET', '/pages/%zz'],
    [400, 'GET', '/pages/%ff'],
    [400, 'GET', '/tags/a%2Fb/pages'],
    [400, 'GET', `/tags/${'a'.repeat(201)}/pages`],
    [400, 'GET', `/pages/${'a'.repeat(201)}`],
    [400, 'PUT', '/pages/b', {}],
    [400, 'PUT', '/pages/b', { content: '' }],
    [400, 'PUT', '/pages/b', { content: 1 }],
    [400, 'PUT', '/pages/b', { content: { $gt: '' } }],
    [400, 'PUT', '/pages/b', { content: 'x', other: 1 }],
    [400, 'PUT', '/pages/b', { content: '\ud800' }],
    [400, 'PUT', '/pages/b', { content: 'x', tags: 'a,b' }],
    [400, 'PUT', '/pages/b', { content: 'x', tags: ['a/b'] }],
    [400, 'PUT', '/pages/b', { content: 'x', tags: [{}] }],
    [400, 'PUT', '/pages/b', { content: 'x', base_revision: '0' }],
    [400, 'PUT', '/pages/b', { content: 'x', base_revision: -1 }],
    [400, 'PUT', '/pages/b', { content: 'x', author: 'a\nb' }],
    [400, 'PUT', '/pages/stevec', { content: 'x' }],
    [400, 'PUT', '/pages/b', []],
    [400, 'POST', '/pages/a/rename', {}],
    [400, 'POST', '/pages/a/rename', { to: '..' }],
    [400, 'POST', '/pages/a/rename', { to: 'stevec' }],
    [404, 'POST', '/pages/none/rename', { to: 'b' }],
    [404, 'DELETE', '/pages/none'],
    [400, 'DELETE', '/pages/a?author=a&author=b'],
    [400, 'DELETE', '/pages/a?base_revision=x'],
    [404, 'POST', '/pages/a/revert', { revision: 9 }],
    [400, 'POST', '/pages/a/revert', { revision: '1' }],
    [400, 'POST', '/preview', {}],
    [413, 'POST', '/preview', { content: 'x'.repeat(1_048_577) }],
    [413, 'PUT', '/pages/b', { content: 'x'.repeat(4_000_000) }]
  ]
  for (const [status, method, path, payload] of cases) {
    const answer = await call(app, method, path, payload, BROWSER)
    assert.equal(
      answer.statusCode,
      status,
      `${method} ${path.slice(0, 60)} ${JSON.stringify(payload)?.slice(0, 60)}: ${answer.body}`
    )
    assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.json().status, status)
  }
  for (const type of ['text/plain', 'text/markdown', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const answer = await app.inject({
      method: 'PUT',
      url: '/api/v1/pages/b',
      headers: { 'content-type': type },
      payload: 'content=x'
    })
    assert.equal(answer.statusCode, 415, type)
  }
  for (const payload of ['{', '{"content":"x","__proto__":{}}', '']) {
    const answer = await app.inject({
      method: 'PUT',
      url: '/api/v1/pages/b',
      headers: { 'content-type': 'application/json' },
      payload
    })
    assert.equal(answer.statusCode, 400, payload)
  }
  assert.equal(
    (await call(app, 'PUT', '/pages/b', { content: 'x' }, { 'sec-fetch-site': 'cross-site' })).statusCode,
    403
  )
  assert.equal((await call(app, 'GET', '/pages/b')).statusCode, 404, 'no refused request wrote anything')
})
