import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'
import { runLua } from './lua.js'

/** Sends the field that the query names, as it is. @type {import('./edge-helper.js').Script} */
const grouped = (request, response) => {
  const { searchParams } = new URL(String(request.url), 'http://origin')
  response.statusCode = Number(searchParams.get('status') ?? 200)
  response.setHeader('Cache-Control', 'max-age=600')
  const lines = searchParams.getAll('groups')
  if (lines.length > 0) response.setHeader('Cache-Groups', lines)
  const invalid = searchParams.getAll('invalid')
  if (invalid.length > 0) response.setHeader('Cache-Group-Invalidation', invalid)
  response.end('body')
}

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/** @param {string} groups */
const member = (groups) => `/member?groups=${encodeURIComponent(groups)}`

/** @param {Edge} edge @param {string} groups @param {{method?: string, status?: number, host?: string}} [options] */
async function invalidate (edge, groups, { method = 'POST', status = 200, host = edge.host } = {}) {
  await edge.get(`/edit?status=${status}&invalid=${encodeURIComponent(groups)}`, { host }, method)
}

/** @param {Edge} edge @param {string} url @param {string} [host] */
const cacheOf = async (edge, url, host = edge.host) => (await edge.get(url, { host })).cache

test('an unsafe request invalidates the stored responses of the groups that its response names', async (t) => {
  const edge = await startEdge(t, grouped, { profile: 'rfc9111' })
  const [one, both, other] = ['"a"', '"b", "a"', '"b"'].map(member)
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    for (const url of [one, both, other, '/without']) await cacheOf(edge, url)
    await invalidate(edge, '"a", "unknown"', { method })
    const found = await Promise.all([one, both, other, '/without'].map((url) => cacheOf(edge, url)))
    assert.deepEqual(found, ['MISS', 'MISS', 'HIT', 'HIT'], method)
  }
})

test('an invalid group does not invalidate the other groups of its responses', async (t) => {
  const edge = await startEdge(t, grouped, { profile: 'rfc9111' })
  for (const url of [member('"a", "b"'), member('"b"')]) await cacheOf(edge, url)
  await invalidate(edge, '"a"')
  assert.equal(await cacheOf(edge, member('"b"')), 'HIT')
})

for (const [what, groups, options] of /** @type {[string, string, object][]} */ ([
  ['a response to a GET', '"a"', { method: 'GET' }],
  ['a response to OPTIONS', '"a"', { method: 'OPTIONS' }],
  ['an error', '"a"', { status: 500 }],
  ['a response of another host', '"a"', { host: 'other.example' }],
  ['a group in capitals', '"A"', {}],
  ['a token instead of a string', 'a', {}],
  ['a list with a mistake', '"a", "b', {}],
  ['an inner list', '("a")', {}],
  ['an empty field', '', {}]
])) {
  test(`${what} invalidates nothing`, async (t) => {
    const edge = await startEdge(t, grouped, { profile: 'rfc9111' })
    await cacheOf(edge, member('"a"'))
    await invalidate(edge, groups, options)
    assert.equal(await cacheOf(edge, member('"a"')), 'HIT')
  })
}

test('a group is not a tag of the purge API, and a tag is not a group', async (t) => {
  const edge = await startEdge(t, grouped, { profile: 'rfc9111' })
  await cacheOf(edge, member('"a"'))
  await edge.purge({ tags: ['a'] })
  assert.equal(await cacheOf(edge, member('"a"')), 'HIT')
})

test('groups count in several lines, with parameters, escapes and any length', async (t) => {
  const edge = await startEdge(t, grouped, { profile: 'rfc9111' })
  const long = `"${'x'.repeat(2_000)}"`
  const url = `/?groups=${encodeURIComponent('"a \\"b\\\\";x=1')}&groups=${encodeURIComponent(`"c",\t${long}`)}`
  for (const group of ['"a \\"b\\\\"', '"c";y', long]) {
    await cacheOf(edge, url)
    assert.equal(await cacheOf(edge, url), 'HIT')
    await invalidate(edge, group)
    assert.equal(await cacheOf(edge, url), 'MISS', group.slice(0, 20))
  }
})

