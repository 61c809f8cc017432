import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { test } from 'node:test'
import { certificateFor, noOpenssl } from './certificate.js'
import { startEdge } from './edge-helper.js'

/** @type {http.RequestListener} */
const answer = (request, response) => {
  request.resume().on(
    'end',
    () => response.setHeader('Cache-Control', 'max-age=60').end(`${request.method} ${request.headers.host}`)
  )
}

test('the edge connects to an https origin over TLS with SNI, for reads and writes', { skip: noOpenssl }, async (t) => {
  const certificate = certificateFor(t, 'origin.test')
  /** @type {Set<unknown>} */
  const names = new Set()
  const server = https.createServer({
    ...certificate.options,
    SNICallback: (name, done) => { names.add(name); done(null) }
  }, answer)
  const edge = await startEdge(t, server, {
    origin: { tls: true, host: 'origin.test', certificates: certificate.certificate }
  })
  assert.deepEqual([(await edge.get('/')).body, (await edge.get('/')).cache], [`GET ${edge.host}`, 'HIT'])
  assert.equal((await edge.get('/', {}, 'POST', 'x')).body, `POST ${edge.host}`)
  assert.deepEqual([...names], ['origin.test'])
})

test('the client gets a 502 if the origin\'s certificate is for another name or not trusted', {
  skip: noOpenssl
}, async (t) => {
  const certificate = certificateFor(t, 'origin.test')
  const other = certificateFor(t, 'origin.test')
  for (const origin of [
    { host: 'other.test', certificates: certificate.certificate },
    { host: 'origin.test', certificates: other.certificate }
  ]) {
    const edge = await startEdge(
      t,
      https.createServer(certificate.options, answer),
      { origin: { tls: true, ...origin } }
    )
    for (const method of ['GET', 'POST']) {
      assert.equal((await edge.get('/', {}, method)).status, 502, `${method}: ${edge.errors()}`)
    }
    assert.match(edge.errors(), /certificate/)
    await edge.stop()
  }
})

test('the edge connects to an origin at an IPv6 address', async (t) => {
  const edge = await startEdge(t, http.createServer(answer), { origin: { addresses: ['::1'] }, originListens: '::1' })
  assert.equal((await edge.get('/')).body, `GET ${edge.host}`)
  assert.equal((await edge.get('/', {}, 'POST', 'x')).body, `POST ${edge.host}`)
})

test('the edge skips addresses of the origin that do not answer, and sends a 502 if none does', async (t) => {
  const edge = await startEdge(t, http.createServer(answer), {
    origin: { addresses: ['127.0.0.2', '::1', '127.0.0.1'] }
  })
  assert.deepEqual([(await edge.get('/')).status, (await edge.get('/', {}, 'POST', 'x')).status], [200, 200])
  await edge.closeOrigin()
  assert.equal((await edge.get('/gone')).status, 502)
})
