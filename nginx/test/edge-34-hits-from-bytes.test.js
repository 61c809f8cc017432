import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { passing, startEdge } from './edge-helper.js'

/** The edge answers a hit from the bytes on disk when it can. Without that, it has to say the same. */
const WITHOUT_BYTES = /** @type {[string, string, string][]} */ ([
  ['fast_path.lua', 'if answer_bytes(request, var, place, key_bytes, hash) then', 'if false then']
])
/** Then these say nothing of what the others do. */
const BYTES_ALONE = /** @type {[string, string, string][]} */ ([
  ['fast_path.lua', 'return answer_entry(', 'error("not from bytes") return answer_entry(']
])
/** Without responses in memory but the last, a HIT is one from disk. @type {[string, string, string]} */
const NO_MEMORY = ['store.lua', 'PARSED_BYTES_MAX = 2 * 1024 * 1024', 'PARSED_BYTES_MAX = 0']
const OWN = ['date', 'cf-ray', 'age', 'connection', 'keep-alive']

/** @param {number} count */
const manyFields = (count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`X-Field-${at}`, `${at}`]))

/** @type {Record<string, Record<string, string | string[]>>} */
const FIELDS = {
  '/plain': { ETag: '"1"', 'Content-Type': 'text/plain; charset=utf-8' },
  '/none': {},
  '/empty-value': { 'X-Empty': '', 'X-After': 'a' },
  '/tags': { 'Cache-Tag': 'one,two', 'Content-Language': 'en' },
  '/groups': { 'Cache-Groups': '"one", "two"', 'X-After': 'b' },
  '/cookies-of-another-kind': { Link: ['</a>; rel=preload', '</b>; rel=preload'], 'X-After': 'c' },
  '/revision': { 'Page-Revision': '0123456789abcdef01234567', 'X-After': 'd' },
  '/vary': { Vary: 'Accept-Encoding', 'X-After': 'e' },
  '/bytes-of-latin-1': { 'X-Name': 'caf\u00e9', 'X-After': 'f' },
  '/most-fields': manyFields(24),
  '/more-fields-than-the-fast-path-sets': manyFields(60),
  '/no-vary-search': { 'No-Vary-Search': 'params=("utm")' },
  '/with-cache-status': { 'Cache-Status': 'origin; hit' },
  '/with-a-long-cache-status': { 'Cache-Status': `origin; detail=${'a'.repeat(2_000)}` },
  '/longer-than-a-cache-counts': { 'Cache-Control': 'public', Expires: 'Fri, 31 Dec 9999 23:59:59 GMT' },
  '/404': {},
  '/301': { Location: '/elsewhere' },
  '/204': {}
}

/** @type {import('./edge-helper.js').Script} */
const script = (request, response) => {
  const url = request.url ?? ''
  response.setHeader('Cache-Control', 'max-age=600')
  for (const [name, value] of Object.entries(FIELDS[url] ?? {})) response.setHeader(name, value)
  const status = Number(/^\/(\d+)$/.exec(url)?.[1] ?? 200)
  response.writeHead(status)
  response.end(status === 204 ? undefined : `the body of ${url}`)
}

/** @param {import('./edge-helper.js').Answer} answer */
const seen = ({ status, body, cache, headers }) => ({
  status, body, cache, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name)))
})

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  test(`a hit from bytes is the same response as one from a decoded head (${profile})`, async (t) => {
    const start = (/** @type {[string, string, string][]} */ edits) => startEdge(t, script, { profile, edits })
    const [edge, other] = await Promise.all([start([]), start(WITHOUT_BYTES)])
    for (const url of Object.keys(FIELDS)) {
      for (const each of [edge, other]) await each.get(url)
      const [answer, expected] = [seen(await edge.get(url)), seen(await other.get(url))]
      assert.equal(answer.cache, 'HIT', url)
      if (answer.headers['cache-status']) {
        for (const each of [answer, expected]) {
          each.headers['cache-status'] = String(each.headers['cache-status']).replace(/ttl=\d+/, 'ttl=N')
        }
      }
      assert.deepEqual(answer, expected, url)
      const logged = (await edge.logged(url)).page_revision
      assert.equal(logged, (await other.logged(url)).page_revision, url)
      assert.equal(logged, FIELDS[url]['Page-Revision'] ?? '', url)
    }
  })
}

