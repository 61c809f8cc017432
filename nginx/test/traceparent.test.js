import assert from 'node:assert/strict'
import test from 'node:test'
import { request } from '@stevec/harness/request'
import { startRole } from './helper.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`
const HOSTS = /** @type {const} */ ({ origin: 'source.localhost', edge: 'wiki.localhost', local: 'localhost' })
const ROLES = /** @type {(keyof typeof HOSTS)[]} */ (Object.keys(HOSTS))

for (const role of ROLES) {
  test(`${role} passes traceparent on, logs the trace's id, and one trace's page is another's HIT`, async (t) => {
    const nginx = await startRole(role, (_incoming, response) => {
      response.setHeader('Cache-Control', 'public, max-age=60').end('a page')
    })
    t.after(() => nginx.stop())
    const ask = (/** @type {string} */ path, /** @type {Record<string, string>} */ headers) =>
      request(`${nginx.url(HOSTS[role])}${path}`, { headers })

    await ask('/page', { traceparent: TRACEPARENT, tracestate: 'vendor=1' })
    assert.equal(nginx.arrived[0].headers.traceparent, TRACEPARENT)
    assert.equal(nginx.arrived[0].headers.tracestate, 'vendor=1')
    await ask('/page', { traceparent: TRACEPARENT.replace(TRACE, 'f'.repeat(32)) })
    assert.equal(nginx.arrived.length, role === 'origin' ? 2 : 1)

    const hostile = ['"}\\n{"uri":"/page', `${TRACEPARENT}x`, TRACEPARENT.toUpperCase(), 'x'.repeat(4_000)]
    for (const traceparent of hostile) await ask('/page', { traceparent })
    await ask('/page', {})
    const lines = await nginx.log('/page', 3 + hostile.length)
    assert.deepEqual(lines.map((line) => line.trace_id), [TRACE, 'f'.repeat(32), ...hostile.map(() => ''), ''])
  })
}
