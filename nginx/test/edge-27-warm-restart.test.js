import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const STANDARD = { profile: /** @type {const} */ ('rfc9111') }
const LARGE_BYTES = 300_000

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/** @type {import('./edge-helper.js').Script} */
const page = (request, response, count) => {
  const { pathname, searchParams } = new URL(String(request.url), 'http://origin')
  response.setHeader('Cache-Control', `max-age=${searchParams.get('age') ?? 600}`).setHeader('ETag', '"1"')
    .setHeader('Cache-Tag', `page, ${pathname.slice(1).replaceAll('/', '-')}`)
  if (pathname === '/vary') response.setHeader('Vary', 'Accept-Language')
  if (pathname === '/gone' && count > 1) response.setHeader('Cache-Control', 'no-store')
  if (pathname === '/gone' && request.headers['if-none-match']) response.statusCode = 200
  const text = `${pathname} ${request.headers['accept-language'] ?? ''} ${count}`
  response.end(pathname === '/large' ? text.padEnd(LARGE_BYTES, '.') : text)
}

/** @param {Edge} edge @param {string[]} urls */
async function statusesOf (edge, urls) {
  const all = []
  for (const url of urls) all.push((await edge.get(url)).cache)
  return all
}

/** @param {Edge} edge */
const answersOf = (edge) => path.join(edge.directory, 'answers')

/** The state is written shortly after the start. @param {Edge} edge */
const untilNamed = async (edge) =>
  assert.ok(await waitUntil(() => existsSync(path.join(answersOf(edge), 'current')), WAIT_MAX_MS), edge.errors())

for (const [how, again] of /** @type {[string, (edge: Edge) => Promise<void>][]} */ ([
  ['a stop and a start', (edge) => edge.restart()],
  ['a kill -9 of all its processes', (edge) => edge.crash()]
])) {
  test(`after ${how} the cache has what it had: small and large bodies, variants, ages`, async (t) => {
    const edge = await startEdge(t, page, STANDARD)
    await untilNamed(edge)
    const urls = ['/a', '/b?q=1', '/large']
    assert.deepEqual(await statusesOf(edge, urls), ['MISS', 'MISS', 'MISS'])
    const large = (await edge.get('/large')).body
    for (const language of ['sl', 'de']) await edge.get('/vary', { 'Accept-Language': language })
    // Until the clock shows another second: Age has whole seconds.
    assert.ok(await waitUntil(async () => Number((await edge.get('/a')).age) >= 1, WAIT_MAX_MS))

    for (let times = 1; times <= 2; times++) {
      await again(edge)
      await untilNamed(edge)
      const first = await edge.get('/a')
      assert.deepEqual([first.cache, first.body, Number(first.age) >= 1], ['HIT', '/a  1', true])
      assert.deepEqual(await statusesOf(edge, urls), ['HIT', 'HIT', 'HIT'])
      assert.equal((await edge.get('/large')).body, large)
      assert.equal((await edge.get('/large', { Range: 'bytes=1-3' })).body, large.slice(1, 4))
      for (const language of ['sl', 'de']) {
        const { cache, body } = await edge.get('/vary', { 'Accept-Language': language })
        assert.deepEqual([cache, body.split(' ')[1]], ['HIT', language])
      }
      assert.equal((await edge.get('/a', { 'If-None-Match': '"1"' })).status, 304)
    }
    const french = await edge.get('/vary', { 'Accept-Language': 'fr' })
    assert.equal(french.cache, 'MISS', 'what was not there is not there')
    assert.doesNotMatch(edge.errors(), /\[(error|alert|crit|emerg)\]/)
  })

  test(`after ${how} what was purged is gone, and what is purged later is found`, async (t) => {
    const edge = await startEdge(t, page, STANDARD)
    await untilNamed(edge)
    const urls = ['/kept', '/url', '/tag', '/dir/prefix', '/soft', '/soft-tag']
    await statusesOf(edge, urls)
    const { host } = edge
    for (const body of [
      { files: [`http://${host}/url`] },
      { tags: ['tag'] },
      { prefixes: [`${host}/dir`] },
      { files: [`http://${host}/soft`], invalidate_cache: true },
      { tags: ['soft-tag'], invalidate_cache: true }
    ]) {
      assert.equal((await edge.purge(body)).status, 200)
    }
    await again(edge)
    assert.deepEqual(await statusesOf(edge, urls), ['HIT', 'MISS', 'MISS', 'MISS', 'EXPIRED', 'EXPIRED'])
    await again(edge)
    assert.deepEqual(await statusesOf(edge, urls), urls.map(() => 'HIT'))

    await edge.purge({ tags: ['page'] })
    assert.deepEqual(await statusesOf(edge, urls), urls.map(() => 'MISS'))
    await edge.purge({ purge_everything: true })
    await again(edge)
    assert.deepEqual(await statusesOf(edge, urls), urls.map(() => 'MISS'))
  })
}

test('a stored response that the origin has withdrawn does not come back with a restart', async (t) => {
  const edge = await startEdge(t, page, STANDARD)
  await untilNamed(edge)
  assert.equal((await edge.get('/gone?age=600')).cache, 'MISS')
  assert.equal((await edge.get('/gone?age=600', { 'Cache-Control': 'no-cache' })).body, '/gone  2')
  await edge.get('/posted')
  await edge.get('/posted', {}, 'POST', 'x')
  await edge.crash()
  assert.deepEqual(await statusesOf(edge, ['/gone?age=600', '/posted']), ['BYPASS', 'MISS'])
})

