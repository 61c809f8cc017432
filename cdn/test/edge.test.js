import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import { createEdge } from '@stevec/cdn/edge'
import { cacheStatus, startRole } from '@stevec/nginx/test/helper'

test('createEdge purges the emulated edge through its control listener', async () => {
  const edge = await startRole('edge', (_incoming, response) =>
    response.setHeader('Cache-Control', 'public, max-age=60').end('page')
  )
  try {
    const page = `${edge.url('wiki.localhost')}/page`
    assert.equal(await cacheStatus(page), 'MISS')
    assert.equal(await cacheStatus(page), 'HIT')
    await createEdge(edge.control).purgeEverything()
    assert.equal(await cacheStatus(page), 'MISS')
  } finally {
    await edge.stop()
  }
})

test('the error of a refused purge gives the reason of the edge and does not show the token', async () => {
  const edge = await startRole('edge', (_incoming, response) => response.end())
  try {
    await assert.rejects(createEdge({ ...edge.control, token: 'not-the-token' }).purgeEverything(), (error) => {
      assert.match(String(error), /purge everything: 401, the control listener wants the bearer token/)
      assert.doesNotMatch(String(error), /not-the-token/)
      return true
    })
  } finally {
    await edge.stop()
  }
})

test('a purge at a port without a listener fails with ECONNREFUSED', async () => {
  const server = http.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise((resolve) => server.close(resolve))
  await assert.rejects(
    createEdge({ url: `http://127.0.0.1:${port}`, token: 'any' }).purgeEverything(),
    /purge everything: no answer \(ECONNREFUSED\)/
  )
})

test('createEdge purges by URL, tag, host and prefix, splits long lists, and can purge softly', async () => {
  const edge = await startRole('edge', (_incoming, response) =>
    response.setHeader('Cache-Control', 'public, max-age=60').setHeader('Cache-Tag', 'a').end('page')
  )
  try {
    const page = `${edge.url('wiki.localhost')}/page`
    const client = createEdge(edge.control)
    for (const [purge, status] of /** @type {[() => Promise<void>, string][]} */ ([
      [() => client.purgeUrls([...Array.from({ length: 150 }, (_item, index) => `${page}/${index}`), page]), 'MISS'],
      [() => client.purgeTags(['a']), 'MISS'],
      [() => client.purgeHosts(['wiki.localhost']), 'MISS'],
      [() => client.purgePrefixes(['wiki.localhost/pa']), 'MISS'],
      [() => client.purgeTags(['a'], { soft: true }), 'EXPIRED'],
      [() => client.purgeTags(['other']), 'HIT']
    ])) {
      await cacheStatus(page)
      await purge()
      assert.equal(await cacheStatus(page), status)
    }
  } finally {
    await edge.stop()
  }
})
