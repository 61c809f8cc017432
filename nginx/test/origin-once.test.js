import assert from 'node:assert/strict'
import http from 'node:http'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { render } from '@stevec/nginx'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { startRole, WAIT_MAX_MS } from './helper.js'

/** Of both wikis. */
const READERS = 160
const LEAVES_EVERY_MS = 50

describe('the origin\'s proxy with two wikis', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let origin
  /** @type {number} */
  let otherPort
  /** @type {http.Server} */
  let other
  /** Requests that reached either wiki. @type {string[]} */
  const arrived = []
  /** The first wiki. */
  let hangs = false

  /** @type {http.RequestListener} */
  function wiki (incoming, response) {
    if (incoming.url === '/readyz') {
      if (!(hangs && incoming.socket.localPort !== otherPort)) response.end('ready')
      return
    }
    arrived.push(`${incoming.method} ${incoming.url}`)
    if (incoming.url === '/unfinished') response.write('begun')
    else if (incoming.url?.startsWith('/breaks')) incoming.socket.destroy()
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

  test('takes a wiki that hangs out, also while clients leave that were still reading its last answers', async () => {
    /** @type {http.ClientRequest[]} */
    const readers = []
    for (let reader = 0; reader < READERS; reader++) {
      const reading = http.get(`${origin.url('127.0.0.1')}/unfinished`).on('error', () => {})
      readers.push(reading)
      await once(reading, 'response')
    }
    hangs = true
    const isOut = () => origin.errors().includes('is not ready: timeout')
    // In each check's time, several leave.
    while (readers.length > 0 && !isOut()) {
      readers.pop()?.destroy()
      await sleep(LEAVES_EVERY_MS)
    }
    assert.ok(isOut(), 'before the last one has left')
    hangs = false
    assert.ok(await waitUntil(() => origin.errors().includes('is ready;'), WAIT_MAX_MS))
    for (const reading of readers) reading.destroy()
  })

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
