import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import http2 from 'node:http2'
import https from 'node:https'
import { test } from 'node:test'
import tls from 'node:tls'
import { waitUntil } from '@stevec/harness/processes'
import { certificateFor, noOpenssl } from './certificate.js'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'
import { startRole } from './helper.js'

const HOST = 'wiki.test'
const BODY_BYTES = 200_000

/** @type {import('./edge-helper.js').Script} */
const script = (request, response, count) => {
  let bytes = 0
  request.on('data', (chunk) => { bytes += chunk.length })
  request.on('end', () => response
    .setHeader('Cache-Control', 'max-age=600')
    .setHeader('Cache-Tag', 'page')
    .end(`${request.method} ${count}, ${bytes} bytes, ${request.headers['x-forwarded-proto']}`))
}

/**
 * Opens an HTTP/2 connection that the end of the test closes.
 * @param {import('node:test').TestContext} t @param {number} port
 */
function http2Client (t, port) {
  const session = http2.connect(`https://127.0.0.1:${port}`, { servername: HOST, rejectUnauthorized: false })
  t.after(() => session.destroy())
  return {
    session,
    /** @param {http2.OutgoingHttpHeaders} headers @param {Buffer} [body]  sent without a Content-Length */
    async send (headers, body) {
      const stream = session.request({ ':authority': HOST, ...headers })
      stream.end(body)
      const [answer] = await once(stream, 'response')
      let text = ''
      for await (const chunk of stream.setEncoding('utf8')) text += chunk
      return { status: answer[':status'], cache: answer['cf-cache-status'], text }
    }
  }
}

/**
 * @param {number} port
 * @param {string} target
 * @param {string} [host]
 * @returns {Promise<{cache: unknown, text: string}>} by HTTP/1.1 over TLS
 */
async function get (port, target, host = HOST) {
  const request = https.get({
    host: '127.0.0.1', port, path: target, servername: HOST, rejectUnauthorized: false, agent: false, headers: { host }
  })
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return { cache: response.headers['cf-cache-status'], text }
}

/** @param {number} port @param {tls.ConnectionOptions} options */
async function connectTls (port, options) {
  const socket = tls.connect({ host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false, ...options })
  try {
    await once(socket, 'secureConnect')
    return {
      protocol: socket.alpnProtocol, version: socket.getProtocol(), serial: socket.getPeerCertificate().serialNumber
    }
  } finally {
    socket.destroy()
  }
}

test('the edge speaks HTTP/2 and HTTP/1.1 over TLS, and both share its cache', { skip: noOpenssl }, async (t) => {
  const { certificate, key } = certificateFor(t, HOST)
  const edge = await startEdge(t, script, { tls: { certificate, key } })
  const client = http2Client(t, edge.port)
  assert.deepEqual(await client.send({ ':path': '/a' }), { status: 200, cache: 'MISS', text: 'GET 1, 0 bytes, https' })
  assert.deepEqual(await get(edge.port, '/a'), { cache: 'HIT', text: 'GET 1, 0 bytes, https' })
  assert.equal((await client.send({ ':path': '/a' })).cache, 'HIT')
  assert.equal((await get(edge.port, '/a', `${HOST}:443`)).cache, 'HIT', 'the port of https is no part of the key')
  assert.equal((await get(edge.port, '/a', `${HOST}:80`)).cache, 'MISS', 'another port is')

  await edge.purge({ files: [`https://${HOST}/a`] })
  assert.equal((await client.send({ ':path': '/a' })).cache, 'MISS')
  await edge.purge({ tags: ['page'] })
  assert.equal((await client.send({ ':path': '/a' })).cache, 'MISS')
})

test('a body over HTTP/2 without a length reaches the origin whole', { skip: noOpenssl }, async (t) => {
  const { certificate, key } = certificateFor(t, HOST)
  const edge = await startEdge(t, script, { tls: { certificate, key } })
  const client = http2Client(t, edge.port)
  const saved = await client.send({ ':path': '/a', ':method': 'POST' }, Buffer.alloc(BODY_BYTES, 'x'))
  assert.deepEqual(saved, { status: 200, cache: 'DYNAMIC', text: `POST 1, ${BODY_BYTES} bytes, https` })
  const streams = await Promise.all(Array.from({ length: 20 }, (_, index) => client.send({ ':path': `/${index}` })))
  assert.deepEqual([...new Set(streams.map(({ text }) => text))], ['GET 1, 0 bytes, https'], 'streams side by side')
})

test('two different hosts in one HTTP/2 request are refused', { skip: noOpenssl }, async (t) => {
  const { certificate, key } = certificateFor(t, HOST)
  const edge = await startEdge(t, script, { tls: { certificate, key } })
  const client = http2Client(t, edge.port)
  const { status } = await client.send({ ':path': '/a', host: 'other.test' })
  assert.equal(status, 400)
  assert.equal(edge.arrived.length, 0)
})

test('only HTTP/1.1 is offered if HTTP/2 is off, and no TLS before 1.2 in any case', { skip: noOpenssl }, async (t) => {
  const { certificate, key } = certificateFor(t, HOST)
  const edge = await startEdge(t, script, { tls: { certificate, key, http2: false } })
  const { protocol, version } = await connectTls(edge.port, { ALPNProtocols: ['h2', 'http/1.1'] })
  assert.deepEqual([protocol, version], ['http/1.1', 'TLSv1.3'])
  assert.equal((await connectTls(edge.port, { maxVersion: 'TLSv1.2' })).version, 'TLSv1.2')
  const old = { minVersion: /** @type {const} */ ('TLSv1'), maxVersion: /** @type {const} */ ('TLSv1.1') }
  await assert.rejects(connectTls(edge.port, { ...old, ciphers: 'DEFAULT@SECLEVEL=0' }), /alert protocol version/i)
})

test('a renewed certificate is used after SIGHUP, and the cache stays', { skip: noOpenssl }, async (t) => {
  const [used, renewed] = [certificateFor(t, HOST), certificateFor(t, HOST)]
  const { certificate, key } = used
  const edge = await startEdge(t, script, { tls: { certificate, key } })
  assert.equal((await get(edge.port, '/a')).cache, 'MISS')
  const { serial } = await connectTls(edge.port, {})
  copyFileSync(renewed.certificate, certificate)
  copyFileSync(renewed.key, key)
  await edge.reload()
  const changed = async () => (await connectTls(edge.port, {})).serial !== serial
  assert.ok(await waitUntil(changed, WAIT_MAX_MS), 'the new certificate is presented')
  assert.equal((await get(edge.port, '/a')).cache, 'HIT')
})

test('an edge whose certificate cannot be read does not start, and says so', { skip: noOpenssl }, async (t) => {
  const { key } = certificateFor(t, HOST)
  await assert.rejects(
    startEdge(t, script, { tls: { certificate: '/nowhere/certificate.pem', key } }),
    /nginx refuses the configuration of its role edge: .*\/nowhere\/certificate\.pem/s
  )
})

for (const role of /** @type {const} */ (['origin', 'local'])) {
  test(`the role ${role} takes a certificate, too`, { skip: noOpenssl }, async (t) => {
    const { certificate, key } = certificateFor(t, 'localhost')
    const started = await startRole(role, (request, response) => response.end(`${request.url}`), {
      tls: { certificate, key }
    })
    t.after(() => started.stop())
    const port = Number(new URL(started.url(HOST)).port)
    assert.deepEqual((await http2Client(t, port).send({ ':path': '/a' })).text, '/a')
    assert.equal((await get(port, '/b')).text, '/b')
  })
}
