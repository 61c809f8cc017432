import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'
import { at, BOUND_MS, createWiki, saidBy, start } from './logging-wiki.js'

/** The log answers that something has changed. @param {ReturnType<typeof createWiki>} wiki @param {object} said */
async function tell (wiki, said, position = at(11)) {
  const { log } = wiki
  wiki.log = (after) => after === position ? log(after) : { ...saidBy(log, after), ...said, position }
  assert.ok(await waitUntil(() => wiki.asked.at(-1) === position, WAIT_MAX_MS), 'it is applied')
}

test('while the log is followed, a page is served without asking, and a purge in the log ends that', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  const first = await edge.get('/a')
  assert.deepEqual([first.cache, first.body], ['MISS', 'revision 1'])
  await edge.get('/b')
  const second = await edge.get('/a')
  assert.deepEqual([second.cache, second.headers['cache-control']], ['HIT', 'public, no-cache'])
  assert.equal(second.headers['stevec-cache-control'], undefined, 'it is for this edge alone')
  wiki.revision = 2
  await tell(wiki, { tags: ['page-a'] })
  assert.equal((await edge.get('/a')).body, 'revision 2')
  assert.equal((await edge.get('/b')).cache, 'HIT')
  assert.equal((await edge.get('/a')).cache, 'HIT')
})

test('what it cannot know makes everything stale: each page is asked for once', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  await tell(wiki, { everything: true })
  const again = await edge.get('/a')
  assert.deepEqual([again.cache, again.body], ['REVALIDATED', 'revision 1'])
  assert.equal((await edge.get('/a')).cache, 'HIT')
})

test('without a lease each request asks the origin, and with a new lease none does', async (t) => {
  const wiki = createWiki({ bound_ms: 1_000 })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  const { log } = wiki
  await edge.get('/a')
  wiki.log = () => 503
  assert.ok(await waitUntil(async () => (await edge.get('/a')).cache === 'REVALIDATED', WAIT_MAX_MS))
  wiki.revision = 2
  assert.equal((await edge.get('/a')).body, 'revision 2')
  const asked = await edge.get('/a')
  assert.equal(asked.cache, 'REVALIDATED')
  assert.match(String(asked.headers['cache-status']), /fwd=stale;.*detail=purge-log-lost/)
  wiki.log = log
  assert.ok(await waitUntil(async () => (await edge.get('/a')).cache === 'HIT', WAIT_MAX_MS))
})

test('a log that does not answer at all ends the lease after the bound', async (t) => {
  const wiki = createWiki({ bound_ms: 1_000 })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  wiki.log = () => null
  const askedMs = performance.now()
  const last = wiki.asked.length
  assert.ok(await waitUntil(() => wiki.asked.length > last, WAIT_MAX_MS))
  await sleep(Math.max(0, askedMs + 1_100 - performance.now()) + 1_000)
  assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
})

test('a certificate of long ago gives no lease', async (t) => {
  const wiki = createWiki()
  const { log } = wiki
  wiki.log = (after) => ({ ...saidBy(log, after), certified_ms: -BOUND_MS })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
})

test('a response that covers less of the log than the edge knows is passed on and not stored', async (t) => {
  const wiki = createWiki({ position: () => at(9) })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  for (let round = 0; round < 2; round++) {
    const { cache, body } = await edge.get('/a')
    assert.deepEqual([cache, body], ['MISS', 'revision 1'])
  }
  wiki.position = () => at(10)
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'HIT')
  // The same for a 304: it confirms the page to this client alone.
  wiki.position = () => at(10)
  await tell(wiki, { everything: true })
  for (let round = 0; round < 2; round++) assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
  wiki.position = () => at(11)
  assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
  assert.equal((await edge.get('/a')).cache, 'HIT')
})

test('the origin is asked for an answer that covers what the edge knows, whatever the client says', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a', { 'Purge-Log-After': at(99) })
  const asked = edge.arrived.filter(({ url }) => url === '/a')
  assert.deepEqual(asked.map(({ headers }) => headers['purge-log-after']), [at(10)])
})

