import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { breakPage, BROWSER, createLog, get, readMetrics, save, useWiki } from './helper.js'
import { bearer, PASSWORD, peopleOnly } from './people.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const WAIT_MAX_MS = 60_000

const wiki = useWiki()

/**
 * @param {string} text
 * @param {string} series
 */
const valueOf = (text, series) =>
  Number(text.split('\n').find((line) => line.startsWith(`${series} `))?.slice(series.length + 1))

/**
 * Matches what the wiki logs during the start: the wait for the database, and the calls of /readyz.
 * @param {Record<string, any>} line
 */
const isOfStart = ({ msg, url }) => url === '/readyz' || /^database (not usable|found)/.test(msg)

/**
 * Starts the wiki as a separate process, which ends with its test, and collects its log lines.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} settings
 */
async function start (t, settings) {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, PORT: '0', MONGODB_URI: wiki.freshUri(), ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  })
  /** @type {Record<string, any>[]} */
  const lines = []
  createInterface(child.stderr).on('line', (text) => {
    const line = JSON.parse(text)
    if (!isOfStart(line)) lines.push(line)
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const port = Number(/:(\d+)$/.exec(line)?.[1])
  // On a busy machine the wiki may listen before it finds the database.
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  assert.ok(await waitUntil(isReady, WAIT_MAX_MS))
  return {
    lines,
    /**
     * @param {string} method
     * @param {string} path
     * @param {Record<string, string>} [headers]
     * @param {string} [body]
     * @returns {Promise<number | undefined>} status
     */
    ask: (method, path, headers = {}, body = '') => new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode))
      }).once('error', reject).end(body)
    })
  }
}

test('metrics count requests, saves, conflicts and renders, with few label values', async (t) => {
  const [port] = await freePorts(1)
  const app = await wiki.build(t, { METRICS_PORT: String(port) })
  await save(app, 'a', 'text')
  await save(app, 'a', 'more')
  assert.equal((await save(app, 'a', 'x', { 'if-none-match': '*' })).statusCode, 412)
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  for (let count = 0; count < 50; count++) {
    await get(app, `/wiki/${count}?q=${count}`)
    await get(app, `/nowhere/${count}`)
  }
  await app.inject({ method: /** @type {'GET'} */ ('PROPFIND'), url: '/wiki/a' })

  const { status, text } = await readMetrics(port)
  assert.equal(status, 200)
  const duration = 'wiki_http_request_duration_seconds_count'
  assert.equal(valueOf(text, `${duration}{route="/wiki/*",method="GET",status_class="4xx"}`), 50)
  assert.equal(valueOf(text, `${duration}{route="none",method="GET",status_class="4xx"}`), 50)
  assert.equal(valueOf(text, `${duration}{route="/wiki/*",method="POST",status_class="2xx"}`), 2)
  assert.equal(valueOf(text, `${duration}{route="none",method="other",status_class="4xx"}`), 1)
  assert.equal(text.match(new RegExp(`^${duration}`, 'gm'))?.length, 6, 'one series per route, method and status class')
  assert.equal(valueOf(text, 'wiki_saves_total{kind="save"}'), 2)
  assert.equal(valueOf(text, 'wiki_saves_total{kind="remove"}'), 1)
  assert.equal(valueOf(text, 'wiki_conflicts_total'), 1)
  assert.equal(valueOf(text, 'wiki_render_duration_seconds_count'), 3)
  assert.equal(valueOf(text, 'wiki_database_up'), 1)
  assert.match(text, /^nodejs_eventloop_lag_seconds /m)
  assert.match(text, /^process_cpu_seconds_total /m)
  assert.doesNotMatch(text, /nowhere|q=/)

  assert.equal((await readMetrics(port, '/')).status, 404)
  assert.equal((await readMetrics(port, '/metrics?x')).status, 404)
  assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status, 404)
  assert.equal((await get(app, '/metrics')).statusCode, 404, 'the port of the wiki does not serve the metrics')
})

test('the metrics show that the database is unreachable', async (t) => {
  const [port, nothing] = await freePorts(2)
  await wiki.build(t, { METRICS_PORT: String(port), MONGODB_URI: `mongodb://127.0.0.1:${nothing}/wiki` })
  assert.equal(valueOf((await readMetrics(port)).text, 'wiki_database_up'), 0)
})

test('a metrics port in use stops the start with a clear error, and the metrics end with the wiki', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => { other.close() })
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address())
  await assert.rejects(
    buildApp(readConfig({ MONGODB_URI: wiki.freshUri(), LOG_LEVEL: 'silent', METRICS_PORT: String(port) })),
    { message: new RegExp(`^METRICS_PORT=${port} cannot be used on METRICS_HOST=127\\.0\\.0\\.1: .*EADDRINUSE`) }
  )

  const [own] = await freePorts(1)
  const app = await buildApp(readConfig({
    MONGODB_URI: wiki.freshUri(),
    LOG_LEVEL: 'silent',
    METRICS_PORT: String(own)
  }))
  assert.equal((await readMetrics(own)).status, 200)
  await app.close()
  await assert.rejects(readMetrics(own))
})