test('invalidated groups, and purges of responses to several queries, survive a restart', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=600').setHeader('No-Vary-Search', 'params=("from")')
    if (request.method === 'POST') response.setHeader('Cache-Group-Invalidation', '"gone"')
    else response.setHeader('Cache-Groups', request.url === '/grouped' ? '"gone"' : '"kept"')
    response.end(`${request.url} ${count}`)
  }, STANDARD)
  await untilNamed(edge)
  await statusesOf(edge, ['/grouped', '/other', '/query?from=a', '/purged?from=a'])
  assert.equal((await edge.get('/anything', {}, 'POST', 'x')).status, 200)
  await edge.crash()
  assert.deepEqual(await statusesOf(edge, ['/grouped', '/other']), ['MISS', 'HIT'])
  // Which queries are equal is learned again from the first response of a path.
  for (const url of ['/query?from=a', '/purged?from=a']) {
    await edge.get(url)
    assert.equal((await edge.get(url.replace('=a', '=b'))).cache, 'HIT', url)
  }
  await edge.purge({ files: [`http://${edge.host}/purged?from=c`] })
  await edge.crash()
  assert.equal((await edge.get('/purged?from=a')).cache, 'MISS')
})

test('what is stored is not used by other rules, for another origin, or without the option', async (t) => {
  const edge = await startEdge(t, page, STANDARD)
  await untilNamed(edge)
  const isKept = async () => (await edge.get('/a')).cache === 'HIT'
  const origin = { addresses: ['127.0.0.1'], port: edge.originPort, host: 'localhost', tls: false }
  for (const [changed, expected] of /** @type {[Partial<import('@stevec/nginx').LoneEdgeRole>, boolean][]} */ ([
    [{}, true], [{ profile: 'cloudflare' }, false], [{}, true], [{ defaultTtls: false }, false], [{ origin }, false],
    [{}, true], [{ warm: false }, false], [{ warm: true }, false], [{}, true]
  ])) {
    await edge.get('/a')
    await edge.restart(changed)
    assert.equal(await isKept(), expected, JSON.stringify(changed))
    if (changed.warm !== false) await untilNamed(edge)
  }
})

/** @param {Edge} edge @param {'state' | 'journal'} kind @returns {number} the number of the newest */
const newestOf = (edge, kind) => Math.max(...readdirSync(answersOf(edge)).flatMap((name) =>
  name.startsWith(`${kind}-`) ? [Number(name.slice(kind.length + 1))] : []))

/** @param {Edge} edge @param {'state' | 'journal'} kind */
const newest = (edge, kind) => path.join(answersOf(edge), `${kind}-${newestOf(edge, kind)}`)

for (const [what, damage, kept] of /** @type {[string, (edge: Edge) => void, boolean][]} */ ([
  ['half a record at its end', (edge) => appendFileSync(newest(edge, 'journal'), 'i 30 20 0 123\nhalf'), true],
  ['half a line at its end', (edge) => appendFileSync(newest(edge, 'journal'), 'i 3'), true],
  ['other text at its end', (edge) => appendFileSync(newest(edge, 'journal'), 'x'.repeat(500)), false],
  ['a record with a wrong checksum', (edge) => appendFileSync(newest(edge, 'journal'), 'i 1 1 0 1\nab\n'), false],
  ['a state that ends early', (edge) => truncateSync(newest(edge, 'state'), 20), false],
  ['no state', (edge) => writeFileSync(path.join(answersOf(edge), 'current'), '77'), false],
  ['no number', (edge) => writeFileSync(path.join(answersOf(edge), 'current'), '../../etc/passwd'), false]
])) {
  test(`a journal with ${what} leaves ${kept ? 'what is before' : 'an empty cache'}`, async (t) => {
    let isDamaged = false
    const edge = await startEdge(t, page, {
      ...STANDARD,
      // Called at each start, after the one before has ended.
      configure (text) {
        if (isDamaged) damage(edge)
        return text
      }
    })
    await untilNamed(edge)
    await edge.get('/a')
    await edge.get('/large')
    isDamaged = true
    await edge.crash()
    isDamaged = false
    assert.deepEqual(await statusesOf(edge, ['/a', '/large']), kept ? ['HIT', 'HIT'] : ['MISS', 'MISS'])
    assert.deepEqual(await statusesOf(edge, ['/a', '/large']), ['HIT', 'HIT'])
    await untilNamed(edge)
    await edge.crash()
    assert.deepEqual(await statusesOf(edge, ['/a', '/large']), ['HIT', 'HIT'])
  })
}

test('the journal stays small whatever happens, and a purge of its last moment holds', async (t) => {
  const edge = await startEdge(t, page, {
    ...STANDARD, edits: [['journal.lua', 'local BYTES_MIN = 4 * 1024 * 1024', 'local BYTES_MIN = 64 * 1024']]
  })
  await untilNamed(edge)
  await edge.get('/a')
  const files = Array.from({ length: 2_000 }, (_, number) => `http://${edge.host}/${number}/${'x'.repeat(100)}`)
  for (let call = 0; call < 5; call++) {
    await edge.purge({ prefixes: files.map((url) => url.slice(7)) })
    await statusesOf(edge, Array.from({ length: 20 }, (_, number) => `/page-${call}-${number}`))
  }
  assert.ok(newestOf(edge, 'journal') > 2)
  const settled = () => readdirSync(answersOf(edge)).filter((name) => /^(state|journal)-/.test(name)).length === 2
  assert.ok(await waitUntil(settled, WAIT_MAX_MS), readdirSync(answersOf(edge)).join())
  await edge.purge({ files: [`http://${edge.host}/page-4-0`] })
  await edge.crash()
  assert.deepEqual(await statusesOf(edge, ['/a', '/page-4-0', '/page-4-1']), ['HIT', 'MISS', 'HIT'])
  assert.doesNotMatch(readFileSync(path.join(edge.directory, 'error.log'), 'utf8'), /\[(error|alert|crit|emerg)\]/)
})
