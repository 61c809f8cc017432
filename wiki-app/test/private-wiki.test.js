import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { BROWSER, get, save, untilCounted, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, cookieOf, MAIL, PASSWORD, peopleOnly, post, ROLES } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const wiki = useWiki()

/** @param {TestContext} t */
const membersOnly = (t) => ({ ...peopleOnly(t), READ_ACCESS: 'members' })

/**
 * All that a stranger gets in a wiki whose readers sign in. No answer of these routes may hold anything of the wiki; a
 * feed and the links of mails are for those who have their secret.
 */
const FOR_STRANGERS = new Set([
  'GET /healthz', 'GET /readyz', 'GET /robots.txt', 'GET /favicon.ico',
  'GET /edit/sign-in', 'POST /edit/sign-in', 'POST /edit/sign-out',
  ...['/invitations/:secret', '/digests/confirm/:secret', '/digests/stop/:secret'].flatMap((url) =>
    [`GET ${url}`, `POST ${url}`]),
  'GET /feeds/:secret'
])
const ASSET = /^GET \/assets\/[\w.-]+$/

/** Stands in the name, the text, the tag and the picture of what is written. */
const MARKER = 'zanimivost'

/** @param {App} app @returns {{method: string, url: string, key: string, role: string, refusesMethod: boolean}[]} */
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
    method: 'POST', url: `/api/v1/files?alt=${MARKER}`, headers: { ...admin, 'content-type': 'image/png' }, payload: png()
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
  const app = await wiki.build(t, { ...membersOnly(t), ...MAIL })
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
