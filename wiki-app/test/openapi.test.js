import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import test from 'node:test'
import { promisify } from 'node:util'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { get, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, MAIL, peopleOnly } from './people.js'
import { PEOPLE, user } from './spaces.js'

// The same copy of ajv that Fastify validates with.
const load = createRequire(
  createRequire(createRequire(import.meta.url).resolve('fastify')).resolve('@fastify/ajv-compiler')
)
const [Ajv, addFormats] = [load('ajv/dist/2020').default, load('ajv-formats')]

const wiki = useWiki()
const run = promisify(execFile)

/** @typedef {import('fastify').FastifyInstance} App */

const ajv = addFormats(new Ajv({ strict: true, allowUnionTypes: true, allErrors: true }))

/**
 * @param {object} properties
 * @param {string[]} required
 */
const only = (properties, required = []) => ({ type: 'object', additionalProperties: false, required, properties })
const mapOf = (/** @type {object} */ schema) => ({ type: 'object', additionalProperties: schema })
const text = { type: 'string', minLength: 1 }
const schemaObject = { $ref: 'https://json-schema.org/draft/2020-12/schema' }
const ref = (/** @type {string} */ name) => ({ $ref: `#/$defs/${name}` })

/**
 * Checks a document against the parts of OpenAPI 3.1 that we use: all required fields, and no unknown ones.
 * https://spec.openapis.org/oas/v3.1.1.html#schema
 */
const isOpenapi = ajv.compile({
  ...only({
    openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
    info: only({ title: text, version: text, summary: text, description: text }, ['title', 'version']),
    servers: { type: 'array', items: only({ url: text }, ['url']) },
    tags: { type: 'array', items: only({ name: text, description: text }, ['name']) },
    components: only({
      securitySchemes: mapOf(ref('security')),
      schemas: { type: 'object', propertyNames: { pattern: '^[\\w.-]+$' }, additionalProperties: schemaObject }
    }),
    paths: { type: 'object', propertyNames: { pattern: '^/' }, additionalProperties: ref('item') }
  }, ['openapi', 'info', 'paths']),
  $defs: {
    item: only(Object.fromEntries(['get', 'put', 'post', 'patch', 'delete'].map((method) =>
      [method, ref('operation')]))),
    operation: only({
      tags: { type: 'array', items: text, minItems: 1 },
      summary: text,
      description: text,
      operationId: text,
      security: { type: 'array', items: mapOf({ type: 'array', maxItems: 0 }) },
      parameters: { type: 'array', items: ref('parameter') },
      requestBody: only({ description: text, required: { type: 'boolean' }, content: ref('content') }, ['content']),
      responses: {
        type: 'object',
        minProperties: 1,
        propertyNames: { pattern: '^(?:[1-5](?:\\d\\d|XX)|default)$' },
        additionalProperties: ref('response')
      }
    }, ['responses', 'summary', 'description', 'tags']),
    security: only({ type: { const: 'http' }, scheme: { const: 'bearer' }, description: text }, ['type', 'scheme']),
    parameter: {
      ...only({
        name: text,
        in: { enum: ['path', 'query', 'header'] },
        required: { type: 'boolean' },
        description: text,
        schema: schemaObject,
        example: true
      }, ['name', 'in', 'schema']),
      if: { type: 'object', properties: { in: { const: 'path' } } },
      then: { type: 'object', required: ['required'], properties: { required: { const: true } } }
    },
    response: only({ description: text, content: ref('content') }, ['description']),
    content: mapOf(only({ schema: schemaObject, example: true }))
  }
})

/** @param {App} app */
const documentOf = async (app) => (await get(app, '/api/v1/openapi.json')).json()

/** @param {any} document */
const operationsIn = (document) => Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })))