test('an error shows a request ID: that of the proxy if it is safe, otherwise a new one', async (t) => {
  const app = await wiki.build(t)
  const idOf = async (/** @type {Record<string, string>} */ headers) =>
    (await get(app, '/nowhere', headers)).json().request_id
  for (const id of ['a', 'A-b_c.9', 'x'.repeat(64)]) assert.equal(await idOf({ 'x-request-id': id }), id)
  const made = []
  for (const id of ['', 'x'.repeat(65), 'a b', '<script>', 'a"b', 'a,b', 'č', '$(id)', 'a\tb']) {
    made.push(await idOf({ 'x-request-id': id }))
  }
  for (const id of made) assert.match(id, /^[0-9a-f]{8}-\d+$/)
  assert.equal(new Set(made).size, made.length)
  assert.match(
    (await get(app, '/nowhere', { ...BROWSER, 'x-request-id': 'abc' })).body,
    /If you report this, name its number: <code>abc<\/code>/
  )
  assert.equal((await get(app, '/wiki/%zz', { 'x-request-id': 'abc' })).json().request_id, 'abc')

  await save(app, 'a', 'text')
  for (const url of ['/wiki/a', '/', '/history/a', '/raw/a', '/changes', '/changes.atom', '/favicon.ico']) {
    const answer = await get(app, url, { 'x-request-id': 'abc-def' })
    assert.match(String(answer.headers['cache-control']), /public/)
    assert.doesNotMatch(answer.body + JSON.stringify(answer.headers), /abc-def/, url)
  }
})

test('at log level info each request has one line, and no line contains a secret', async (t) => {
  const { ask, lines } = await start(t, { LOG_LEVEL: 'info', ...peopleOnly(t) })
  const secrets = { cookie: 'session=SECRET', 'x-request-id': 'abc', 'user-agent': 'SECRET' }
  await ask('GET', '/wiki/a%20b?q=SECRET', secrets)
  await ask('POST', '/wiki/a', { ...bearer('editor'), 'content-type': 'text/markdown' }, 'SECRET')
  await ask(
    'POST',
    '/edit/sign-in?to=SECRET',
    { 'content-type': 'application/x-www-form-urlencoded' },
    new URLSearchParams({ name: 'editor', password: PASSWORD }).toString()
  )
  await ask(
    'POST',
    '/edit/sign-in',
    { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Bearer SECRET' },
    'name=SECRET&password=SECRET'
  )
  await ask('GET', `/${'x'.repeat(5_000)}?SECRET`)
  await ask('GET', '/wiki/%zz?SECRET')
  const requests = () => lines.filter(({ msg }) => msg === 'request')
  assert.ok(await waitUntil(async () => requests().length >= 6, WAIT_MAX_MS))
  assert.deepEqual(requests().map(({ method, route, url, status }) => [method, route, url.slice(0, 20), status]), [
    ['GET', '/wiki/*', '/wiki/a%20b', 404],
    ['POST', '/wiki/*', '/wiki/a', 201],
    ['POST', '/edit/sign-in', '/edit/sign-in', 303],
    ['POST', '/edit/sign-in', '/edit/sign-in', 401],
    ['GET', null, `/${'x'.repeat(19)}`, 404],
    ['GET', null, '/wiki/%zz', 400]
  ])
  for (const line of requests()) {
    assert.equal(line.level, 30)
    assert.ok(line.duration_ms >= 0)
    assert.ok(line.url.length <= 500)
  }
  assert.equal(requests()[0].request_id, 'abc')
  assert.equal(new Set(requests().map(({ request_id: id }) => id)).size, 6)
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(`SECRET|${PASSWORD}|stevec_editor|session=`))
})

