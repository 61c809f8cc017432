import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { BROWSER, get, save, submit } from './helper.js'

const RECOVERY_MAX_MS = 20_000
/** The driver looks for a server for 1.5 s; the rest is for slow machines. */
const REFUSAL_MAX_MS = 4_000

/**
 * Creates a database that can stop and start again with the same address and data.
 * @param {import('node:test').TestContext} t
 */
async function createPlace (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-outage-'))
  const [port] = await freePorts(1)
  /** @type {Awaited<ReturnType<typeof startMongod>> | null} */
  let mongod = null
  const place = {
    uri: `mongodb://127.0.0.1:${port}/wiki?replicaSet=stevec`,
    start: async () => { mongod = await startMongod({ port, directory }) },
    stop: async () => { await mongod?.stop(); mongod = null }
  }
  t.after(async () => { await place.stop(); rmSync(directory, { recursive: true, force: true }) })
  return place
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 */
async function build (t, uri) {
  const app = await buildApp(readConfig({ MONGODB_URI: uri, LOG_LEVEL: 'silent' }))
  t.after(() => app.close())
  return app
}

/** @param {import('fastify').FastifyInstance} app */
async function assertUnavailable (app) {
  const start = performance.now()
  const answers = await Promise.all([
    get(app, '/wiki/a'),
    get(app, '/'),
    save(app, 'a', 'x'),
    app.inject({ method: 'DELETE', url: '/wiki/a' }),
    get(app, '/edit/text/a'),
    get(app, '/readyz')
  ])
  assert.ok(performance.now() - start < REFUSAL_MAX_MS)
  for (const answer of answers) {
    assert.equal(answer.statusCode, 503, answer.body)
    assert.equal(answer.headers['retry-after'], '2')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.match(answer.json().detail, /cannot reach its database/)
  }
  assert.match((await get(app, '/wiki/a', BROWSER)).body, /<h1>Not possible just now<\/h1>/)
  assert.equal((await get(app, '/healthz')).statusCode, 200, 'the process itself is healthy')
  assert.equal((await get(app, '/wiki/stevec')).statusCode, 200)
}

test('the wiki starts without its database, answers 503, and works as soon as the database does', async (t) => {
  const place = await createPlace(t)
  const app = await build(t, place.uri)
  await assertUnavailable(app)
  await place.start()
  assert.ok(await waitUntil(async () => (await get(app, '/readyz')).statusCode === 200, RECOVERY_MAX_MS))
  assert.equal((await save(app, 'a', 'text')).statusCode, 201)
})

test('the wiki answers 503 during a database outage, and loses no page', async (t) => {
  const place = await createPlace(t)
  await place.start()
  const app = await build(t, place.uri)
  await save(app, 'a', 'text')

  await place.stop()
  await assertUnavailable(app)
  const form = await submit(app, 'a', { content: 'long & <work>', base_revision: '1' })
  assert.equal(form.statusCode, 503)
  assert.match(form.body, /role="alert">The wiki cannot reach its database\. Try again in a moment\. Nothing is lost/)
  assert.match(form.body, /<form method="post" action="\/wiki\/a">[^]*name="base_revision" value="1"/)
  assert.match(form.body, /readonly>\nlong &amp; &lt;work&gt;<\/textarea>/)
  assert.doesNotMatch(form.body, /Sign in/)

  await place.start()
  assert.ok(await waitUntil(async () => (await get(app, '/readyz')).statusCode === 200, RECOVERY_MAX_MS))
  const page = await get(app, '/wiki/a')
  assert.equal(page.statusCode, 200)
  assert.equal(page.headers['page-revision'], '1')
})

test('the application can be closed when its database never responds', async () => {
  const [port] = await freePorts(1)
  const app = await buildApp(readConfig({ MONGODB_URI: `mongodb://127.0.0.1:${port}/wiki`, LOG_LEVEL: 'silent' }))
  await app.close()
})