test('the document is valid OpenAPI 3.1 and describes every route of the API', async (t) => {
  const app = await wiki.build(t)
  const document = await documentOf(app)
  assert.ok(isOpenapi(document), JSON.stringify(isOpenapi.errors, null, 1))
  assert.ok(!isOpenapi({ ...document, paths: { '/x': { get: {} } } }), 'the validator rejects an invalid document')
  const answer = await get(app, '/api/v1/openapi.json')
  assert.equal(answer.headers['cache-control'], 'public, no-cache')
  assert.equal(
    (await get(app, '/api/v1/openapi.json', { 'if-none-match': String(answer.headers.etag) })).statusCode,
    304
  )

  const operations = operationsIn(document)
  assert.equal(operations.length, 29)
  for (const { path: template, method, parameters = [], responses } of operations) {
    const named = parameters
      .filter((/** @type {any} */ parameter) => parameter.in === 'path')
      .map((/** @type {any} */ parameter) => parameter.name)
    assert.deepEqual(
      named.sort(),
      [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      `${method} ${template}`
    )
    assert.ok(app.hasRoute({ method, url: `/api/v1${template.replace(/\{(\w+)\}/g, ':$1')}` }), `${method} ${template}`)
    const statuses = ['400', '408', '431', '503', ...(method === 'GET' ? [] : ['401', '403', '413', '415', '429'])]
    for (const status of statuses) assert.ok(responses[status], `${method} ${template} documents ${status}`)
  }
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)]
    .map(([, name]) => name)
  assert.deepEqual([...new Set(references)].sort(), Object.keys(document.components.schemas).sort())
})

test('the document of a wiki that sends mail is valid, too, and its example as the wiki answers', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL })
  const document = await documentOf(app)
  assert.ok(isOpenapi(document), JSON.stringify(isOpenapi.errors, null, 1))
  const text = JSON.stringify(document)
  for (const name of Object.keys(document.components.schemas)) {
    assert.ok(text.includes(`"#/components/schemas/${name}"`), name)
  }
  const { put } = document.paths['/watching/digest']
  const example = (/** @type {any} */ { content }) => content['application/json'].example
  const { statusCode, body } = await app.inject({
    method: 'PUT',
    url: '/api/v1/watching/digest',
    headers: bearer('reader'),
    payload: example(put.requestBody)
  })
  assert.equal(statusCode, 200)
  assert.deepEqual({ ...JSON.parse(body), waiting: null }, { ...example(put.responses[200]), waiting: null })
})

/**
 * Creates the pages and the file that the examples refer to.
 * @param {App} app
 */
async function setTheStage (app) {
  const put = async (/** @type {string} */ name, /** @type {object} */ payload) => {
    assert.ok((await app.inject({
      method: 'PUT',
      url: `/api/v1/pages/${encodeURIComponent(name)}`,
      payload
    })).statusCode < 300)
  }
  await put('Handbook/Writing', { content: 'Use words.', tags: ['guide'], author: 'Ana' })
  await put('Handbook/Writing', {
    content: 'Use plain words.\n',
    tags: ['guide', 'style'],
    author: 'Ana',
    summary: 'plainer'
  })
  await put('Handbook', {
    content: 'About [style](/wiki/Handbook/Writing) and [speech](/wiki/Handbook/Speaking).',
    tags: ['guide'],
    author: 'Bor'
  })
  for (const name of ['Draft', 'Old news', 'Restored']) await put(name, { content: 'first' })
  await put('Restored', { content: 'second' })
  assert.equal((await app.inject({
    method: 'PUT', url: '/api/v1/short-links/writing', payload: { page: 'Handbook/Writing' }
  })).statusCode, 201)
  assert.equal((await app.inject({
    method: 'POST',
    url: '/api/v1/files?author=Ana',
    headers: { 'content-type': 'image/png' },
    payload: png()
  })).statusCode, 201)
}

/**
 * Replaces all values that differ between wikis.
 * @param {unknown} body
 */
const comparable = (body) => JSON.parse(JSON.stringify(body, (key, value) =>
  ['modified_at', 'created_at'].includes(key)
    ? 'a time'
    : key === 'next_cursor' ? null : ['epoch', 'requests', 'reads', 'writes'].includes(key) ? 'counted' : short(value)))

