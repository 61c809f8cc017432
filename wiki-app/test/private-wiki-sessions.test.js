import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'
import { begin, comeBack, sessionFrom, settingsFor, signInThere, startProvider } from './oidc.js'
import { bearer, cookieOf, PASSWORD, peopleOnly, post } from './people.js'

const wiki = useWiki()

test('blocked and removed people read nothing from the next request on, nor does their feed', async (t) => {
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

test('a stranger opens a page, signs in at the provider, and lands on the page', async (t) => {
  const publicUrl = 'https://wiki.example'
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' }, publicUrl })
  const app = await wiki.build(t, {
    ...peopleOnly(t), ...settingsFor(issuer, 'reader'), READ_ACCESS: 'members', PUBLIC_URL: publicUrl
  })
  await save(app, 'Čebela & med', 'text', bearer('admin'))
  const page = '/wiki/%C4%8Cebela%20&%20med?x=%22%3E'
  const asked = await get(app, page, BROWSER)
  assert.equal(asked.statusCode, 303)
  const form = await get(app, String(asked.headers.location), BROWSER)
  const [, to = ''] =
    /action="\/edit\/sign-in\/oidc">\n<input type="hidden" name="to" value="([^"]*)">/.exec(form.body) ?? []
  const { answer, url, cookie } = await begin(app, { to: to.replaceAll('&amp;', '&') })
  assert.equal(answer.headers['cache-control'], 'private, no-store')
  const back = await comeBack(app, await signInThere(url, 'subject'), cookie)
  assert.equal(back.statusCode, 200, back.body)
  assert.equal(back.headers.refresh, `0;url=${page}`)
  assert.equal(back.headers['cache-control'], 'private, no-store')
  const set = /** @type {string[]} */ (back.headers['set-cookie'])
  assert.match(set.join('\n'),
    /^__Host-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/m)

  const session = sessionFrom(back)
  const shown = await get(app, page, { ...BROWSER, ...session })
  assert.equal(shown.statusCode, 200)
  assert.match(shown.body, /data-role="reader">ana</)
  await post(app, '/edit/sign-out', {}, session)
  assert.equal((await get(app, page, session)).statusCode, 401)
})

test('a stranger at the provider without an invitation, or blocked, reads nothing', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const settings = { ...peopleOnly(t), READ_ACCESS: 'members', MONGODB_URI: wiki.freshUri() }
  const closed = await wiki.build(t, { ...settings, ...settingsFor(issuer, 'none') })
  await save(closed, 'zanimivost', 'text', bearer('admin'))
  const comeIn = async (/** @type {typeof closed} */ app) => {
    const { url, cookie } = await begin(app, { to: '/wiki/zanimivost' })
    return comeBack(app, await signInThere(url, 'subject'), cookie)
  }
  const refused = await comeIn(closed)
  assert.equal(refused.statusCode, 403)
  assert.equal(sessionFrom(refused).cookie, '')

  const app = await wiki.build(t, { ...settings, ...settingsFor(issuer, 'reader') })
  const session = sessionFrom(await comeIn(app))
  assert.equal((await get(app, '/wiki/zanimivost', session)).statusCode, 200)
  await app.inject({ method: 'POST', url: '/edit/people/block', headers: bearer('admin'), payload: { name: 'ana' } })
  assert.equal((await get(app, '/wiki/zanimivost', session)).statusCode, 401)
  const blocked = await comeIn(app)
  assert.equal(blocked.statusCode, 403)
  assert.equal(sessionFrom(blocked).cookie, '')
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
