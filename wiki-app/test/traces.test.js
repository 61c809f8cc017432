import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { startTraceReceiver } from '@stevec/harness/trace-receiver'
import { readConfig } from '../src/config.js'
import { createLog, useWiki } from './helper.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('@stevec/harness/trace-receiver').ReceivedSpan} ReceivedSpan */

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const WAIT_MAX_MS = 60_000
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const SAMPLED = `00-${TRACE}-${PARENT}-01`

const wiki = useWiki()

/** @param {TestContext} t */
async function receiver (t) {
  const collector = await startTraceReceiver()
  t.after(() => collector.stop())
  return collector
}

/**
 * Builds a wiki that sends its traces to a collector, and listens.
 * @param {TestContext} t
 * @param {string} endpoint
 * @param {Record<string, string>} [settings]
 * @param {{logTo?: NodeJS.WritableStream, caches?: Parameters<typeof wiki.build>[2]}} [others]
 */
async function listening (t, endpoint, settings = {}, { logTo, caches = {} } = {}) {
  const app = await wiki.build(t, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...settings }, caches, { logTo })
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

/**
 * @param {{spans: ReceivedSpan[]}} collector
 * @param {(spans: ReceivedSpan[]) => boolean} isComplete
 */
async function received (collector, isComplete) {
  assert.ok(await waitUntil(async () => isComplete(collector.spans), WAIT_MAX_MS), JSON.stringify(collector.spans))
  return collector.spans
}

const named = (/** @type {ReceivedSpan[]} */ spans, /** @type {string} */ name) =>
  spans.filter((span) => span.name === name)
const has = (/** @type {string} */ name) => (/** @type {ReceivedSpan[]} */ spans) => named(spans, name).length > 0

/** @param {string} url @param {string} name @param {string} content @param {Record<string, string>} [headers] */
const post = (url, name, content, headers = {}) => fetch(`${url}/wiki/${encodeURIComponent(name)}`, {
  method: 'POST', headers: { 'content-type': 'text/markdown', ...headers }, body: content
})

test('a page view is a span with its read and the command to the database below it', async (t) => {
  const collector = await receiver(t)
  const { url } = await listening(t, collector.url, { OTEL_SERVICE_NAME: 'a wiki' })
  await post(url, 'Števeč', 'text')
  const response = await fetch(`${url}/wiki/${encodeURIComponent('Števeč')}?q=hidden`, {
    headers: { traceparent: SAMPLED }
  })
  assert.equal(response.status, 200)
  await fetch(`${url}/wiki/${encodeURIComponent('Števeč')}`, { headers: { traceparent: SAMPLED } })
  const spans = (await received(collector, (all) => named(all, 'GET /wiki/*').length === 2))
    .filter(({ trace_id: id }) => id === TRACE)
  const views = named(spans, 'GET /wiki/*')
  for (const view of views) {
    assert.equal(view.parent_id, PARENT, 'the parent is the one that the client has named')
    assert.equal(view.kind, 'server')
    assert.equal(view.service, 'a wiki')
    assert.deepEqual(view.attributes, {
      'http.request.method': 'GET',
      'url.path': '/wiki/%C5%A0teve%C4%8D',
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'http.route': '/wiki/*',
      'http.response.status_code': 200
    })
    const [read] = named(spans, 'read').filter(({ parent_id: parent }) => parent === view.span_id)
    const [find] = named(spans, 'find pages').filter(({ parent_id: parent }) => parent === read.span_id)
    assert.equal(find.kind, 'client')
    const { 'db.namespace': database, ...rest } = find.attributes
    assert.match(String(database), /^wiki_\d+$/)
    assert.deepEqual(rest, {
      'db.system.name': 'mongodb', 'db.operation.name': 'find', 'db.collection.name': 'pages'
    })
    assert.ok(view.start_ms <= read.start_ms && read.start_ms <= find.start_ms)
    assert.ok(find.end_ms <= read.end_ms && read.end_ms <= view.end_ms)
    assert.ok(Math.abs(view.start_ms - Date.now()) < WAIT_MAX_MS, 'by the wall clock')
  }
})

test('an edit shows its rendering, its transaction, and no text', async (t) => {
  const collector = await receiver(t)
  const { url } = await listening(t, collector.url)
  const secret = 'a-text-of-nobody-else'
  const response = await post(url, 'Page', secret, {
    traceparent: SAMPLED, cookie: `session=${secret}`, authorization: `Bearer ${secret}`, 'user-agent': secret
  })
  assert.equal(response.status, 201)
  const spans = await received(collector, has('POST /wiki/*'))
  const [root] = named(spans, 'POST /wiki/*')
  const [save] = named(spans, 'save page')
  assert.equal(save.parent_id, root.span_id)
  assert.equal(named(spans, 'render')[0].parent_id, save.span_id)
  const commands = spans.filter(({ kind }) => kind === 'client')
  assert.ok(has('commitTransaction')(commands))
  const { attributes } = named(commands, 'insert revisions')[0]
  assert.deepEqual([attributes['server.address'], attributes['db.collection.name']], ['127.0.0.1', 'revisions'])
  assert.ok(commands.every(({ trace_id: id }) => id === root.trace_id))
  await fetch(`${url}/search?q=${secret}`, { headers: { traceparent: SAMPLED } })
  await received(collector, has('GET /search'))
  assert.ok(!JSON.stringify(collector.spans).includes(secret))
})