test('a plain hit is answered from bytes', async (t) => {
  const edge = await startEdge(t, script, { edits: BYTES_ALONE })
  for (const url of ['/plain', '/tags', '/revision', '/404', '/301']) {
    await edge.get(url)
    const { cache, body } = await edge.get(url)
    assert.deepEqual([cache, body], ['HIT', `the body of ${url}`])
  }
})

test('what a 304 has confirmed is answered from bytes, with the head of the 304', async (t) => {
  const edge = await startEdge(t, ({ headers }, response, count) => {
    response.setHeader('Cache-Control', count === 1 ? 'max-age=1' : 'max-age=600').setHeader('ETag', '"1"')
      .setHeader('X-Count', count)
    if (headers['if-none-match']) response.writeHead(304)
    response.end(headers['if-none-match'] ? undefined : 'the body')
  }, {
    edits: [[
      'fast_path.lua',
      'return answer_entry(',
      `if store.get(text_of(key_buffer, key_bytes), places.text(place)).lifetime_s > 1 then error("not from bytes") end
      return answer_entry(`
    ]]
  })
  await edge.get('/')
  await passing(1_100)
  assert.equal((await edge.get('/')).cache, 'REVALIDATED')
  const { cache, body, headers } = await edge.get('/')
  assert.deepEqual([cache, body, headers['x-count']], ['HIT', 'the body', '2'])
})

test('a compressed form, once made, is answered from bytes, and the response as it is, too', async (t) => {
  const text = 'the same text again and again. '.repeat(100)
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=600').setHeader('Content-Type', 'text/html').setHeader('ETag', '"1"')
    response.setHeader('Accept-Ranges', 'bytes').end(text)
  }, {
    workers: 1,
    compression: true,
    edits: [[
      'fast_path.lua',
      'return answer_entry(',
      `if popularity.of(text_of(key_buffer, key_bytes)) > 2 then error("not from bytes") end
      return answer_entry(`
    ]]
  })
  const encoded = { 'accept-encoding': 'gzip' }
  assert.deepEqual([(await edge.get('/')).cache, (await edge.get('/', encoded)).cache], ['MISS', 'HIT'])
  for (let time = 0; time < 3; time++) {
    const { headers } = await edge.get('/', encoded)
    assert.deepEqual(
      [headers['content-encoding'], headers.etag, headers['accept-ranges'], Number(headers['content-length']) < 200],
      ['gzip', 'W/"1"', undefined, true]
    )
    const plain = await edge.get('/')
    assert.deepEqual(
      [plain.headers['content-encoding'], plain.headers.etag, plain.headers['accept-ranges'], plain.body],
      [undefined, '"1"', 'bytes', text]
    )
  }
})

for (const [what, purge] of /** @type {[string, object][]} */ ([
  ['its URL', { files: ['http://example.com/tags'] }],
  ['its tag', { tags: ['two'] }],
  ['its host', { hosts: ['example.com'] }],
  ['its prefix', { prefixes: ['example.com/t'] }],
  ['everything', { purge_everything: true }]
])) {
  test(`after a purge of ${what} there is no hit, and the next response has one`, async (t) => {
    const edge = await startEdge(t, script)
    const cacheOf = async (/** @type {string} */ url) => (await edge.get(url, { host: 'example.com' })).cache
    const [url, other] = ['/tags', '/other']
    assert.deepEqual([await cacheOf(url), await cacheOf(url), await cacheOf(other)], ['MISS', 'HIT', 'MISS'])
    assert.equal((await edge.purge({ tags: ['another'] })).status, 200)
    assert.equal(await cacheOf(url), 'HIT', 'another purge costs a second look, no more')
    assert.equal((await edge.purge(purge)).status, 200)
    assert.deepEqual([await cacheOf(url), await cacheOf(url)], ['MISS', 'HIT'])
  })
}

