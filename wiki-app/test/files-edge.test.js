// What a real edge in front of the wiki keeps of a deleted file.
import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startBehindEdge, WAIT_MAX_MS } from './edge-wiki.js'
import { BROWSER, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer } from './people.js'
import { halves } from './thumbnail-stories.js'

const wiki = useWiki()

for (const policy of ['purge-url', 'purge-tag', 'bounded']) {
  test(`under ${policy}, the edge has no file that was deleted, once its caches know`, async (t) => {
    const { app, edge, untilPurged } = await startBehindEdge(wiki, t, policy)
    const page = await app.inject({
      method: 'PUT', url: '/api/v1/pages/Manual', headers: bearer('editor'), payload: { content: 'a page' }
    })
    assert.equal(page.statusCode, 201)
    await untilPurged()
    // An edge that does not follow the log yet forgets everything when it does.
    assert.ok(await waitUntil(async () => (await edge.get('/wiki/Manual', BROWSER)).cache === 'HIT', WAIT_MAX_MS))

    const urls = []
    const large = await halves(900, 600).png().toBuffer()
    const all = /** @type {[string, Buffer][]} */ ([['a.pdf', Buffer.from('%PDF')], ['b', png()], ['c', large]])
    for (const [name, payload] of all) {
      const headers = { 'content-type': 'application/octet-stream', ...bearer('editor') }
      const sent = await app.inject({ method: 'POST', url: `/api/v1/files?name=${name}`, headers, payload })
      assert.equal(sent.statusCode, 201, sent.body)
      urls.push(sent.json().url)
    }
    const small = `${urls[2]}/thumbnail.webp`
    const { status: first, headers: { location, 'cache-control': control } } = await edge.get(small, BROWSER)
    // A machine may be so quick that it is made already.
    if (first !== 200) assert.deepEqual([first, location, control], [302, urls[2], 'no-store'])
    assert.ok(await waitUntil(async () => (await edge.get(small, BROWSER)).status === 200, WAIT_MAX_MS))
    urls.push(small)
    for (const url of urls) {
      await edge.get(url, BROWSER)
      const { status, cache, headers } = await edge.get(url, BROWSER)
      assert.deepEqual([status, cache, headers['cache-control']], [200, 'HIT', 'public, max-age=31536000, immutable'])
    }

    for (const file of new Set(urls.map((url) => url.split('/')[2]))) {
      const gone = await app.inject({ method: 'DELETE', url: `/api/v1/files/${file}`, headers: bearer('editor') })
      assert.equal(gone.statusCode, 204, gone.body)
    }
    await untilPurged()
    for (const url of urls) {
      const isGone = async () => (await edge.get(url, BROWSER)).status === 404
      assert.ok(policy === 'bounded' ? await waitUntil(isGone, WAIT_MAX_MS / 6) : await isGone(), url)
    }
  })
}
