import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** @type {import('./edge-helper.js').Script} */
const tagged = (request, response, count) => {
  const { pathname } = new URL(String(request.url), 'http://origin')
  response.setHeader('Cache-Control', 'max-age=60')
    .setHeader('Cache-Tag', `page, Page-${pathname.slice(1).replaceAll('/', '-')}`)
    .setHeader('ETag', '"1"')
    .end(`body ${count}`)
}
const PAGES = ['/a', '/b', '/b?q', '/dir/c']

/** @param {Awaited<ReturnType<typeof startEdge>>} edge */
const statuses = async (edge) => Object.fromEntries(
  await Promise.all(PAGES.map(async (url) => [url, (await edge.get(url)).cache]))
)

for (const [what, body, gone] of /** @type {[string, (host: string) => object, string[]][]} */ ([
  ['everything', () => ({ purge_everything: true }), PAGES],
  ['a URL', (host) => ({ files: [`http://${host}/b`] }), ['/b']],
  ['a URL with a query', (host) => ({ files: [`http://${host}/b?q`] }), ['/b?q']],
  ['a URL without the port', () => ({ files: ['https://127.0.0.1/a'] }), ['/a']],
  ['URLs as objects', (host) => ({ files: [{ url: `http://${host}/a` }, { url: `http://${host}/b` }] }), ['/a', '/b']],
  ['a tag', () => ({ tags: ['page'] }), PAGES],
  ['a tag in other letter case', () => ({ tags: ['PAGE-A', 'none'] }), ['/a']],
  ['a host', () => ({ hosts: ['127.0.0.1'] }), PAGES],
  ['a host that does not match', () => ({ hosts: ['127.0.0.2'] }), []],
  ['a prefix', (host) => ({ prefixes: [`${host}/dir`] }), ['/dir/c']],
  ['a prefix without the port', () => ({ prefixes: ['127.0.0.1/b'] }), ['/b', '/b?q']]
])) {
  test(`a purge of ${what} removes only matching responses`, async (t) => {
    const edge = await startEdge(t, tagged)
    await statuses(edge)
    const { status, answer } = await edge.purge(body(edge.host))
    assert.equal(status, 200)
    assert.deepEqual(
      { ...answer, result: typeof answer.result.id },
      { success: true, errors: [], messages: [], result: 'string' }
    )
    assert.deepEqual(
      await statuses(edge),
      Object.fromEntries(PAGES.map((url) => [url, gone.includes(url) ? 'MISS' : 'HIT']))
    )
  })

  test(`a soft purge of ${what} makes only matching responses stale`, async (t) => {
    const edge = await startEdge(t, tagged)
    await statuses(edge)
    assert.equal((await edge.purge({ ...body(edge.host), invalidate_cache: true })).status, 200)
    assert.deepEqual(
      await statuses(edge),
      Object.fromEntries(PAGES.map((url) => [url, gone.includes(url) ? 'EXPIRED' : 'HIT']))
    )
    const validators = gone.map((url) =>
      edge.arrived.filter((request) => request.url === url).at(-1)?.headers['if-none-match'])
    assert.deepEqual(validators, gone.map(() => '"1"'), 'the stored responses are still there, to be validated')
    assert.deepEqual(await statuses(edge), Object.fromEntries(PAGES.map((url) => [url, 'HIT'])))
  })
}

test('stale-while-revalidate applies to a response after a soft purge', async (t) => {
  const edge = await startEdge(
    t,
    (_request, response, count) => response.setHeader('Cache-Control', 'max-age=60, stale-while-revalidate=60')
      .end(`body ${count}`)
  )
  await edge.get('/')
  await edge.purge({ files: [`http://${edge.host}/`] }, { path: '/client/v4/zones/any/invalidate_cache' })
  const answer = await edge.get('/')
  assert.deepEqual([answer.cache, answer.body], ['UPDATING', 'body 1'])
})

test('the stale-while-revalidate window starts at the soft purge', async (t) => {
  const edge = await startEdge(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=60, stale-while-revalidate=1')
      .setHeader('Cache-Tag', String(request.url).slice(1))
      .end(`body ${count}`)
  })
  const purges = {
    '/file': { files: [`http://${edge.host}/file`] },
    '/tag': { tags: ['tag'] },
    '/prefix': { prefixes: [`${edge.host}/prefix`] }
  }
  for (const [url, body] of Object.entries(purges)) {
    await edge.get(url)
    await edge.purge(body, { path: '/client/v4/zones/any/invalidate_cache' })
  }
  await passing(2_050)
  for (const url of Object.keys(purges)) assert.equal((await edge.get(url)).cache, 'EXPIRED', url)
})

test('tokens/verify reports the token as active and refuses another one with 401', async (t) => {
  const edge = await startEdge(t, tagged)
  const { status, answer } = await edge.purge('', { method: 'GET', path: '/client/v4/user/tokens/verify' })
  assert.deepEqual([status, answer.success, answer.result.status], [200, true, 'active'])
  assert.equal(
    (await edge.purge('', { method: 'GET', path: '/client/v4/user/tokens/verify', token: 'other' })).status,
    401
  )
})

test('the control listener serves the same paths without the prefix /client/v4', async (t) => {
  const edge = await startEdge(t, tagged)
  assert.equal((await edge.purge('', { method: 'GET', path: '/user/tokens/verify' })).answer.result.status, 'active')
  await edge.get('/a')
  assert.equal((await edge.purge({ tags: ['page-a'] }, { path: '/zones/any/purge_cache' })).answer.success, true)
  assert.equal((await edge.get('/a')).cache, 'MISS')
})