test('page views on the fast path are counted, timed and logged like those through Fastify', async (t) => {
  const { logTo, lines: logged } = createLog()
  const [port] = await freePorts(1)
  const app = await wiki.build(t, { METRICS_PORT: String(port), LOG_LEVEL: 'info' }, {}, { logTo })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await save(app, 'a', 'text')
  const handled = t.mock.fn()
  subscribe('tracing:fastify.request.handler:start', handled)
  t.after(() => unsubscribe('tracing:fastify.request.handler:start', handled))

  const etag = String((await get(app, '/wiki/a')).headers.etag)
  handled.mock.resetCalls()
  const ask = async (
    /** @type {string} */ method, /** @type {string} */ url, /** @type {Record<string, string>} */ headers = {}
  ) =>
    (await fetch(address + url, { method, headers: { 'cache-control': 'max-age=0', ...headers } })).status
  assert.equal(await ask('GET', '/wiki/a', { 'x-request-id': 'first' }), 200)
  assert.equal(await ask('GET', '/wiki/a', { 'x-request-id': 'second', 'if-none-match': etag }), 304)
  assert.equal(await ask('GET', '/wiki/a', { 'x-request-id': '"' }), 200)
  assert.equal(handled.mock.callCount(), 0)
  assert.equal(await ask('HEAD', '/wiki/a', { 'x-request-id': 'third' }), 200)
  assert.equal(await ask('GET', '/wiki/none', { 'x-request-id': 'fourth' }), 404)
  assert.equal(handled.mock.callCount(), 2)

  const lines = () => logged.filter(({ msg }) => msg === 'request').slice(2)
  assert.ok(await waitUntil(() => lines().length === 5, WAIT_MAX_MS))
  for (const { level, duration_ms: durationMs } of lines()) assert.ok(level === 30 && durationMs > 0)
  assert.match(lines()[2].request_id, /^[0-9a-f]{8}-\d+$/)
  const view = { route: '/wiki/*', url: '/wiki/a', method: 'GET', status: 200, unlogged: 0 }
  const seen = lines().map(({ request_id: id, route, url, method, status, unlogged }) =>
    ({ id, route, url, method, status, unlogged }))
  assert.deepEqual(seen, [
    { id: 'first', ...view }, { id: 'second', ...view, status: 304 },
    { id: lines()[2].request_id, ...view }, { id: 'third', ...view, method: 'HEAD' },
    { id: 'fourth', ...view, url: '/wiki/none', status: 404, unlogged: undefined }
  ])

  const { text } = await readMetrics(port)
  const valuesOf = (/** @type {string} */ part, /** @type {string} */ labels) =>
    valueOf(text, `wiki_http_request_duration_seconds_${part}{${labels}}`)
  for (const [method, kind, count] of /** @type {const} */ ([
    ['GET', '2xx', 3], ['GET', '3xx', 1], ['HEAD', '2xx', 1], ['GET', '4xx', 1], ['POST', '2xx', 1]
  ])) {
    const labels = `route="/wiki/*",method="${method}",status_class="${kind}"`
    assert.equal(valuesOf('count', labels), count, labels)
    assert.equal(valuesOf('bucket', `le="+Inf",${labels}`), count)
    assert.ok(valuesOf('bucket', `le="0.001",${labels}`) <= valuesOf('bucket', `le="10",${labels}`))
    assert.ok(valuesOf('sum', labels) > 0)
  }
})

test('a busy wiki logs some page views with the number of those left out, and all other requests', async (t) => {
  const { ask, lines } = await start(t, { LOG_LEVEL: 'info', LOG_VIEWS_PER_S: '2', QUEUE_WAIT_MAX_MS: '0' })
  const requests = () => lines.filter(({ msg }) => msg === 'request')
  const views = () => requests().filter(({ method, status }) => method === 'GET' && status === 200)
  assert.equal(await ask('POST', '/wiki/a', { 'content-type': 'text/markdown' }, 'text'), 201, JSON.stringify(lines))
  let asked = 0
  const view = async (/** @type {string} */ query) => {
    asked++
    assert.equal(await ask('GET', `/wiki/a${query}`), 200)
  }
  // Fastify handles requests with a query; the fast path handles the others.
  await Promise.all(Array.from({ length: 200 }, (_, index) => view(index % 2 === 0 ? '' : '?x')))
  assert.equal(await ask('GET', '/wiki/none'), 404)
  const told = () => views().reduce((sum, { unlogged }) => sum + 1 + unlogged, 0)
  // The first view of a later second is logged, with the number of unlogged views before it.
  const isAllTold = async () => {
    await view('')
    return waitUntil(() => told() === asked, 1_500, 20)
  }
  assert.ok(await waitUntil(isAllTold, 2 * WAIT_MAX_MS), `${told()} of ${asked}`)
  assert.ok(views().length < asked / 2 && views().some(({ unlogged }) => unlogged > 0), `${views().length} of ${asked}`)
  assert.deepEqual(
    requests().filter((line) => !views().includes(line)).map(({ method, status }) => [method, status]),
    [['POST', 201], ['GET', 404]]
  )
})

test('at the default log level only an unexpected error has a line, with its request ID', async (t) => {
  const uri = wiki.freshUri()
  const { ask, lines } = await start(t, { MONGODB_URI: uri })
  assert.equal(await ask('POST', '/wiki/a', { 'content-type': 'text/markdown' }, 'text'), 201)
  await breakPage(uri, 'a')
  await ask('GET', '/favicon.ico')
  await ask('GET', '/nowhere')
  assert.equal(await ask('GET', '/wiki/a?q=SECRET', { 'x-request-id': 'abc', cookie: 'SECRET' }), 500)
  assert.ok(await waitUntil(async () => lines.length > 0, WAIT_MAX_MS))
  assert.deepEqual(
    lines.map(({ msg, request_id: id, url }) => [msg, id, url]),
    [['unexpected error', 'abc', '/wiki/a']]
  )
  assert.doesNotMatch(JSON.stringify(lines), /SECRET/)
})
