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

  test('purges the whole cache and answers in the format of Cloudflare\'s API', async () => {
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
    ['an unknown path', { path: '/purge' }, 404],
    ['the method GET', { method: 'GET' }, 405],
    ['a body that is not JSON', { body: '{' }, 400],
    ['a JSON body that is not an object', { body: '7' }, 400],
    ['an empty body', { body: '' }, 400],
    ['a purge of a path instead of a URL', { body: '{"files":["/page"]}' }, 400],
    ['a purge with an empty list', { body: '{"tags":[]}' }, 400],
    ['a purge by tag and by host in one call', { body: '{"tags":["a"],"hosts":["b"]}' }, 400],
    ['a purge of everything together with tags', { body: '{"purge_everything":true,"tags":["a"]}' }, 400]
  ])) {
    test(`refuses ${what} with ${expected} and purges nothing`, async () => {
      const page = `${edge.url('wiki.localhost')}/kept-${expected}`
      await cacheStatus(page)
      const { status, answer } = await call(options)
      assert.equal(status, expected)
      assert.equal(answer.success, false)
      assert.equal(answer.errors[0].code, expected)
      assert.equal(await cacheStatus(page), 'HIT')
    })
  }

  test('is not reachable through the door cached', async () => {
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

test('render refuses a path that would end a quoted string in nginx\'s configuration', () => {
  assert.throws(
    () => render({ role: 'origin', port: 1, wikiPort: 2 }, { directory: '/tmp/a";evil', modulesDirectory: '' }),
    /cannot use a path with quotes/
  )
})