test('each of a thousand groups counts, and a response with more is void with any group', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    const count = Number(/\d+/.exec(String(request.url)))
    const groups = Array.from({ length: count }, (_, index) => `"g${index}"`).join()
    response.setHeader('Cache-Control', 'max-age=600')
    response.setHeader(request.method === 'GET' ? 'Cache-Groups' : 'Cache-Group-Invalidation', groups).end('body')
  }, { profile: 'rfc9111' })
  await edge.get('/1000')
  await edge.get('/1500')
  await edge.get('/1', {}, 'POST')
  assert.deepEqual([await cacheOf(edge, '/1000'), await cacheOf(edge, '/1500')], ['MISS', 'MISS'])
  await edge.get('/3', {}, 'POST')
  assert.deepEqual([await cacheOf(edge, '/1000'), await cacheOf(edge, '/1500')], ['MISS', 'MISS'])
  await edge.get('/0')
  await edge.get('/1500', {}, 'POST')
  assert.equal(await cacheOf(edge, '/0'), 'MISS', 'too many groups purge the whole host')
})

test('a response that was requested before its group became invalid is not stored', async (t) => {
  /** @type {(() => void)[]} */
  const held = []
  const edge = await startEdge(t, (request, response, count) => {
    if (request.method === 'GET' && count === 1) held.push(() => grouped(request, response, count))
    else grouped(request, response, count)
  }, { profile: 'rfc9111' })
  const first = edge.get(member('"a"'))
  await waitUntil(() => held.length === 1, WAIT_MAX_MS)
  await invalidate(edge, '"a"')
  held[0]()
  await first
  assert.equal(await cacheOf(edge, member('"a"')), 'MISS')
  assert.equal(await cacheOf(edge, member('"a"')), 'HIT')
})

test('a 304 without Cache-Groups leaves the groups, one with it replaces them', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=600').setHeader('ETag', '"1"')
    if (request.method !== 'GET') response.setHeader('Cache-Group-Invalidation', '"old"')
    else if (count !== 2) response.setHeader('Cache-Groups', count === 1 ? '"old"' : '"new"')
    response.statusCode = request.headers['if-none-match'] ? 304 : 200
    response.end(response.statusCode === 200 ? 'body' : undefined)
  }, { profile: 'rfc9111' })
  const validate = async () => (await edge.get('/', { 'cache-control': 'no-cache' })).cache
  await edge.get('/')
  assert.equal(await validate(), 'REVALIDATED')
  await edge.get('/edit', {}, 'POST')
  assert.equal(await cacheOf(edge, '/'), 'MISS')
  assert.equal(await validate(), 'REVALIDATED')
  await edge.get('/edit', {}, 'POST')
  assert.equal(await cacheOf(edge, '/'), 'HIT')
})

test('cloudflare ignores groups, and passes the headers on', async (t) => {
  const edge = await startEdge(t, grouped)
  await cacheOf(edge, member('"a"'))
  await invalidate(edge, '"a"')
  const { cache, headers } = await edge.get(member('"a"'))
  assert.deepEqual([cache, headers['cache-groups']], ['HIT', '"a"'])
})

test('only a well-formed list of strings is read', () => {
  /** @type {[field: string, strings: string[] | null][]} */
  const cases = [
    ['', []], ['  ', []], ['"a";x;y=2,"a"', ['a', 'a']], [' "a" , "b" ', ['a', 'b']], ['""', ['']],
    ...['"a",', ',"a"', '"a" "b"', '"a"x', 'a', '1', '"a", b', '("a")', '"\\x"', '"ä"', '"a', '"a";X', '"a";x=']
      .map((field) => /** @type {[string, null]} */ ([field, null]))
  ]
  const found = runLua(`
    local result = {}
    for _, field in ipairs(input) do
      local strings = require("structured_list").strings(field)
      result[#result + 1] = strings and table.concat(strings, "|") .. "#" .. #strings or "void"
    end
    return result
  `, cases.map(([field]) => field))
  const expected = cases.map(([, strings]) => strings ? `${strings.join('|')}#${strings.length}` : 'void')
  assert.deepEqual(found, expected)
})