test('hosts, and keys that are the beginning of others, do not share hits', async (t) => {
  const edge = await startEdge(t, ({ headers, url }, response) => {
    response.setHeader('Cache-Control', 'max-age=600').end(`${headers.host}${url}`)
  }, { edits: BYTES_ALONE })
  const hosts = ['example.com', 'example.org', 'EXAMPLE.com', 'example.co']
  for (let time = 0; time < 3; time++) {
    for (const host of hosts) {
      for (const url of ['/', '/a', '/a?b', `/${'long/'.repeat(1_200)}`]) {
        const { body, status } = await edge.get(url, { host })
        assert.deepEqual([status, body.toLowerCase()], [200, `${host}${url}`.toLowerCase()])
      }
    }
  }
  assert.equal((await edge.raw('GET / HTTP/1.1\r\nConnection: close\r\n\r\n')).split(' ')[1], '400')
})

test('a request line that names another host than Host is refused, also for what is stored', async (t) => {
  const edge = await startEdge(t, script)
  for (let time = 0; time < 2; time++) await edge.get('/plain', { host: 'example.com' })
  for (const [target, status] of /** @type {[string, string][]} */ ([
    ['http://example.com/plain', '200'], ['http://example.com:81/plain', '400'], ['http://example.org/plain', '400']
  ])) {
    const answer = await edge.raw(`GET ${target} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n`)
    assert.equal(answer.split(' ')[1], status, target)
  }
})

/** Where numbers are in a head, see lua/head.lua. */
const [TAGS, NAMES, STRINGS, LENGTHS] = [96, 104, 108, 112]
for (const [what, damage] of /** @type {[string, (head: Buffer) => void][]} */ ([
  ['the length of a value', (head) => {
    const last = LENGTHS + 4 * (head.readUInt32LE(NAMES) + head.readUInt32LE(STRINGS) - 1)
    head.writeUInt32LE(head.readUInt32LE(last) + 3_000, last)
  }],
  ['the length of a value, by 2 GB', (head) => {
    const last = LENGTHS + 4 * (head.readUInt32LE(NAMES) + head.readUInt32LE(STRINGS) - 1)
    head.writeUInt32LE(head.readUInt32LE(last) + 2 ** 31, last)
  }],
  ['the number of its tags', (head) => {
    for (const at of [TAGS, STRINGS]) head.writeUInt32LE(head.readUInt32LE(at) + 2 ** 28, at)
  }]
])) {
  test(`a stored head that is damaged in ${what} is not sent, and ends no worker`, async (t) => {
    const edge = await startEdge(t, script, { workers: 1, edits: [NO_MEMORY] })
    for (const url of ['/tags', '/tags', '/plain']) await edge.get(url)
    const folder = path.join(edge.directory, 'answers')
    const files = readdirSync(folder).filter((name) => /^\d+$/.test(name)).map((name) => path.join(folder, name))
    for (const file of files) {
      const bytes = readFileSync(file)
      damage(bytes)
      writeFileSync(file, bytes, { flag: 'r+' })
    }
    assert.ok(files.length > 0)
    const workers = edge.workers()
    const answer = await edge.get('/tags')
    assert.deepEqual([answer.cache, answer.body], ['MISS', 'the body of /tags'])
    assert.deepEqual(edge.workers(), workers)
  })
}

test('a hit from bytes ends with the lifetime, and its Age grows', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=602').setHeader('Age', '600').end('body')
  })
  await edge.get('/')
  const ages = []
  let last = await edge.get('/')
  for (let time = 0; time < 400 && last.cache === 'HIT'; time++) {
    ages.push(Number(last.headers.age))
    await new Promise((resolve) => setTimeout(resolve, 10))
    last = await edge.get('/')
  }
  assert.ok(ages.every((age) => age >= 600 && age < 602), ages.join())
  assert.equal(last.cache, 'EXPIRED')
})
