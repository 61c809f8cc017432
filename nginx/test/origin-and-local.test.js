import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { request } from '../../loadgen/src/stack/doors.js'
import { cacheStatus, startRole } from './helper.js'

describe('the origin\'s reverse proxy', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let origin
  before(async () => {
    origin = await startRole('origin', (incoming, response) => {
      response.setHeader('Cache-Control', 'public, max-age=60').setHeader('ETag', '"strong"')
      let size = 0
      incoming.on('data', (chunk) => { size += chunk.length })
      incoming.on('end', () => response.end(`${incoming.method} of ${size} bytes for ${incoming.headers.host}`))
    })
  })
  after(() => origin.stop())

  test('hands every request on, with the host that was asked for, and adds no cache header', async () => {
    for (let count = 1; count <= 2; count++) {
      const { body, headers } = await request(`${origin.url('source.localhost')}/x`)
      assert.match(body, /^GET of 0 bytes for source\.localhost:\d+$/)
      assert.equal(headers.etag, '"strong"')
      assert.equal(headers['cf-cache-status'], undefined)
      assert.equal(origin.arrived.filter(({ url }) => url === '/x').length, count)
    }
  })

  test('uses its connections to the wiki again', async () => {
    await request(`${origin.url('source.localhost')}/first`)
    await request(`${origin.url('source.localhost')}/second`)
    const [first, second] = ['/first', '/second'].map((path) => origin.arrived.find(({ url }) => url === path))
    assert.ok(first?.socket.remotePort)
    assert.equal(first?.socket, second?.socket)
  })

  test('lets a body through that only the wiki may refuse', async () => {
    const { body } = await request(`${origin.url('source.localhost')}/x`, { method: 'POST', body: 'x'.repeat(3_000_000) })
    assert.match(body, /^POST of 3000000 bytes/)
  })
})

describe('the client\'s caching proxy', () => {
  /** @type {Awaited<ReturnType<typeof startRole>>} */
  let local
  before(async () => {
    local = await startRole('local', (incoming, response) => {
      response.setHeader('Cache-Control', 'public, max-age=60')
      response.end(`for ${incoming.headers.host}`)
    })
  })
  after(() => local.stop())

  test('stores, says so in a header of its own, and asks the origin by the origin\'s name', async () => {
    const target = `${local.url('localhost')}/x`
    assert.equal(await cacheStatus(target), 'MISS')
    const { body, headers } = await request(target)
    assert.equal(headers['x-cache-status'], 'HIT')
    assert.match(body, /^for source\.localhost/)
  })
})
