import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge } from './edge-helper.js'

const BODY = Buffer.alloc(300_000, '0123456789').toString()
/** Bodies with a file of their own are sent by nginx. Without that, the edge has to answer the same. */
const WITHOUT_NGINX = /** @type {[string, string, string][]} */ ([
  ['reply.lua', 'elseif not first and entry.status == 200 and entry.body_offset == 0 then', 'elseif false then']
])
/** Then nginx alone can answer. */
const NGINX_ALONE = /** @type {[string, string, string][]} */ ([
  ['reply.lua', 'send_file(entry, first or 0, last or size - 1)', 'error("not by nginx")']
])
/** The body is found, and evicted before nginx opens it. */
const EVICTED = /** @type {[string, string, string][]} */ ([
  ['reply.lua', 'local function exec_file(entry)', `local evicted = false local function exec_file(entry)
    if not evicted then evicted = os.remove(files.path_of(entry.body_segment)) end`]
])
const [LONG_AGO, MODIFIED] = ['Mon, 01 Jan 2024 00:00:00 GMT', 'Sun, 01 Mar 2026 10:00:00 GMT']
/** @type {Record<string, Record<string, string | string[]>>} */
const FIELDS = {
  '/plain': { 'Content-Type': 'application/octet-stream' },
  '/without-a-type': {},
  '/with-validators': { ETag: '"1"', 'Last-Modified': MODIFIED, 'Accept-Ranges': 'none' },
  '/several-lines': { Link: ['</a>; rel=preload', '</b>; rel=preload'] },
  '/vary': { Vary: 'Accept-Encoding', 'Content-Type': 'text/html' },
  '/404': { 'Content-Type': 'text/plain' }
}
const OWN = ['date', 'cf-ray', 'age', 'connection', 'keep-alive']

/** @type {import('./edge-helper.js').Script} */
const script = (request, response) => {
  for (const [name, value] of Object.entries(FIELDS[request.url ?? ''] ?? {})) response.setHeader(name, value)
  response.setHeader('Cache-Control', 'max-age=600').writeHead(request.url === '/404' ? 404 : 200)
  response.end(BODY)
}

/** @param {import('./edge-helper.js').Answer} answer */
const seen = ({ status, body, cache, headers }) => ({
  status,
  cache,
  whole: body === BODY,
  bytes: body.length,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name)))
})

test('a body that nginx sends from its file has the same head as one that the edge sends', async (t) => {
  const [edge, other] = await Promise.all([startEdge(t, script), startEdge(t, script, { edits: WITHOUT_NGINX })])
  /** @type {Record<string, string>[]} */
  const requests = [
    {}, { 'accept-encoding': 'gzip' }, { 'if-none-match': '"2"' }, { 'if-modified-since': LONG_AGO },
    { 'if-none-match': '"1"' }, { 'if-unmodified-since': LONG_AGO }, { range: 'bytes=5-9' },
    { range: 'bytes=0-0', 'if-range': '"2"' }
  ]
  for (const url of Object.keys(FIELDS)) {
    for (const each of [edge, other]) await each.get(url)
    for (const headers of requests) {
      const [mine, theirs] = await Promise.all([edge, other].map((each) => each.get(url, headers)))
      assert.deepEqual(seen(mine), seen(theirs), `${url} ${JSON.stringify(headers)}`)
    }
    assert.equal((await edge.get(url)).cache, 'HIT')
  }
})

test('a large body is sent by nginx, and its bytes are logged', async (t) => {
  const edge = await startEdge(t, script, { edits: NGINX_ALONE })
  await edge.get('/plain')
  const answer = await edge.get('/plain')
  assert.deepEqual([answer.status, answer.cache, answer.body === BODY], [200, 'HIT', true])
  const logged = async () => {
    const { cache_status: cache, sent_bytes: bytes } = await edge.logged('/plain')
    return cache === 'HIT' && bytes
  }
  assert.equal(await waitUntil(logged, 60_000), BODY.length)
})

test('a body that is evicted when nginx is about to send it is fetched again', async (t) => {
  const edge = await startEdge(t, script, { edits: EVICTED, workers: 1 })
  await edge.get('/with-validators')
  const answer = await edge.get('/with-validators')
  assert.deepEqual([answer.status, answer.cache, answer.body === BODY], [200, 'MISS', true])
  assert.equal(answer.headers['last-modified'], MODIFIED)
  assert.equal(edge.reached('/with-validators'), 2)
  assert.equal((await edge.get('/with-validators')).cache, 'HIT')
})

test('the name of a stored file is no address', async (t) => {
  const edge = await startEdge(t, script)
  await edge.get('/plain')
  for (const url of ['/1', '/2', '/popularity']) assert.equal((await edge.get(url)).cache, 'MISS')
})
