import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWiki, start } from './logging-wiki.js'

const BEYOND_BOUND = 'public, max-age=0, s-maxage=3600, must-revalidate'

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  test(`a client that has seen a revision gets none before it from an edge that follows the log (${profile})`,
    async (t) => {
      const wiki = createWiki()
      const { edge, isFollowing } = await start(t, wiki, { profile })
      assert.ok(await isFollowing())
      await edge.get('/a')
      wiki.revision = 2
      assert.equal((await edge.get('/a')).body, 'revision 1', 'the log has not come yet')
      assert.equal((await edge.get('/a', { 'Page-Revision-Min': '1' })).cache, 'HIT')
      assert.equal((await edge.get('/a', { 'Page-Revision-Min': '2' })).body, 'revision 2')
      const [asked] = edge.arrived.filter(({ headers }) => headers['page-revision-min'] !== undefined)
      assert.equal(asked.headers['page-revision-min'], '2', 'so that the wiki reads again')
      assert.equal((await edge.get('/a', { 'Page-Revision-Min': '2' })).cache, 'HIT')
    })

  test(`an edge that follows no log ignores the header: it is no way around a shared cache (${profile})`, async (t) => {
    const wiki = createWiki()
    wiki.cacheControl = BEYOND_BOUND
    const { edge } = await start(t, wiki, { profile, follow: undefined })
    await edge.get('/a')
    wiki.revision = 2
    for (const least of ['1', '2', '999999']) {
      const { cache, body } = await edge.get('/a', { 'Page-Revision-Min': least })
      assert.deepEqual([cache, body], ['HIT', 'revision 1'])
    }
    assert.equal(edge.reached('/a'), 1)
  })
}

test('neither does it count for responses that are of no log, at an edge that follows one', async (t) => {
  const wiki = createWiki()
  const others = {
    ...wiki,
    script: /** @type {typeof wiki.script} */ (request, response, count) => {
      if (request.url === '/purge-log' || request.url?.startsWith('/purge-log?')) wiki.script(request, response, count)
      else response.setHeader('Cache-Control', 'max-age=3600').setHeader('Page-Revision', '1').end(`body ${count}`)
    }
  }
  const { edge, isFollowing } = await start(t, others)
  assert.ok(await isFollowing())
  await edge.get('/a')
  assert.equal((await edge.get('/a', { 'Page-Revision-Min': '9' })).cache, 'HIT')
})

test('a revision that is no number has no effect', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  for (const least of ['none', 'inf', '0x10', '1e9', '-5', '9 9', ['8', '9']]) {
    assert.equal((await edge.get('/a', { 'Page-Revision-Min': least })).cache, 'HIT', String(least))
  }
  assert.equal(edge.reached('/a'), 1)
})

test('a revision that the page does not have is asked for each time', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  for (let request = 1; request <= 3; request++) {
    assert.equal((await edge.get('/a', { 'Page-Revision-Min': '9' })).body, 'revision 1')
    assert.equal(edge.reached('/a'), 1 + request, 'it may be newer than what the log has said')
  }
  assert.equal((await edge.get('/a')).cache, 'HIT')
})
