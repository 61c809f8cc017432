// What a real edge in front of the wiki keeps of an erased revision.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startBehindEdge, WAIT_MAX_MS } from './edge-wiki.js'
import { BROWSER, useWiki } from './helper.js'
import { bearer } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
const SECRET = 'hunter2zebraquartz'

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
    const { app, edge, untilPurged } = await startBehindEdge(wiki, t, policy)
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