/** @param {unknown} value  an id of a short address is random */
const short = (value) => typeof value === 'string' && /^(?:\/s\/)?[0-9a-hjkmnp-tv-z]{8}$/.test(value) ? 'short' : value

/**
 * @param {App} app @param {any} document @param {any[]} operations  of it
 * @param {{zip?: Buffer, by?: Record<string, string>}} [how]  `by`: headers of each request
 */
async function tryExamples (app, document, operations, { zip, by = {} } = {}) {
  const validator = (/** @type {object} */ schema) => ajv.compile(JSON.parse(
    JSON.stringify({ ...schema, $defs: document.components.schemas })
      .replaceAll('#/components/schemas/', '#/$defs/')
  ))
  const [{ url: base }] = document.servers
  // Reads come first, because the other operations change what they return.
  const inOrder = [...operations].sort((a, b) => Number(a.method !== 'GET') - Number(b.method !== 'GET'))
  for (const { path: template, method, parameters = [], requestBody, responses } of inOrder) {
    const label = `${method} ${template}`
    const query = new URLSearchParams()
    let url = base + template
    for (const { name, in: place, example, schema, required } of parameters) {
      if (example === undefined) {
        assert.ok(!required, `${label}: ${name} needs an example`)
        continue
      }
      assert.ok(validator(schema)(example), `${label}: ${name}`)
      if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(example))
      else query.set(name, String(example))
    }
    const [[type, { schema, example } = /** @type {any} */ ({})] = []] = Object.entries(requestBody?.content ?? {})
    if (type === 'application/json') {
      assert.ok(example, `${label}: its body needs an example`)
      assert.ok(validator(schema)(example), label)
    }
    const answer = await app.inject({
      method: /** @type {'GET'} */ (method),
      url: query.size > 0 ? `${url}?${query}` : url,
      headers: { ...by, ...type && { 'content-type': type } },
      ...type && { payload: example ?? (type === 'image/png' ? png() : zip) }
    })
    assert.ok(answer.statusCode < 300, `${label}: ${answer.statusCode} ${answer.body}`)
    const said = responses[answer.statusCode]
    assert.ok(said, `${label} does not document ${answer.statusCode}`)
    if (said.content === undefined) {
      assert.equal(answer.body, '', label)
      continue
    }
    const [[mediaType, media]] = Object.entries(said.content)
    assert.equal(String(answer.headers['content-type']).split(';')[0], mediaType, label)
    if (mediaType !== 'application/json') continue
    const validate = validator(media.schema)
    assert.ok(validate(answer.json()), `${label}: ${JSON.stringify(validate.errors)}`)
    assert.ok(validate(media.example), `${label}: its example: ${JSON.stringify(validate.errors)}`)
    if (template !== '/changes') assert.deepEqual(comparable(answer.json()), comparable(media.example), label)
  }
  for (const { responses } of operations) {
    for (const { content } of Object.values(responses)) {
      const media = content?.['application/json']
      if (media) assert.ok(validator(media.schema)(media.example))
    }
  }
}

test('every example request in the document gets the documented response', async (t) => {
  const app = await wiki.build(t)
  const document = await documentOf(app)
  await setTheStage(app)
  const zip = (await get(app, '/api/v1/export')).rawPayload
  await tryExamples(app, document, operationsIn(document), { zip })
})

