import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { render } from '@stevec/nginx'
import { cacheStatus, startRole } from './helper.js'

describe('the control listener', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let edge
  before(async () => {
    edge = await startRole(
      'edge',
      (_incoming, response) => response.setHeader('Cache-Control', 'public, max-age=60').end('page')
    )
  })
  after(() => edge.stop())

  /**
   * @param {{path?: string, method?: string, token?: string, body?: string}} options
   */
  const call = async ({
    path = '/client/v4/zones/any/purge_cache',
    method = 'POST',
    token = edge.control.token,
    body = '{"purge_everything":true}'
  }) => {
    const response = await fetch(`${edge.control.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      body: method === 'GET' ? undefined : body
    })
    return { status: response.status, answer: /** @type {any} */ (await response.json()) }
  }

  test('empties the cache for every request that follows, in the form of Cloudflare\'s API', async () => {
    const page = `${edge.url('wiki.localhost')}/page`
    await cacheStatus(page)
    assert.equal(await cacheStatus(page), 'HIT')
    const { status, answer } = await call({})
    assert.equal(status, 200)
    assert.deepEqual({ ...answer, result: null }, { success: true, errors: [], messages: [], result: null })
    assert.equal(typeof answer.result.id, 'string')
    assert.equal(await cacheStatus(page), 'MISS')
  })

  for (const [what, options, expected] of /** @type {[string, Parameters<typeof call>[0], number][]} */ ([
    ['a wrong token', { token: 'wrong' }, 401],
    ['another path', { path: '/purge' }, 404],
    ['another method', { method: 'GET' }, 405],
    ['a body that is not JSON', { body: '{' }, 400],
    ['a body that is no object', { body: '7' }, 400],
    ['an empty body', { body: '' }, 400],
    ['a purge of what is no URL', { body: '{"files":["/page"]}' }, 400],
    ['a purge of nothing', { body: '{"tags":[]}' }, 400],
    ['a purge of two kinds at once', { body: '{"tags":["a"],"hosts":["b"]}' }, 400],
    ['a purge of everything and more', { body: '{"purge_everything":true,"tags":["a"]}' }, 400]
  ])) {
    test(`refuses ${what} with ${expected}, and keeps the cache`, async () => {
      const page = `${edge.url('wiki.localhost')}/kept-${expected}`
      await cacheStatus(page)
      const { status, answer } = await call(options)
      assert.equal(status, expected)
      assert.equal(answer.success, false)
      assert.equal(answer.errors[0].code, expected)
      assert.equal(await cacheStatus(page), 'HIT')
    })
  }

  test('is not reachable through the doors', async () => {
    const path = '/client/v4/zones/any/purge_cache'
    const page = `${edge.url('wiki.localhost')}/through`
    await cacheStatus(page)
    await cacheStatus(`${edge.url('wiki.localhost')}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${edge.control.token}` },
      body: '{"purge_everything":true}'
    })
    assert.equal(await cacheStatus(page), 'HIT')
  })
})

test('a path that would break out of nginx\'s quotes is refused', () => {
  assert.throws(
    () => render({ role: 'origin', port: 1, wikiPort: 2 }, { directory: '/tmp/a";evil', modulesDirectory: '' }),
    /cannot use a path with quotes/
  )
})
