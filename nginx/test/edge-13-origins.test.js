import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

const noOpenssl = spawnSync('openssl', ['version']).status !== 0 &&
  'openssl, which creates the certificates, is not installed'

/** Creates a self-signed certificate. @param {import('node:test').TestContext} t @param {string} name  of a host */
function certificateFor (t, name) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-certificate-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((file) => path.join(directory, file))
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', certificate
  ], { stdio: 'ignore' })
  return { file: certificate, options: { key: readFileSync(key), cert: readFileSync(certificate) } }
}

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
    origin: { tls: true, host: 'origin.test', certificates: certificate.file }
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
    { host: 'other.test', certificates: certificate.file },
    { host: 'origin.test', certificates: other.file }
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
