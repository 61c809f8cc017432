import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { BROWSER, get, save, untilCounted, useWiki } from './helper.js'
import { png } from './images.js'
import { OIDC } from './oidc.js'
import { bearer, cookieOf, MAIL, PASSWORD, peopleOnly, post, ROLES, USERS } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const wiki = useWiki()

/** @param {TestContext} t */
const membersOnly = (t) => ({ ...peopleOnly(t), READ_ACCESS: 'members' })

/**
 * All that a stranger gets in a wiki whose readers sign in. No answer of these routes may hold anything of the wiki; a
 * feed and the links of mails are for those with their secret.
 */
const FOR_STRANGERS = new Set([
  'GET /healthz', 'GET /readyz', 'GET /robots.txt', 'GET /favicon.ico', 'GET /offline.js',
  'GET /edit/sign-in', 'POST /edit/sign-in', 'POST /edit/sign-out',
  'GET /edit/sign-in/forgotten', 'POST /edit/sign-in/forgotten', 'POST /edit/sign-in/oidc',
  'GET /edit/sign-in/oidc/callback',
  ...['/invitations/:secret', '/digests/confirm/:secret', '/digests/stop/:secret'].flatMap((url) =>
    [`GET ${url}`, `POST ${url}`]),
  'GET /feeds/:secret'
])
const ASSET = /^GET \/assets\/[\w.-]+$/

/** Stands in the name, the text, the tag and the picture of what is written. */
const MARKER = 'zanimivost'

/** @param {App} app @returns {{method: string, url: string, key: string, role: string}[]} */
const routesOf = (app) => /** @type {any} */ (app).rules.flatMap(
  (/** @type {{method: string | string[], url: string, role: string}} */ { method, url, role }) =>
    [method].flat().map((each) => ({
      method: each,
      url: url.replace(/\*|:(?:tag|name|author)/, MARKER).replace(/:(?:file|id|secret|part)/, 'a')
        .replace(':revision', '1'),
      key: `${each === 'HEAD' ? 'GET' : each} ${url}`,
      role
    }))
)

/**
 * A page with a tag, two revisions, a link, a talk page, a subpage, a picture and a short address.
 * @param {App} app
 */
async function fill (app) {
  const admin = bearer('admin')
  const put = (/** @type {string} */ name, /** @type {object} */ payload) =>
    app.inject({ method: 'PUT', url: `/api/v1/pages/${encodeURIComponent(name)}`, headers: admin, payload })
  for (const content of [`${MARKER} one`, `${MARKER} two, [[${MARKER} missing]]`]) {
    assert.ok((await put(MARKER, { content, tags: [MARKER], summary: MARKER })).statusCode < 300)
  }
  await put('Home', { content: `[[${MARKER}]]` })
  await put(`${MARKER}/below`, { content: MARKER })
  await put(`Talk:${MARKER}`, { content: MARKER })
  const picture = await app.inject({
    method: 'POST',
    url: `/api/v1/files?alt=${MARKER}`,
    headers: { ...admin, 'content-type': 'image/png' },
    payload: png()
  })
  assert.equal(picture.statusCode, 201, picture.body)
  const short = await app.inject({
    method: 'POST', url: '/api/v1/short-links', headers: admin, payload: { page: MARKER }
  })
  assert.equal(short.statusCode, 201, short.body)
  await untilCounted(app)
  return { picture: picture.json().url, short: short.json().url }
}

/** @param {import('light-my-request').Response} answer */
const textOf = ({ headers, body }) => `${JSON.stringify(headers)}\n${body}`