test('so does every example request about private spaces', async (t) => {
  const app = await wiki.build(t, peopleOnly(t, { users: [...PEOPLE, user('Ana', 'editor')] }))
  const document = await documentOf(app)
  /** @param {string} method @param {string} url @param {any} [payload] */
  const send = async (method, url, payload) => {
    const { statusCode, body } = await app.inject({
      method: /** @type {'PUT'} */ (method),
      url: `/api/v1${url}`,
      payload,
      headers: {
        ...bearer(url.startsWith('/pages') || url.endsWith('files') ? 'Ana' : 'admin'),
        ...Buffer.isBuffer(payload) && { 'content-type': 'image/png' }
      }
    })
    assert.ok(statusCode < 300, `${method} ${url}: ${body}`)
  }
  for (const name of ['Team', 'Old team']) await send('POST', '/spaces', { name })
  for (const name of ['Writers', 'Interns']) await send('POST', '/groups', { name })
  await send('PUT', '/groups/Writers/members/Ana')
  await send('PUT', '/spaces/Team/grants/Writers', { role: 'editor' })
  const plan = { content: 'Use plain words.\n', tags: ['guide', 'style'], summary: 'plainer' }
  await send('PUT', '/pages/Team%2FPlan', plan)
  await send('POST', '/spaces/Team/files', png())
  const operations = operationsIn(document).filter(({ tags }) => tags.includes('spaces'))
  assert.equal(operations.length, 20)
  await tryExamples(app, document, operations, { by: bearer('admin') })
})

test('the API’s page describes every call without JavaScript, in any width, under every page’s policy', async (t) => {
  const app = await wiki.build(t)
  const { body, headers, statusCode } = await get(app, '/api/')
  assert.equal(statusCode, 200)
  assert.equal(headers['cache-control'], 'public, no-cache')
  assert.equal(headers['content-security-policy'], (await get(app, '/wiki/none')).headers['content-security-policy'])
  assert.equal((await get(app, '/api/', { 'if-none-match': String(headers.etag) })).statusCode, 304)
  assert.equal((await get(app, '/api')).headers.location, '/api/')
  for (const { path: template, method, summary } of operationsIn(await documentOf(app))) {
    assert.ok(body.includes(`<b>${method}</b> <code>${template}</code> ${summary}`), `${method} ${template}`)
  }
  assert.doesNotMatch(body, /undefined|\[object|NaN/)
})

test('the API commands in the README run and print what it says', async (t) => {
  const app = await wiki.build(t)
  const url = await app.listen({ port: 0 })
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-readme-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, section] = /^## API$([^]*?)(?=^## |$(?![^]))/m.exec(readme) ?? []
  const blocks = [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block)
  assert.ok(blocks.length > 0)
  const script = blocks.join('\n').replaceAll('http://127.0.0.1:3000', url)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: directory, timeout: 120_000 })
  const said = [...section.matchAll(/# → (.*)$/gm)].map(([, words]) => words)
  assert.ok(said.length > 0)
  for (const words of said) assert.ok(stdout.includes(words), `${words} is not in:\n${stdout}`)
})

/** @param {number} port @param {string} head */
async function rawStatus (port, head) {
  const socket = connect(port, '127.0.0.1').setTimeout(20_000, () => socket.destroy(new Error('no response in time')))
  socket.write(head)
  return Number((await buffer(socket)).toString().slice(9, 12))
}