/** @param {TestContext} t @param {string} uri */
async function watchedQueue (t, uri) {
  const client = await MongoClient.connect(uri)
  const queue = await client.db().createCollection('queue')
  const changes = queue.watch()
  t.after(async () => {
    await changes.close()
    await client.close()
  })
  /** @type {any[]} */
  const added = []
  changes.on('change', (change) => { if (change.operationType === 'insert') added.push(change.fullDocument) })
  return { queue, added }
}

test('what a traced edit leaves to the queue is done below it; an untraced one leaves no trace', async (t) => {
  const collector = await receiver(t)
  const uri = wiki.freshUri()
  const { queue, added } = await watchedQueue(t, uri)
  const { app, url } = await listening(t, collector.url, {
    MONGODB_URI: uri, OTEL_TRACES_SAMPLER: 'parentbased_always_off'
  })
  assert.equal((await post(url, 'Untraced', '[[B]]')).status, 201)
  assert.ok(await waitUntil(async () => added.length === 1 && await queue.countDocuments() === 0, WAIT_MAX_MS))
  assert.equal((await post(url, 'Traced', '[[A]] [[B]]', { traceparent: SAMPLED })).status, 201)
  await received(collector, has('process counts'))
  assert.ok(await waitUntil(() => added.length === 2, WAIT_MAX_MS))
  await app.close()

  const { spans } = collector
  const [sent, ...others] = named(spans, 'send counts')
  assert.deepEqual(added.map(({ traceparent }) => traceparent), [undefined, `00-${TRACE}-${sent.span_id}-01`])
  assert.deepEqual(others, [])
  const facts = (/** @type {string} */ operation) => ({
    'messaging.system': 'stevec',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.batch.message_count': 1,
    'messaging.destination.name': 'counts'
  })
  assert.deepEqual([sent.kind, sent.attributes], ['producer', facts('send')])
  assert.equal(named(spans, 'insert queue')[0].parent_id, sent.span_id)
  assert.equal(sent.parent_id, named(spans, 'save page')[0].span_id)
  const works = named(spans, 'process counts')
  assert.deepEqual(works.map(({ kind, attributes }) => [kind, attributes]), [['consumer', facts('process')]])
  assert.deepEqual([works[0].trace_id, works[0].parent_id, works[0].links], [TRACE, sent.span_id, []])
  const commands = spans.filter(({ parent_id: parent }) => parent === works[0].span_id).map(({ name }) => name)
  for (const name of ['delete queue', 'update targets', 'commitTransaction']) {
    assert.ok(commands.includes(name), `${name} in ${commands}`)
  }
})

test('work for several edits is below the first, and links to the others; if it fails, each is alone', async (t) => {
  const collector = await receiver(t)
  const uri = wiki.freshUri()
  const { queue } = await watchedQueue(t, uri)
  const content = { links: [], tags: [], missing: null }
  const entry = (/** @type {object} */ given) =>
    ({ kind: 'counts', name: 'A', content, done_up_to: '', due_at: new Date(), claim: null, failures: 0, ...given })
  const traces = ['1', '2'].map((digit) => digit.repeat(32))
  await queue.insertMany([
    ...traces.map((id) => entry({ traceparent: `00-${id}-${PARENT}-01` })),
    entry({ traceparent: 'nonsense' }),
    entry({}),
    entry({ traceparent: SAMPLED, content: null })
  ].map((each, index) => ({ ...each, due_at: new Date(Date.now() - 1000 + index) })))
  await listening(t, collector.url, { MONGODB_URI: uri, OTEL_TRACES_SAMPLER: 'parentbased_always_off' })
  const spans = await received(collector, (all) => named(all, 'process counts').length >= 4)
  // The failed one is tried again.
  const works = named(spans, 'process counts').sort((a, b) => a.start_ms - b.start_ms).slice(0, 4)
  const count = 'messaging.batch.message_count'
  assert.deepEqual(works.map(({ trace_id: id, attributes, failed }) => [id, attributes[count], failed]), [
    [traces[0], 5, true], [traces[0], 1, false], [traces[1], 1, false], [TRACE, 1, true]
  ])
  const links = [traces[1], TRACE].map((id) => ({ trace_id: id, span_id: PARENT }))
  assert.deepEqual([works[0].parent_id, works[0].links], [PARENT, links])
})