test('the plan free refuses more than 100 items (400) and, except for URLs, more than 25 calls (429)', async (t) => {
  const edge = await startEdge(t, tagged, { plan: 'free' })
  assert.equal((await edge.purge({ tags: Array.from({ length: 101 }, (_item, index) => `t${index}`) })).status, 400)
  const calls = []
  for (let count = 0; count < 27; count++) calls.push((await edge.purge({ tags: ['x'] })).status)
  assert.deepEqual(calls, [...Array(25).fill(200), 429, 429])
  const { answer, headers } = await edge.purge({ purge_everything: true })
  assert.deepEqual([answer.success, answer.errors[0].code, headers['retry-after']], [false, 429, '60'])
  assert.equal((await edge.purge({ files: [`http://${edge.host}/a`] })).status, 200)
})

/** @type {[string, (edge: Awaited<ReturnType<typeof startEdge>>) => object][]} */
const EVERY_KIND = [
  ['everything', () => ({ purge_everything: true })],
  ['URL', (edge) => ({ files: [`http://${edge.host}/page`] })],
  ['tag', () => ({ tags: ['x'] })],
  ['host', () => ({ hosts: ['127.0.0.1'] })],
  ['prefix', (edge) => ({ prefixes: [`${edge.host}/pa`] })]
]

for (const [kind, body] of EVERY_KIND) {
  test(`a response requested before a purge is not served after it: ${kind}`, async (t) => {
    /** @type {(() => void)[]} */
    const held = []
    let hold = false
    const edge = await startEdge(t, (request, response, count) => {
      const answer = () => {
        response.setHeader('Cache-Control', 'max-age=60, stale-while-revalidate=60')
          .setHeader('Cache-Tag', 'x')
          .setHeader('ETag', '"1"')
        if (request.headers['if-none-match']) response.writeHead(304).end()
        else response.end(`${count} `.padEnd(request.headers['x-large'] ? 300_000 : 2))
      }
      if (hold) held.push(answer)
      else answer()
    }, { profile: 'rfc9111' })
    const purge = (/** @type {string} */ action) => edge.purge(
      body(edge),
      { path: `/client/v4/zones/any/${action}_cache` }
    )

    /**
     * Makes a fetch start before a purge and end after it.
     * @param {() => Promise<unknown>} begin
     * @param {string} what
     */
    const during = async (begin, what) => {
      hold = true
      const before = begin()
      assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS, 2), what)
      await purge('purge')
      hold = false
      held.pop()?.()
      await before
      const reached = edge.reached('/page')
      const after = await edge.get('/page')
      assert.deepEqual(
        [edge.reached('/page'), after.cache, after.body.trim()],
        [reached + 1, 'MISS', String(reached + 1)],
        what
      )
    }
    await during(() => edge.get('/page'), 'a fetch of a page that is not stored')
    await purge('purge')
    await during(() => edge.get('/page', { 'x-large': '1' }), 'a fetch of a large body')
    await purge('invalidate')
    await during(() => edge.get('/page', { 'cache-control': 'no-cache' }), 'a revalidation')
    await purge('invalidate')
    await during(() => edge.get('/page'), 'a background revalidation')
    await purge('invalidate')
    await during(() => edge.get('/page', {}, 'HEAD'), 'a HEAD')

    await purge('purge')
    hold = true
    const first = edge.get('/page')
    await waitUntil(() => held.length === 1, WAIT_MAX_MS, 2)
    await purge('invalidate')
    hold = false
    held.pop()?.()
    await first
    assert.equal((await edge.get('/page')).cache, 'UPDATING', 'a response requested before a soft purge is stale')
  })
}

test('under load, no request that starts after the response to a purge gets an older page', async (t) => {
  let version = 0
  const edge = await startEdge(t, (_request, response) => {
    const body = String(version)
    setTimeout(
      () => response.setHeader('Cache-Control', 'max-age=60').setHeader('Cache-Tag', 'all').end(body),
      Math.random() * 5
    )
  })
  let purged = 0
  let reads = 0
  const load = new AbortController()
  const reader = async () => {
    while (!load.signal.aborted) {
      const least = purged
      const { body } = await edge.get(`/${reads++ % 3}`)
      assert.ok(Number(body) >= least, `${body} is older than ${least}`)
    }
  }
  const readers = Array.from({ length: 8 }, reader)
  const kinds = [
    () => ({ purge_everything: true }),
    () => ({ tags: ['all'] }),
    () => ({ files: ['/0', '/1', '/2'].map((path) => `http://${edge.host}${path}`) }),
    () => ({ hosts: ['127.0.0.1'] }),
    () => ({ prefixes: [`${edge.host}/`] })
  ]
  const hasRead = () => reads > 100
  for (let round = 1; round <= 40 || (!hasRead() && round < 10_000); round++) {
    version = round
    assert.equal((await edge.purge(kinds[round % kinds.length]())).status, 200)
    purged = round
  }
  load.abort()
  await Promise.all(readers)
  assert.ok(hasRead(), String(reads))
})

test('a reload keeps stored responses and purges; a cold start empties the cache', async (t) => {
  const edge = await startEdge(t, tagged)
  await statuses(edge)
  await edge.purge({ tags: ['page-a'] })
  await edge.reload()
  assert.deepEqual(await statuses(edge), { '/a': 'MISS', '/b': 'HIT', '/b?q': 'HIT', '/dir/c': 'HIT' })
  await edge.purge({ tags: ['page-b'] })
  assert.equal((await edge.get('/b')).cache, 'MISS')
  await edge.restart({ warm: false })
  assert.deepEqual(await statuses(edge), Object.fromEntries(PAGES.map((url) => [url, 'MISS'])))
})