test('a stranger gets nothing from any route that does not say that it is for strangers', async (t) => {
  const app = await wiki.build(t, { ...membersOnly(t), ...MAIL, ...OIDC })
  await fill(app)
  const routes = routesOf(app)
  const known = new Set(routes.map(({ key }) => key))
  for (const key of FOR_STRANGERS) assert.ok(known.has(key), `${key} is in the list, but no such route exists`)
  assert.ok(routes.length > 150)

  for (const { method, url, key, role } of routes) {
    const isForStrangers = FOR_STRANGERS.has(key) || ASSET.test(key)
    for (const headers of [{}, BROWSER, { ...BROWSER, cookie: 'session=x; session-of-reader=x' },
      { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() }]) {
      const answer = await app.inject({ method: /** @type {'GET'} */ (method), url, headers })
      const said = `${method} ${url} for a stranger with ${JSON.stringify(headers)} (a new route? It needs no config ` +
        'to be closed. If it has nothing of the wiki, it may say forStrangers, and belongs into FOR_STRANGERS)'
      if (isForStrangers) {
        assert.equal(role, 'anyone', said)
      } else if (answer.statusCode === 405) {
        assert.equal(role, 'anyone', said)
      } else {
        assert.notEqual(role, 'anyone', said)
        const isPage = 'accept' in headers && ['GET', 'HEAD'].includes(method) && !url.startsWith('/api/v1')
        assert.equal(answer.statusCode, isPage ? 303 : 401, said)
        if (isPage) assert.match(String(answer.headers.location), /^\/edit\/sign-in\?to=%2F/)
        else assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="stevec"$/)
        assert.equal(answer.headers['cache-control'], 'private, no-store', said)
        assert.equal(answer.headers.etag, undefined, said)
      }
      const location = String(answer.headers.location ?? '')
      // What the stranger sent may come back in the address of the form to sign in.
      if (!location.startsWith('/edit/sign-in?')) assert.ok(!textOf(answer).includes(MARKER), said)
    }
  }
})

test('behind a listening socket, too, only members read, by cookie or token, and nothing may be kept', async (t) => {
  const app = await wiki.build(t, { ...membersOnly(t), CACHE_POLICY: 'ttl', ORIGIN_CACHE_MIB: '16' })
  const { picture, short } = await fill(app)
  const root = await app.listen({ port: 0, host: '127.0.0.1' })
  const cookies = await Promise.all(ROLES.map((role) => cookieOf(app, role)))
  const ask = (/** @type {string} */ url, /** @type {Record<string, string>} */ headers, method = 'GET') =>
    fetch(root + url, { method, headers, redirect: 'manual' })

  const urls = [`/wiki/${MARKER}`, '/', picture, short, `/revision/${MARKER}/1`, `/raw/${MARKER}`, '/changes.atom',
    `/difference/${MARKER}?from=1&to=2`, `/api/v1/pages/${MARKER}`, '/pages', '/status', '/api/', '/random']
  for (const url of urls) {
    for (const cookie of cookies) {
      const read = await ask(url, { ...BROWSER, ...cookie })
      assert.ok([200, 302].includes(read.status), `${url} ${read.status}`)
      assert.equal(read.headers.get('cache-control'), 'private, no-store', url)
      const others = [...read.headers.keys()].filter((name) => /cache-(control|tag)|surrogate|expires/.test(name))
      assert.deepEqual(others, ['cache-control'], url)
    }
    assert.ok([200, 302].includes((await ask(url, bearer('reader'))).status), `${url} with a token`)
    const etag = (await ask(url, bearer('reader'))).headers.get('etag')
    // The member has just read it: no copy of this process answers a stranger.
    for (const method of ['GET', 'HEAD']) {
      for (const condition of /** @type {Record<string, string>[]} */ ([{}, { 'if-none-match': etag ?? '*' }])) {
        const page = await ask(url, { ...BROWSER, ...condition }, method)
        assert.equal(page.status, url.startsWith('/api/v1/') ? 401 : 303, `${method} ${url}`)
        assert.equal((await ask(url, condition, method)).status, 401, `${method} ${url}`)
      }
    }
  }
  assert.equal((await ask(`/wiki/${MARKER}`, {}, 'OPTIONS')).status, 405)
})

