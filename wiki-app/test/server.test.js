import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '@stevec/harness/processes'
import { useWiki } from './helper.js'

const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))
const WAIT_MAX_MS = 60_000
/** Fewer than `net.core.somaxconn`, which is 4096 since Linux 5.4. */
const VISITORS = 1000

const wiki = useWiki()

/**
 * Starts the wiki as a separate process, which ends with its test at the latest.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} settings
 */
function start (t, settings) {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => { output.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text) => { output.stderr += text })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
  const listening = once(createInterface(child.stdout), 'line').then(([line]) => {
    const [, port] = /^wiki listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line) ?? []
    return Number(port)
  })
  return { child, ended, listening, output }
}

/** @param {number} port */
const refuses = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => { socket.destroy(); resolve(false) }).once('error', () => resolve(true))
})

for (const [settings, line] of /** @type {[Record<string, string>, RegExp][]} */ ([
  [
    { CACHE_TTL_S: 'soon' },
    /^wiki: CACHE_TTL_S="soon" is not allowed: it must be a whole number of seconds from 0 to 31536000 \(a year\)\n$/
  ],
  [{ MONGODB_URI: 'mysql://me:hunter2@host' }, /^wiki: MONGODB_URI=\(not shown, [^\n]*\n$/],
  [{ HOST: '203.0.113.1' }, /^wiki: cannot listen: [^\n]*203\.0\.113\.1[^\n]*; see HOST and PORT\n$/]
])) {
  test(`an unusable ${Object.keys(settings)} ends the process with exit code 1 and one line`, async (t) => {
    const { code, stdout, stderr } = await start(t, { MONGODB_URI: wiki.freshUri(), ...settings }).ended
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, line)
  })
}

test('a port in use ends the process with exit code 1 and one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => { other.close() })
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address())
  const { code, stdout, stderr } = await start(t, { MONGODB_URI: wiki.freshUri(), PORT: String(port) }).ended
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.equal(
    stderr,
    `wiki: port ${port} on 127.0.0.1 is already in use; free it, or choose another with PORT (0 takes any free one)\n`
  )
})

for (const workers of ['1', '2']) {
  test(`a thousand visitors at once may wait for a wiki that is busy, with WORKERS=${workers}`, async (t) => {
    const { child, listening } = start(t, { MONGODB_URI: wiki.freshUri(), WORKERS: workers })
    const port = await listening
    // A stopped process accepts nothing. What its kernel does not keep stays without a connection.
    child.kill('SIGSTOP')
    const sockets = Array.from({ length: VISITORS }, () => connect(port, '127.0.0.1'))
    t.after(() => { for (const socket of sockets) socket.destroy() })
    let connected = 0
    const answers = sockets.map(async (socket) => {
      await once(socket, 'connect')
      connected += 1
      socket.write('GET /healthz HTTP/1.1\r\nHost: wiki\r\nConnection: close\r\n\r\n')
      const [first] = await once(socket.setEncoding('utf8'), 'data')
      return first.split('\r\n')[0]
    })
    assert.ok(await waitUntil(() => connected === VISITORS, WAIT_MAX_MS), `${connected} of ${VISITORS} have a connection`)
    child.kill('SIGCONT')
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 200 OK']))
  })
}

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  test(`after ${signal} the request in flight is completed, then the process ends with exit code 0`, async (t) => {
    const { child, ended, listening, output } = start(t, { MONGODB_URI: wiki.freshUri() })
    const port = await listening

    // The signal comes when the wiki has the head of this request and half of its body.
    const agent = new Agent({ keepAlive: true })
    const slow = request({
      port,
      host: '127.0.0.1',
      agent,
      method: 'POST',
      path: '/wiki/a',
      headers: { 'content-type': 'text/markdown', 'content-length': '8', expect: '100-continue' }
    })
    slow.flushHeaders()
    await once(slow, 'continue')
    slow.write('half')
    child.kill(signal)
    assert.ok(await waitUntil(() => refuses(port), WAIT_MAX_MS), 'new connections are refused')
    slow.end('half')

    const [response] = await once(slow, 'response')
    assert.equal(response.statusCode, 201)
    let body = ''
    for await (const part of response) body += part
    assert.equal(JSON.parse(body).content_bytes, 8)
    const { code } = await ended
    assert.equal(code, 0)
    assert.equal(output.stdout, `wiki listening on http://127.0.0.1:${port}\n`, 'there is no other output')
    assert.equal(output.stderr, '')
    agent.destroy()
  })
}

test('idle connections, kept by a proxy or opened early by a browser, do not delay the shutdown', async (t) => {
  const { child, ended, listening } = start(t, { MONGODB_URI: wiki.freshUri() })
  const port = await listening

  const ahead = connect(port, '127.0.0.1')
  t.after(() => { ahead.destroy() })
  await once(ahead, 'connect')

  const agent = new Agent({ keepAlive: true })
  const [response] = await once(request({ port, host: '127.0.0.1', agent, path: '/healthz' }).end(), 'response')
  assert.equal(response.headers['keep-alive'], 'timeout=660', 'longer than a proxy keeps them')
  response.resume()
  await once(response, 'end')

  const signalled = performance.now()
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
  // After 8 s the process closes all connections (src/http/drain.js).
  assert.ok(performance.now() - signalled < 8_000)
  agent.destroy()
})

test('the database password is in no log line, even at log level trace', async (t) => {
  const { child, ended, listening } = start(t, {
    MONGODB_URI: wiki.freshUri().replace('mongodb://', 'mongodb://writer:hunter2@'),
    LOG_LEVEL: 'trace'
  })
  const port = await listening
  const [response] = await once(request({ port, host: '127.0.0.1', path: '/wiki/a' }).end(), 'response')
  assert.equal(response.statusCode, 503)
  response.resume()
  await once(response, 'end')
  child.kill('SIGTERM')
  const { code, stdout, stderr } = await ended
  assert.equal(code, 0)
  assert.match(stderr, /database not usable/)
  assert.doesNotMatch(stdout + stderr, /hunter2/)
})