test('views that share a read of the database link to the one that has it', async (t) => {
  const collector = await receiver(t)
  const { url } = await listening(t, collector.url)
  await post(url, 'A', 'a', { traceparent: `00-${TRACE}-${PARENT}-00` })
  const { port } = new URL(url)
  // Pipelined requests arrive in one turn of the event loop.
  const socket = connect(Number(port), '127.0.0.1')
  t.after(() => socket.destroy())
  const traces = ['1', '2'].map((digit) => digit.repeat(32))
  socket.write(traces.map((id) =>
    `GET /wiki/A HTTP/1.1\r\nHost: wiki\r\ntraceparent: 00-${id}-${PARENT}-01\r\n\r\n`).join(''))
  const spans = await received(collector, (all) => named(all, 'GET /wiki/*').length === 2)
  const finds = named(spans, 'find pages')
  const [linked] = named(spans, 'read').filter(({ links }) => links.length > 0)
  // If they have come in two turns, each has its own.
  if (linked === undefined) return assert.equal(finds.length, 2)
  const [first] = named(spans, 'read').filter(({ trace_id: id }) => id !== linked.trace_id)
  assert.deepEqual(finds.map(({ parent_id: parent }) => parent), [first.span_id])
  assert.deepEqual(linked.links, [{ trace_id: first.trace_id, span_id: first.span_id }])
})

test('a ratio of 0 traces only requests that ask for it; with traceidratio none can ask', async (t) => {
  const collector = await receiver(t)
  const wikis = []
  for (const sampler of ['parentbased_traceidratio', 'traceidratio']) {
    wikis.push(await listening(t, collector.url, {
      OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0', OTEL_SERVICE_NAME: sampler
    }))
  }
  for (const { url } of wikis) {
    await fetch(`${url}/tags`, { headers: { traceparent: SAMPLED } })
    for (const traceparent of [`00-${TRACE}-${PARENT}-00`, 'nonsense', '00-x-y-01', `${SAMPLED}, ${SAMPLED}`]) {
      assert.equal((await fetch(`${url}/pages`, { headers: { traceparent } })).status, 200)
    }
    assert.equal((await fetch(`${url}/pages`)).status, 200)
  }
  for (const { app } of wikis) await app.close()
  assert.deepEqual(named(collector.spans, 'GET /tags').map(({ service }) => service), ['parentbased_traceidratio'])
  assert.deepEqual(named(collector.spans, 'GET /pages'), [])
})

test('untraced requests stay out of the traces that run beside them', async (t) => {
  const collector = await receiver(t)
  const { app, url } = await listening(t, collector.url, {
    OTEL_TRACES_SAMPLER: 'parentbased_always_off', PAGE_READS_AT_ONCE: '1'
  })
  await post(url, 'A', 'a')
  const paths = Array.from({ length: 60 }, (_, index) => index % 2 === 0 ? '/pages' : '/wiki/A')
  const statuses = await Promise.all(paths.map(async (path, index) => {
    /** @type {Record<string, string>} */
    const headers = index < 2 ? { traceparent: SAMPLED } : {}
    return (await fetch(url + path, { headers })).status
  }))
  assert.ok(statuses.every((status) => status === 200))
  await app.close()
  const roots = collector.spans.filter(({ kind }) => kind === 'server')
  assert.equal(roots.length, 2)
  assert.equal(named(collector.spans, 'find pages').filter(({ parent_id: parent }) =>
    named(collector.spans, 'read').some(({ span_id: id }) => id === parent)).length, 1)
})

test('an error is marked, without its message; a client that goes away ends its span', async (t) => {
  const collector = await receiver(t)
  const { url } = await listening(t, collector.url)
  const refused = await post(url, 'Page', 'text', { traceparent: SAMPLED, 'if-match': '"7"' })
  assert.equal(refused.status, 412)
  const spans = await received(collector, has('POST /wiki/*'))
  const [root] = named(spans, 'POST /wiki/*')
  assert.equal(root.attributes['http.response.status_code'], 412)
  assert.ok(!root.failed, 'the fault is the client\'s')
  const [save] = named(spans, 'save page')
  assert.ok(save.failed && String(save.attributes['error.type']).startsWith('WIKI_'))

  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`POST /wiki/Late HTTP/1.1\r\nHost: wiki\r\ntraceparent: ${SAMPLED}\r\n` +
    'Content-Type: text/markdown\r\nContent-Length: 10\r\n\r\nhalf')
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.destroy()
  const gone = (/** @type {ReceivedSpan[]} */ all) =>
    all.some(({ attributes }) => attributes['error.type'] === 'client_closed')
  await received(collector, gone)
})

