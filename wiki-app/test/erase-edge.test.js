// What a real edge in front of the wiki keeps of an erased revision.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { createPurgeOf } from '@stevec/cdn/wiki'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { BROWSER, useWiki } from './helper.js'
import { bearer, peopleOnly } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
const WAIT_MAX_MS = 60_000
const SECRET = 'hunter2zebraquartz'

/** @param {import('node:test').TestContext} t @param {string} policy */
async function start (t, policy) {
  /** @type {{app?: App}} */
  const before = {}
  const isFollowed = policy === 'bounded'
  const edge = await startEdge(t, (request, response) => {
    if (before.app === undefined) response.writeHead(503).end()
    else before.app.routing(request, response)
  }, isFollowed ? { follow: '/purge-log' } : {})
  const uri = wiki.freshUri()
  const publicUrl = `http://${edge.host}`
  const purge = await createPurgeOf({ zoneId: 'z', apiUrl: edge.control.url, token: edge.control.token, publicUrl })
  const settings = {
    ...peopleOnly(t),
    MONGODB_URI: uri,
    CACHE_POLICY: policy,
    PUBLIC_URL: publicUrl,
    ...!isFollowed && { PURGE_ZONE: 'z', PURGE_TOKEN: edge.control.token }
  }
  const timing = { gatherMs: 5, repeatAfterMs: 100 }
  const app = await wiki.build(t, settings, isFollowed ? {} : { purge, timing })
  before.app = app
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const queue = client.db().collection('queue')
  const untilPurged = async () =>
    assert.ok(await waitUntil(async () => await queue.countDocuments({}) === 0, WAIT_MAX_MS), 'all is purged')
  return { app, edge, untilPurged }
}

/** @param {App} app @param {object} payload */
async function put (app, payload) {
  const answer = await app.inject({
    method: 'PUT', url: '/api/v1/pages/Manual', headers: bearer('editor'), payload
  })
  assert.ok(answer.statusCode < 300, answer.body)
}

const ADDRESSES = [
  '/wiki/Manual', '/raw/Manual', '/history/Manual', '/revision/Manual/1', '/revision/Manual/2',
  '/difference/Manual?from=1&to=2', '/difference/Manual?from=2&to=3', '/difference/Manual?from=1&to=3',
  '/changes', '/changes.atom', '/changes?author=editor', '/api/v1/pages/Manual/revisions',
  '/api/v1/pages/Manual/revisions/2', '/api/v1/pages/Manual/difference?from=2&to=3', '/api/v1/changes'
]

/** @param {string} folder @returns {string[]} files below it with the secret */
function filesWith (folder) {
  return readdirSync(folder, { recursive: true }).map((name) => path.join(folder, String(name)))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(SECRET))
}

for (const policy of ['purge-url', 'purge-tag', 'bounded']) {
  test(`under ${policy}, no answer of the edge has what was erased, once its caches know`, async (t) => {
    const { app, edge, untilPurged } = await start(t, policy)
    await put(app, { content: 'first' })
    await put(app, { content: `first\n\n${SECRET}`, summary: SECRET })
    await put(app, { content: 'first\n\nwithout' })
    await untilPurged()

    const answersWith = async () => {
      const found = []
      for (const url of ADDRESSES) {
        if ((await edge.get(url, BROWSER)).body.includes(SECRET)) found.push(url)
      }
      return found
    }
    // An edge that does not follow the log yet forgets everything when it does.
    const isLeased = async () => (await edge.get('/wiki/Manual', BROWSER)).cache === 'HIT'
    assert.ok(await waitUntil(isLeased, WAIT_MAX_MS))
    await answersWith()
    const shown = await answersWith()
    for (const at of [4, 5, 6, 12, 13]) assert.ok(shown.includes(ADDRESSES[at]), ADDRESSES[at])
    const kept = await edge.get('/revision/Manual/2', BROWSER)
    assert.deepEqual([kept.cache, kept.headers['cache-control']], ['HIT', 'public, max-age=86400, immutable'])
    assert.equal((await edge.get('/difference/Manual?from=2&to=3', BROWSER)).cache, 'HIT')

    const erased = await app.inject({
      method: 'POST',
      url: '/edit/erase/Manual',
      headers: bearer('admin'),
      payload: { from: 2, to: 2, confirm: 'Manual', reason: 'a password' }
    })
    assert.equal(erased.statusCode, 200, erased.body)
    await untilPurged()
    // An edge that follows the log confirms nothing.
    if (policy === 'bounded') await waitUntil(async () => (await answersWith()).length === 0, WAIT_MAX_MS)
    assert.deepEqual(await answersWith(), [])
    const gone = await edge.get('/revision/Manual/2', BROWSER)
    assert.deepEqual([gone.status, gone.headers['cache-control']], [410, 'no-store'])
    assert.equal((await edge.get('/difference/Manual?from=2&to=3', BROWSER)).status, 410)

    // docs/decisions/0089 says so: a purge makes copies void, and does not overwrite them.
    assert.notDeepEqual(filesWith(edge.directory), [], 'its files still have it')
    await edge.restart({ warm: false })
    assert.deepEqual(filesWith(edge.directory), [], 'until a start with an empty cache')
  })
}
