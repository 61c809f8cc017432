import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

/** The maximum number of items in one purge call. */
const ITEMS_MAX = 10_000

/** @type {import('./edge-helper.js').Script} */
const tagged = (request, response, count) => {
  const tags = new URL(String(request.url), 'http://origin').searchParams.get('tags') ?? 'own'
  response.setHeader('Cache-Control', 'max-age=600').setHeader('Cache-Tag', tags).end(`body ${count}`)
}

test('a purge of 2000 prefixes removes only responses whose URL starts with one of them', async (t) => {
  const edge = await startEdge(t, tagged)
  const urls = ['/kept', '/folder/1', '/folder/2/page', '/folder-two']
  for (const url of urls) await edge.get(url)
  const prefixes = Array.from({ length: 2_000 }, (_, index) => `${edge.host}/other/${index}`)
  await edge.purge({ prefixes })
  for (const url of urls) assert.equal((await edge.get(url)).cache, 'HIT', url)
  await edge.purge({ prefixes: [`${edge.host}/folder/`] })
  await edge.purge({ prefixes })
  const found = await Promise.all(urls.map(async (url) => (await edge.get(url)).cache))
  assert.deepEqual(found, ['HIT', 'MISS', 'MISS', 'HIT'])
})

test('purged prefixes of more lengths than the edge tracks remove too much, never too little', async (t) => {
  const edge = await startEdge(t, tagged)
  const long = `/${'x'.repeat(3_000)}`
  await edge.get(long)
  await edge.get('/kept')
  const prefixes = Array.from({ length: 1_500 }, (_, index) => `${edge.host}${'/'.padEnd(index + 1, 'y')}`)
  await edge.purge({ prefixes: prefixes.slice(1) })
  assert.deepEqual([(await edge.get(long)).cache, (await edge.get('/kept')).cache], ['HIT', 'HIT'])
  await edge.purge({ prefixes: [`${edge.host}${long}`] })
  assert.deepEqual([(await edge.get(long)).cache, (await edge.get('/kept')).cache], ['MISS', 'HIT'])
})

test('a purge of any tag removes a response with more tags than the edge keeps', async (t) => {
  const edge = await startEdge(t, tagged)
  const many = `/many?tags=${Array.from({ length: 1_500 }, (_, index) => `t${index}`).join()}`
  const get = async () => (await edge.get(many)).cache
  for (const tag of ['t0', 't1000', 't1499', 'another']) {
    assert.deepEqual([await get(), await get()], ['MISS', 'HIT'])
    await edge.purge({ tags: [tag] })
  }
  await edge.get('/few')
  await edge.purge({ tags: ['another'] })
  assert.equal((await edge.get('/few')).cache, 'HIT')
})

test('when the memory for purge marks is full, dropping the oldest removes only older responses', async (t) => {
  const edge = await startEdge(t, tagged)
  const old = '/old'
  await edge.get(old)
  let voided = false
  for (let call = 0; call < 16; call++) {
    const last = `/${call}?tags=last-${call}`
    await edge.get(last)
    await edge.purge({ tags: Array.from({ length: ITEMS_MAX }, (_, index) => `tag ${call} ${index}`) })
    assert.equal((await edge.get(last)).cache, 'HIT', `call ${call} purged none of its tags`)
    voided ||= (await edge.get(old)).cache !== 'HIT'
    await edge.purge({ tags: [`last-${call}`] })
    assert.equal((await edge.get(last)).cache, 'MISS')
  }
  assert.ok(voided, 'the marks did not all fit into the memory')
  assert.doesNotMatch(edge.errors(), /\[error\]|\[alert\]/)
})