test('a collector that is away is logged once and costs no request; the spans before the end are sent', async (t) => {
  const [port] = await freePorts(1)
  const { lines, logTo } = createLog()
  const { app, url } = await listening(t, `http://127.0.0.1:${port}`, {}, { logTo })
  for (let index = 0; index < 50; index++) assert.equal((await fetch(`${url}/pages`)).status, 200)
  const isLogged = async () => lines.some(({ msg }) => /collector of traces takes none.*ECONNREFUSED/.test(msg))
  assert.ok(await waitUntil(isLogged, WAIT_MAX_MS))
  assert.equal(lines.length, 1, JSON.stringify(lines))

  const collector = await startTraceReceiver({ port })
  t.after(() => collector.stop())
  await fetch(`${url}/tags`)
  const isBack = async () => lines.some(({ msg }) => /takes them again/.test(msg))
  assert.ok(await waitUntil(isBack, WAIT_MAX_MS))
  await fetch(`${url}/wanted`)
  await app.close()
  assert.ok(has('GET /wanted')(collector.spans), 'the end sends what waits')
})

test('a collector that never answers does not hold the wiki\'s end', async (t) => {
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  const silent = createServer((socket) => { sockets.push(socket.on('error', () => {})) })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  t.after(() => { for (const socket of sockets) socket.destroy(); silent.close() })
  const { port } = /** @type {import('node:net').AddressInfo} */ (silent.address())
  const { app, url } = await listening(t, `http://127.0.0.1:${port}`)
  await fetch(`${url}/pages`)
  const beganMs = performance.now()
  await app.close()
  assert.ok(performance.now() - beganMs < 10_000)
})

/**
 * Starts the wiki as processes of its own.
 * @param {TestContext} t
 * @param {Record<string, string>} settings
 * @param {string[]} [args]  of Node
 */
async function start (t, settings, args = []) {
  const child = spawn(process.execPath, [...args, SERVER], {
    env: { PATH: process.env.PATH, PORT: '0', MONGODB_URI: wiki.freshUri(), ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk) => { said += chunk })
  const [line] = await once(createInterface(child.stdout), 'line')
  const url = /http:\S+/.exec(line)?.[0] ?? ''
  assert.ok(await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, WAIT_MAX_MS), said)
  return {
    url,
    said: () => said,
    async end () {
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
      return child.exitCode
    }
  }
}

test('without a collector no module of OpenTelemetry is loaded', async (t) => {
  const collector = await receiver(t)
  // Its packages are CommonJS, also when they are imported.
  const hook = `data:text/javascript,${encodeURIComponent(`
    import Module from 'node:module'
    process.on('SIGTERM', () => {
      const loaded = Object.keys(Module._cache).filter((file) => file.includes('@opentelemetry'))
      process.stderr.write('LOADED ' + loaded.length + '\\n')
    })`)}`
  const loadedBy = async (/** @type {Record<string, string>} */ settings) => {
    const { url, end, said } = await start(t, settings, ['--import', hook])
    await post(url, 'A', 'text')
    await fetch(`${url}/wiki/A`)
    await fetch(`${url}/search?q=text`)
    assert.equal(await end(), 0, said())
    return Number(/LOADED (\d+)/.exec(said())?.[1])
  }
  assert.ok(await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }) > 10, 'the hook sees what is loaded')
  assert.equal(await loadedBy({ OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'wiki' }), 0)
})

test('several processes trace, too, and SIGTERM sends what waits', async (t) => {
  const collector = await receiver(t)
  const { url, end, said } = await start(t, { WORKERS: '2', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  await post(url, 'A', 'text')
  for (let index = 0; index < 6; index++) await fetch(`${url}/wiki/A`, { headers: { connection: 'close' } })
  assert.equal(await end(), 0, said())
  assert.equal(named(collector.spans, 'GET /wiki/*').length, 6)
  assert.equal(named(collector.spans, 'POST /wiki/*').length, 1)
})

test('settings that make no sense are refused, and a key is not shown', () => {
  for (const [name, value, shown] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://user:key@host', false],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://host:4318/?key=1', false],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'key', false],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=a%0d%0ab', false],
    ['OTEL_TRACES_SAMPLER', 'sometimes', true],
    ['OTEL_TRACES_SAMPLER_ARG', '2', true],
    ['OTEL_TRACES_SAMPLER_ARG', '1 %', true]
  ]) {
    assert.throws(() => readConfig({ [String(name)]: String(value) }), ({ message }) =>
      message.startsWith(`${name}=`) && message.includes(String(value)) === shown)
  }
  const { OTEL_TRACES_SAMPLER_ARG: ratio } = readConfig({ OTEL_TRACES_SAMPLER_ARG: '0.01' })
  assert.equal(ratio, 0.01)
})