test('each error status of each operation is documented and comes as a problem document', async (t) => {
  const open = await wiki.build(t)
  const [users, readOnly, limited] = [
    await wiki.build(t, peopleOnly(t)),
    await wiki.build(t, { ACCESS: 'read-only' }),
    await wiki.build(t, { WRITES_PER_MINUTE: '1' })
  ]
  const port = Number(new URL(await open.listen({ port: 0, host: '127.0.0.1' })).port)
  const document = await documentOf(open)
  const json = { 'content-type': 'application/json' }
  await limited.inject({ method: 'PUT', url: '/api/v1/pages/a', payload: { content: 'one' } })
  for (let count = 0; count < 5; count++) {
    await limited.inject({ method: 'POST', url: '/api/v1/preview', payload: { content: 'one' } })
  }
  assert.deepEqual(document.components.securitySchemes.token.scheme, 'bearer')

  const writes = operationsIn(document).filter(({ method }) => method !== 'GET')
  assert.deepEqual(writes.map(({ method, path }) => `${method} ${path}`).sort(), [
    'DELETE /files/{file}', 'DELETE /pages/{name}', 'PATCH /files/{file}', 'POST /files', 'POST /import',
    'POST /pages/{name}/rename',
    'POST /pages/{name}/revert', 'POST /preview', 'POST /short-links', 'PUT /pages/{name}', 'PUT /short-links/{id}'
  ])
  for (const { path: template, method, responses, security } of operationsIn(document)) {
    const isWrite = method !== 'GET'
    assert.deepEqual(security, isWrite ? [{ token: [] }, {}] : undefined, template)
    const url = `/api/v1${template.replace(/\{\w+\}/g, 'a')}`
    const ask = async (
      /** @type {number} */ expected,
      /** @type {App} */ app,
      /** @type {Record<string, string>} */ headers = {},
      /** @type {string | undefined} */ payload = undefined
    ) => {
      const label = `${method} ${template} ${expected}`
      const answer = await app.inject({ method: /** @type {'GET'} */ (method), url, headers, payload })
      assert.equal(answer.statusCode, expected, `${label}: ${answer.body}`)
      assert.ok(responses[expected]?.content['application/problem+json'], label)
      assert.match(String(answer.headers['content-type']), /^application\/problem\+json/, label)
    }
    if (isWrite) {
      await ask(401, users, json, '{}')
      await ask(401, users, { ...json, authorization: 'Bearer wrong' }, '{}')
      await ask(403, users, { ...json, ...bearer('reader') }, '{}')
      await ask(403, readOnly, json, '{}')
      await ask(403, open, { ...json, 'sec-fetch-site': 'cross-site' }, '{}')
      await ask(429, limited, json, '{}')
      await ask(415, open, { 'content-type': 'text/plain' }, 'x')
      if (!['POST /files', 'POST /import'].includes(`${method} ${template}`)) {
        await ask(413, open, json, 'x'.repeat(4_000_000))
      }
    }
    assert.equal(await rawStatus(port, `${method} ${url} HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`), 431)
  }
})

test('where saves are answered before they are stored, the document says so', async (t) => {
  const app = await wiki.build(t, { WRITE_STRATEGY: 'unsafe-async' })
  const document = await documentOf(app)
  assert.ok(isOpenapi(document), JSON.stringify(isOpenapi.errors, null, 1))
  const { put } = document.paths['/pages/{name}']
  const { get: status } = document.paths['/saves/{id}']
  assert.deepEqual(Object.keys(put.responses).filter((code) => Number(code) < 300), ['202'])
  const text = JSON.stringify(document.components.schemas)
  const schemas = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'))
  const isSave = ajv.compile({ ...schemas.Save, $defs: schemas })
  for (const { content } of [put.responses[202], status.responses[200]]) {
    assert.deepEqual(content['application/json'].schema, { $ref: '#/components/schemas/Save' })
    assert.ok(isSave(content['application/json'].example), JSON.stringify(isSave.errors))
  }
  const saves = ['*', '"none"'].map((tag) => app.inject({
    method: 'PUT', url: '/api/v1/pages/a', headers: { 'if-none-match': tag }, payload: { content: 'text' }
  }))
  for (const { statusCode, json } of await Promise.all(saves)) {
    assert.equal(statusCode, 202)
    assert.ok(isSave(json()), JSON.stringify(isSave.errors))
    const { url } = json()
    assert.ok(await waitUntil(async () => (await get(app, url)).json().status !== 'pending', 60_000))
    assert.ok(isSave((await get(app, url)).json()), JSON.stringify(isSave.errors))
  }
})

test('where saves wait in Redis, the document says so of short addresses, too', async (t) => {
  const [port] = await freePorts(1)
  const app = await wiki.build(t, { WRITE_STRATEGY: 'unsafe-write-behind', REDIS_URL: `redis://127.0.0.1:${port}` })
  const document = await documentOf(app)
  assert.ok(isOpenapi(document), JSON.stringify(isOpenapi.errors, null, 1))
  const making = [document.paths['/short-links'].post, document.paths['/short-links/{id}'].put]
  for (const { responses } of making) {
    assert.deepEqual(Object.keys(responses).filter((code) => Number(code) < 300), ['200', '202'])
    assert.deepEqual(responses[202].content['application/json'].schema, { $ref: '#/components/schemas/ShortLink' })
  }
})
