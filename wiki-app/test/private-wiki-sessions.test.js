import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'
import { bearer, cookieOf, PASSWORD, peopleOnly, post } from './people.js'

const wiki = useWiki()

test('who is blocked or removed reads nothing from the next request on, nor does their feed', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), READ_ACCESS: 'members' })
  await save(app, 'a', 'text', bearer('admin'))
  const send = (/** @type {string} */ url, /** @type {object} */ payload) => app.inject({
    method: 'POST', url: `/edit/${url}`, headers: { accept: 'application/json', ...bearer('admin') }, payload
  })
  for (const verb of ['block', 'remove']) {
    const invited = await send('people', { name: verb, role: 'reader' })
    const link = new URL(invited.json().url, 'http://wiki').pathname
    assert.equal((await get(app, link, BROWSER)).statusCode, 200, 'an invitation takes no sign-in')
    await post(app, link, { password: PASSWORD, again: PASSWORD })
    const cookie = await cookieOf(app, verb)
    const made = await app.inject({
      method: 'POST',
      url: '/edit/account/tokens',
      headers: { accept: 'application/json', ...cookie },
      payload: { label: 'x' }
    })
    const token = { authorization: `Bearer ${made.json().token}` }
    const { body } = await post(app, '/edit/watching/feed', {}, cookie)
    const [, feed = ''] = /data-path="(\/feeds\/[\w-]{43})"/.exec(body) ?? []
    const seen = async () => Promise.all([['/wiki/a', cookie], ['/wiki/a', token], [feed, {}]]
      .map(async ([url, headers]) => (await get(app, String(url), /** @type {{}} */ (headers))).statusCode))
    assert.deepEqual(await seen(), [200, 200, 200])
    await send(`people/${verb}`, { name: verb })
    assert.deepEqual(await seen(), [401, 401, 404], verb)
  }
})

test('a session from before the setting opens nothing, and signing out ends it, too', async (t) => {
  const uri = wiki.freshUri()
  const people = peopleOnly(t)
  const before = await wiki.build(t, { ...people, MONGODB_URI: uri })
  await save(before, 'a', 'text', bearer('editor'))
  const { cookie: former } = await cookieOf(before, 'editor')
  const app = await wiki.build(t, { ...people, MONGODB_URI: uri, READ_ACCESS: 'members' })
  assert.equal((await get(app, '/wiki/a', { cookie: former })).statusCode, 401)
  const { cookie } = await cookieOf(app, 'editor')
  assert.equal((await get(app, '/wiki/a', { cookie: `${former}; ${cookie}` })).statusCode, 200)
  await post(app, '/edit/sign-out', {}, { cookie: `${former}; ${cookie}` })
  assert.equal((await get(before, '/edit/new', { cookie: former })).statusCode, 401)
  assert.equal((await get(app, '/wiki/a', { cookie })).statusCode, 401)
})