for (const said of /** @type {any[]} */ ([
  {}, [], 'text', { position: 'x', certified_ms: 0, bound_ms: BOUND_MS, tags: [] },
  { position: at(10), certified_ms: 0, bound_ms: BOUND_MS }, { position: at(10), bound_ms: BOUND_MS, tags: [] },
  { position: at(10), certified_ms: '0', bound_ms: BOUND_MS, tags: [] },
  { position: at(10), certified_ms: 0, bound_ms: BOUND_MS, tags: [1, {}] }
])) {
  test(`an answer that is no log gives no lease: ${JSON.stringify(said)}`, async (t) => {
    const wiki = createWiki()
    wiki.log = () => said
    const { edge } = await start(t, wiki)
    assert.ok(await waitUntil(() => wiki.asked.length > 1, WAIT_MAX_MS))
    assert.ok(wiki.asked.every((after) => after === null))
    await edge.get('/a')
    assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
    assert.match(edge.errors(), /purge log of the origin cannot be followed/)
  })
}

test('after a restart nothing is served before the log is known, and all that is stored is asked for', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'HIT')
  const { log } = wiki
  wiki.log = () => 503
  await edge.restart()
  wiki.asked.length = 0 // what the edge of before asked while it ended
  assert.ok(await waitUntil(() => wiki.asked.length > 0, WAIT_MAX_MS))
  assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
  wiki.log = log
  assert.ok(await isFollowing())
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'HIT')
})

test('an edge that no longer follows the log does not trust what it stored while it did', async (t) => {
  const wiki = createWiki()
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'HIT')
  await edge.restart({ follow: undefined })
  wiki.revision = 2
  assert.equal((await edge.get('/a')).body, 'revision 2')
})

test('a page is shown in place of an error only where the wiki allows it, and says so', async (t) => {
  const wiki = createWiki({ bound_ms: 1_000 })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  wiki.followers = 'max-age=3600, stale-if-error=600'
  await edge.get('/b')
  await edge.closeOrigin()
  assert.ok(await waitUntil(async () => (await edge.get('/a')).status === 502, WAIT_MAX_MS))
  const stale = await edge.get('/b')
  assert.deepEqual([stale.cache, stale.body], ['STALE', 'revision 1'])
})

test('the part of a page is bounded like the whole', async (t) => {
  const wiki = createWiki({ bound_ms: 1_000 })
  const { edge, isFollowing } = await start(t, wiki)
  assert.ok(await isFollowing())
  await edge.get('/a')
  const part = await edge.get('/a', { Range: 'bytes=0-7' })
  assert.deepEqual([part.status, part.cache, part.body], [206, 'HIT', 'revision'])
  wiki.log = () => 503
  const isAsked = async () => (await edge.get('/a', { Range: 'bytes=0-7' })).cache !== 'HIT'
  assert.ok(await waitUntil(isAsked, WAIT_MAX_MS))
  wiki.revision = 2
  assert.match((await edge.get('/a', { Range: 'bytes=9-9' })).body, /2$/)
})

test('an edge of several workers has one lease, and a killed worker ends it for the bound at most', async (t) => {
  const wiki = createWiki({ bound_ms: 1_000 })
  const { edge, isFollowing } = await start(t, wiki, { workers: 4 })
  assert.ok(await isFollowing())
  await edge.get('/a')
  for (let request = 0; request < 20; request++) assert.equal((await edge.get('/a')).cache, 'HIT')
  for (const pid of edge.workers()) process.kill(pid, 'SIGKILL')
  assert.ok(await waitUntil(async () => {
    const answer = await edge.get('/a').catch(() => null)
    return answer?.cache === 'HIT'
  }, WAIT_MAX_MS))
  const last = wiki.asked.length
  assert.ok(await waitUntil(() => wiki.asked.length > last + 2, WAIT_MAX_MS), 'a new worker goes on')
})

test('an edge that follows no log takes the page for what it says to all others', async (t) => {
  const wiki = createWiki()
  const { edge } = await start(t, wiki, { follow: undefined })
  await edge.get('/a')
  assert.equal((await edge.get('/a')).cache, 'REVALIDATED')
  assert.equal(wiki.asked.length, 0)
})

for (const follow of ['purge-log', '/a b', '/"', '/x;', '/$x', '//x\n']) {
  test(`a path that could be no address is refused: ${JSON.stringify(follow)}`, async (t) => {
    await assert.rejects(startEdge(t, createWiki().script, { follow }), /path of a purge log/)
  })
}