test('to a stranger a page that is there looks as one that is not, and so do a renamed and deleted one', async (t) => {
  const app = await wiki.build(t, membersOnly(t))
  await fill(app)
  const headers = bearer('admin')
  for (const name of ['former', 'gone']) await save(app, name, 'text', headers)
  await app.inject({ method: 'POST', url: '/api/v1/pages/former/rename', headers, payload: { to: 'new' } })
  await app.inject({ method: 'DELETE', url: '/wiki/gone', headers })
  for (const below of ['/wiki/', '/history/', '/raw/', '/links/', '/tree/', '/api/v1/pages/', '/edit/new/']) {
    for (const accept of [BROWSER, {}]) {
      const seen = await Promise.all([MARKER, 'former', 'gone', 'never'].map(async (name) => {
        const { statusCode, headers: { date, ...others }, body } = await get(app, below + name, accept)
        return JSON.stringify([statusCode, others, body]).replaceAll(name, 'name')
          .replace(/"request_id\\":\\"[^"]*"/, '')
      }))
      assert.deepEqual(seen, Array(seen.length).fill(seen[0]), below)
    }
  }
})

test('a stranger signs in and is back at the page; the cookie goes everywhere, and signing out ends it', async (t) => {
  const app = await wiki.build(t, { ...membersOnly(t), PUBLIC_URL: 'https://wiki.example' })
  await fill(app)
  const url = `/search?q=${MARKER}&x=%22%3E`
  const asked = await get(app, url, BROWSER)
  assert.equal(asked.statusCode, 303)
  const form = await get(app, String(asked.headers.location), BROWSER)
  assert.match(form.body, /You can read here once you have signed in/)
  assert.doesNotMatch(form.body, /Reading needs no name/)
  const signedIn = await post(app, '/edit/sign-in', { name: 'reader', password: PASSWORD, to: url })
  assert.equal(signedIn.headers.location, url)
  const [session] = /** @type {string[]} */ (signedIn.headers['set-cookie'])
  assert.match(session, /^__Host-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const cookie = { cookie: session.split(';', 1)[0] }
  assert.equal((await get(app, '/pages', cookie)).statusCode, 200)

  for (const hostile of [
    '//evil.example/', 'https://evil.example/', '/\\evil.example', '/wiki/stevec', '/edit/sign-out'
  ]) {
    const answer = await post(app, '/edit/sign-in', { name: 'reader', password: PASSWORD, to: hostile })
    assert.equal(answer.headers.location, '/', hostile)
  }
  const long = await get(app, `/search?q=${'a'.repeat(5_000)}`, BROWSER)
  assert.equal(long.headers.location, '/edit/sign-in', 'an address that the form does not take is forgotten')

  const signedOut = await post(app, '/edit/sign-out', {}, cookie)
  assert.match(String(signedOut.headers['set-cookie']), /^__Host-session=; Max-Age=0; Path=\/; .*Secure; SameSite=Lax$/)
  assert.equal((await get(app, '/pages', cookie)).statusCode, 401)
})

test('a cookie opens reading, and still no change elsewhere than below /edit', async (t) => {
  const app = await wiki.build(t, membersOnly(t))
  await fill(app)
  const cookie = await cookieOf(app, 'admin')
  const json = { ...cookie, 'content-type': 'application/json' }
  for (const { method, url, key, role } of routesOf(app)) {
    if (['GET', 'HEAD'].includes(method) || url.startsWith('/edit/') || role === 'anyone') continue
    const answer = await app.inject({ method: /** @type {'PUT'} */ (method), url, headers: json, payload: '{}' })
    assert.equal(answer.statusCode, 401, key)
  }
  const elsewhere = { ...cookie, 'sec-fetch-site': 'cross-site' }
  const foreign = await post(app, `/edit/text/${MARKER}`, { content: 'x' }, elsewhere)
  assert.equal(foreign.statusCode, 403)
  const saved = await post(app, '/edit/text/new', { content: 'x', base_revision: '0' }, cookie)
  assert.equal(saved.headers.location, '/wiki/new?saved=1')
  const shown = await get(app, '/wiki/new?saved=1', { ...BROWSER, ...cookie })
  assert.equal(shown.statusCode, 200)
  assert.match(shown.body, /data-role="admin">admin</)
})

test('every document names its reader, each their own, and shows what their role allows', async (t) => {
  const hostile = '<b>"&\' ana'
  const named = USERS.map(({ role, password }) => ({ name: `${role} ${hostile}`, role, password }))
  const app = await wiki.build(t, { ...peopleOnly(t, { users: [...USERS, ...named] }), READ_ACCESS: 'members' })
  const { short } = await fill(app)
  const gets = routesOf(app).filter(({ method, role }) => method === 'GET' && role === 'reader')
  const urls = [...new Set(gets.map(({ url }) => url)), '/nowhere', '/wiki/never', `/wiki/${MARKER}?saved=2`, short]
  let documents = 0
  for (const role of ROLES) {
    const cookie = await cookieOf(app, `${role} ${hostile}`)
    for (const url of urls) {
      const { headers, body } = await get(app, url, { ...BROWSER, ...cookie })
      if (!String(headers['content-type']).startsWith('text/html')) continue
      documents++
      const [header] = /<header>[^]*<\/header>/.exec(body) ?? ['']
      const shown = `data-role="${role}">${role} &lt;b&gt;&quot;&amp;&#39; ana</a>`
      assert.ok(header.includes(shown), `${role} ${url} ${header}`)
      assert.match(header, /<form method="post" action="\/edit\/sign-out"><button>Sign out</, url)
      assert.equal(header.includes('/edit/new"'), role !== 'reader', url)
      assert.doesNotMatch(header, /<b>/, url)
    }
    const { body } = await get(app, `/wiki/${MARKER}`, { ...BROWSER, ...cookie })
    assert.equal(body.includes(`"/edit/text/${MARKER}"`), role !== 'reader')
  }
  assert.ok(documents > 60, String(documents))
})

test('the description of the API says that all calls need a token, where they do', async (t) => {
  const described = async (/** @type {App} */ app) =>
    (await get(app, '/api/v1/openapi.json', bearer('reader'))).json().security
  assert.deepEqual(await described(await wiki.build(t, membersOnly(t))), [{ token: [] }])
  assert.equal(await described(await wiki.build(t, peopleOnly(t))), undefined)
})

test('robots are asked to leave, and there is no sitemap, not even for members', async (t) => {
  const app = await wiki.build(t, membersOnly(t))
  assert.equal((await get(app, '/robots.txt')).body, 'User-agent: *\nDisallow: /\n')
  for (const url of ['/sitemap.xml', '/sitemap/1.xml']) {
    assert.equal((await get(app, url)).statusCode, 404)
    assert.equal((await get(app, url, bearer('admin'))).statusCode, 404)
  }
})

test('a read costs the page, and one look-up of the session beside it', async (t) => {
  const app = await wiki.build(t, { ...membersOnly(t), MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await fill(app)
  const { cookie } = await cookieOf(app, 'reader')
  /** @type {string[]} */
  const reads = []
  mongoose.connections[mongoose.connections.length - 1].getClient().on('commandStarted', ({ command }) => {
    const isCounted = ['sessions', 'members'].includes(command.find) || command.projection?.html_hash
    if (isCounted) reads.push(command.find)
  })
  await get(app, `/wiki/${MARKER}`, { ...BROWSER, cookie })
  assert.deepEqual(reads, ['sessions', 'pages'], 'the reader is in the users’ file')
  reads.length = 0
  await get(app, `/wiki/${MARKER}`, BROWSER)
  assert.deepEqual(reads, [], 'a stranger costs the database nothing')
})
