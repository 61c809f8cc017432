import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

/** @type {import('./edge-helper.js').Script} */
const script = (request, response) => {
  response.setHeader('Cache-Control', 'max-age=60')
    .setHeader('Vary', request.url === '/encoding' ? 'Accept-Encoding' : 'Accept-Language, X-Two')
  response.end(`${request.headers['accept-language']} ${request.headers['accept-encoding']}`)
}

test('rfc9111 stores one response for each combination of the headers that Vary names', async (t) => {
  const edge = await startEdge(t, script, { profile: 'rfc9111' })
  assert.equal((await edge.get('/', { 'accept-language': 'sl' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'en' })).cache, 'MISS')
  assert.equal((await edge.get('/')).cache, 'MISS')
  for (const [headers, body] of /** @type {[Record<string, string>, string][]} */ ([
    [{ 'accept-language': 'sl' }, 'sl undefined'],
    [{ 'accept-language': 'en' }, 'en undefined'],
    [{}, 'undefined undefined'],
    [{ 'accept-language': ' sl ', 'x-other': '1' }, 'sl undefined']
  ])) {
    const answer = await edge.get('/', headers)
    assert.deepEqual([answer.cache, answer.body], ['HIT', body])
  }
  assert.equal((await edge.get('/', { 'accept-language': 'sl', 'x-two': '1' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'sl, en' })).cache, 'MISS')
  assert.equal((await edge.get('/', { 'accept-language': 'sl,en' })).cache, 'HIT')
})

test('a purge of a URL removes all its variants', async (t) => {
  const edge = await startEdge(t, script, { profile: 'rfc9111' })
  for (const language of ['sl', 'en']) await edge.get('/', { 'accept-language': language })
  await edge.purge({ files: [`http://${edge.host}/`] })
  for (const language of ['sl', 'en']) {
    assert.equal((await edge.get('/', { 'accept-language': language })).cache, 'MISS')
  }
})

test('cloudflare ignores Vary except for Accept-Encoding', async (t) => {
  const edge = await startEdge(t, script)
  assert.equal((await edge.get('/', { 'accept-language': 'sl' })).cache, 'MISS')
  assert.deepEqual((await edge.get('/', { 'accept-language': 'en' })).body, 'sl identity')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'gzip, br' })).cache, 'MISS')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'br;q=1.0, gzip;q=0.8, *;q=0.1' })).cache, 'HIT')
  assert.equal((await edge.get('/encoding')).cache, 'MISS')
  assert.equal((await edge.get('/encoding', { 'accept-encoding': 'gzip;q=0' })).cache, 'HIT')
})
