import assert from 'node:assert/strict'
import http from 'node:http'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { render } from '@stevec/nginx'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { request } from '@stevec/harness/request'
import { startRole } from './helper.js'

describe('the origin\'s proxy with two wikis', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let origin
  /** @type {number} */
  let otherPort
  /** @type {http.Server} */
  let other
  /** Requests that reached either wiki. @type {string[]} */
  const arrived = []

  /** @type {http.RequestListener} */
  function wiki (incoming, response) {
    if (incoming.url === '/readyz') {
      response.end('ready')
      return
    }
    arrived.push(`${incoming.method} ${incoming.url}`)
    if (incoming.url?.startsWith('/breaks')) incoming.socket.destroy()
    else incoming.resume().on('end', () => response.end('done'))
  }

  before(async () => {
    ;[otherPort] = await freePorts(1)
    other = http.createServer(wiki).listen(otherPort, '127.0.0.1')
    await once(other, 'listening')
    origin = await startRole('origin', wiki, { others: [otherPort], requestsAtOnceMax: 100 })
  })
  after(async () => {
    await origin.stop()
    other.closeAllConnections()
    other.close()
    await releasePorts([otherPort])
  })

  const bodies = /** @type {const} */ ([
    ['GET', undefined], ['PUT', 'text'], ['PUT', ''], ['PUT', 'x'.repeat(200_000)], ['DELETE', undefined],
    ['DELETE', 'text'], ['PATCH', 'text'], ['POST', 'text'], ['POST', '']
  ])
  for (const [index, [method, body]] of bodies.entries()) {
    const size = body === undefined ? 'no body' : `a body of ${body.length} bytes`
    test(`sends ${method} with ${size} ${method === 'GET' ? 'again' : 'once'} if a wiki breaks off`, async () => {
      arrived.length = 0
      const path = `/breaks/${index}`
      const { status } = await request(`${origin.url('source.localhost')}${path}`, { method, body })
      assert.equal(status, 502)
      assert.deepEqual(arrived, Array.from({ length: method === 'GET' ? 2 : 1 }, () => `${method} ${path}`))
      assert.deepEqual((await origin.log(path, 1)).map((line) => line.method), [method])
    })
  }

  test('sends every method to the other wiki if one refuses the connection', async () => {
    const closed = once(other, 'close')
    other.close()
    other.closeAllConnections()
    await closed
    for (const [method, body] of [...bodies, ...bodies]) {
      const answer = await request(`${origin.url('source.localhost')}/page`, { method, body })
      assert.deepEqual([method, answer.status, answer.body], [method, 200, 'done'])
    }
  })
})

test('without the Lua module an edit is sent to one wiki only, whatever becomes of it', () => {
  const text = render(
    { role: 'origin', port: 80, wikiPort: [3000, 3001] }, { directory: '/d', modulesDirectory: '', user: '' })
  assert.match(text, /location @once \{[^}]*proxy_next_upstream off;/)
  assert.doesNotMatch(text, /_by_lua/)
})
