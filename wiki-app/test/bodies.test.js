import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, save, useWiki } from './helper.js'
import { OIDC } from './oidc.js'
import { bearer, MAIL, peopleOnly } from './people.js'

const wiki = useWiki()

/** These routes need no body: their URLs say everything. */
const NEED_NO_BODY = [
  'DELETE /wiki/*', 'POST /edit/delete/*', 'POST /edit/sign-out', 'DELETE /api/v1/pages/:name',
  'POST /edit/delete-picture/:file', 'POST /edit/in/delete-picture/*',
  'DELETE /api/v1/files/:file', 'POST /edit/short-link/*',
  'POST /edit/watching/feed', 'POST /edit/watching/digest/end', 'POST /digests/confirm/:secret',
  'POST /digests/stop/:secret', 'DELETE /api/v1/watching/digest',
  'PUT /api/v1/watching/pages/:name', 'DELETE /api/v1/watching/pages/:name',
  'PUT /api/v1/watching/authors/:author', 'DELETE /api/v1/watching/authors/:author',
  'DELETE /api/v1/protections/:name', 'DELETE /api/v1/spaces/:name', 'DELETE /api/v1/spaces/:name/grants/:group',
  'DELETE /api/v1/spaces/:name/files/:file', 'DELETE /api/v1/groups/:name',
  'PUT /api/v1/groups/:name/members/:person', 'DELETE /api/v1/groups/:name/members/:person',
  ...['/edit/proposal', '/api/v1/proposals'].flatMap((path) =>
    ['publish', 'withdraw'].map((verb) => `POST ${path}/:id/${verb}`))
]
/** It has a page, so that it is not removed. */
const SPACE = 'Team'
const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'

/**
 * Pairs of a media type and a body. No route can work with any of them.
 * @type {[string | undefined, string | undefined][]}
 */
const BODIES = [
  [undefined, undefined], [undefined, 'x'], ['', 'x'], ['nonsense', 'x'], ['a/b; =', 'x'],
  ['text/plain', 'content=x'], ['application/octet-stream', 'x'],
  ...['', 'null', '[]', '"x"', '1', 'true', '{', '\u0000']
    .map((body) => /** @type {[string, string]} */ ([JSON_TYPE, body])),
  ...[
    JSON_TYPE, FORM, 'application/zip', 'image/png', 'text/markdown', 'multipart/form-data; boundary=x',
    'multipart/form-data'
  ].map((type) => /** @type {[string, undefined]} */ ([type, undefined])),
  ['application/json; charset=utf-16', 'null'], [FORM, ''], [FORM, '%'], ['application/zip', ''],
  ['application/zip', 'PK'], ['image/png', ''],
  ['image/svg+xml', '<svg/>'], ['multipart/form-data; boundary=x', '--x--'], ['text/markdown', '']
]

/** @param {import('fastify').FastifyInstance} app */
const writesOf = (app) => /** @type {{method: string | string[], url: string}[]} */ (/** @type {any} */ (app).rules)
  .flatMap(({ method, url }) => [method].flat().map((each) => ({ method: each, url })))
  .filter(({ method }) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method))

test('a write with an unusable body gets a 4xx that explains it, never a 5xx', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL, ...OIDC })
  const made = await app.inject({
    method: 'POST', url: '/api/v1/spaces', headers: bearer('admin'), payload: { name: SPACE }
  })
  assert.equal(made.statusCode, 201, made.body)
  const writes = writesOf(app)
  const named = writes.map(({ method, url }) => `${method} ${url}`)
  for (const each of [
    ...NEED_NO_BODY, 'POST /wiki/*', 'PUT /api/v1/pages/:name', 'POST /api/v1/preview',
    'POST /api/v1/pages/:name/rename', 'POST /api/v1/pages/:name/revert',
    'POST /api/v1/import', 'POST /api/v1/files', 'POST /edit/upload', 'POST /edit/import', 'POST /edit/revert-author',
    'POST /edit/in/upload/*', 'POST /api/v1/spaces/:name/files', 'PUT /api/v1/spaces/:name/grants/:group',
    'POST /edit/sign-in', 'POST /edit/sign-in/oidc', 'POST /edit/preview/*', 'POST /edit/erase/*'
  ]) assert.ok(named.includes(each), each)

  for (const { method, url: pattern } of writes) {
    await save(app, 'a', 'text', bearer('admin'))
    if (pattern.includes('/spaces/:name')) await save(app, SPACE, 'text', bearer('admin'))
    const url = pattern.replace('/spaces/:name', `/spaces/${SPACE}`).replace('*', 'a').replace(/:\w+/g, 'a')
    for (const [type, payload] of BODIES) {
      for (const accept of [{ accept: 'application/json' }, BROWSER]) {
        const headers = { ...accept, ...bearer('admin'), ...(type !== undefined && { 'content-type': type }) }
        const { statusCode, headers: { 'content-type': answered }, body } =
          await app.inject({ method: /** @type {'POST'} */ (method), url, headers, payload })
        const label = `${method} ${pattern} ${type} ${JSON.stringify(payload)}: ${statusCode} ${body}`
        assert.ok(statusCode < 500, label)
        const isEnough = NEED_NO_BODY.includes(`${method} ${pattern}`) ||
          (pattern === '/edit/preview/*' && type === 'text/markdown')
        if (!isEnough) assert.ok([400, 405, 411, 415].includes(statusCode), label)
        if (statusCode < 400) continue
        if (String(answered).startsWith('text/html')) {
          assert.equal(accept, BROWSER, label)
          assert.match(body, /<h1>[^<]+<\/h1>\n<p>[^<]{20,}<\/p>/, label)
        } else {
          assert.match(String(answered), /^application\/problem\+json/, label)
          assert.equal(JSON.parse(body).status, statusCode, label)
          assert.ok(JSON.parse(body).detail.length >= 20, label)
        }
      }
    }
  }
})

test('the error for a missing or null body names the expected type or fields', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  for (const [method, url, status, detail] of /** @type {const} */ ([
    [
      'PUT', '/api/v1/pages/a', 400,
      /^Send a JSON object \(Content-Type: application\/json\), with “content”\. Optional: “tags”, “author”/
    ],
    ['POST', '/api/v1/pages/a/rename', 400, /with “to”/],
    ['POST', '/edit/rename/a', 400, /^Send a form, or a JSON object .*with “to”/],
    ['POST', '/edit/sign-in', 400, /with “name”, “password”/],
    ['POST', '/api/v1/import', 400, /^Send a body of the type application\/zip\.$/],
    ['POST', '/api/v1/files', 400, /^Send a body of the type image\/png/],
    ['POST', '/edit/upload', 400, /No file was sent/]
  ])) {
    for (const type of [undefined, 'application/json']) {
      const headers = { ...bearer('admin'), ...(type && { 'content-type': type }) }
      const { statusCode, body } = await app.inject({ method, url, headers, ...(type && { payload: 'null' }) })
      const streamed = /import|files|upload/.test(url)
      assert.equal(statusCode, streamed && type ? 415 : status, url)
      if (!type || !streamed) assert.match(JSON.parse(body).detail, detail, url)
    }
  }
})
