import assert from 'node:assert/strict'
import http from 'node:http'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { OTHER_CACHES, prepareCache } from '@stevec/cdn/caches'
import { cacheStatusOf } from '../scenarios/cache-status.js'
import { warmCache } from '../src/lab/warm-cache.js'
import { request } from '@stevec/harness/request'
import { killGroup } from '@stevec/harness/processes'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, waitUntil } from '@stevec/harness/processes'
import { locateTool } from '@stevec/harness/tools/locate'

describe('the cache status of a response', () => {
  for (const [headers, status] of /** @type {[Record<string, string>, string][]} */ ([
    [{ 'cf-cache-status': 'UPDATING' }, 'UPDATING'],
    [{ 'x-cache-status': 'HIT' }, 'HIT'],
    [{ 'x-cache-status': 'hit-fresh' }, 'HIT'],
    [{ 'x-cache-status': 'hit-stale' }, 'EXPIRED'],
    [{ 'x-cache-status': 'miss' }, 'MISS'],
    [{ 'x-cache': 'HIT from here' }, 'HIT'],
    [{ 'x-cache': 'MISS from here' }, 'MISS'],
    [{ 'x-cache': 'HITHERTO' }, ''],
    [{}, '']
  ])) test(`${JSON.stringify(headers)} is "${status}"`, () => assert.equal(cacheStatusOf((name) => headers[name]), status))
})

for (const name of OTHER_CACHES) {
  const tool = locateTool(name)
  describe(`${name} in place of the edge`, { skip: tool === null && `${name} is not on this machine` }, () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-cache-test-'))
    after(() => rmSync(directory, { recursive: true, force: true }))

    test('obeys Cache-Control, collapses requests, replaces expired pages, and is empty after a kill', async (t) => {
      let asked = 0
      const origin = http.createServer((request, response) => {
        asked += 1
        if (request.url === '/healthz') return response.setHeader('Cache-Control', 'no-store').end()
        const ttlS = request.url?.startsWith('/short') ? 1 : 60
        setTimeout(() => response
          .setHeader('Cache-Control', `public, max-age=${ttlS}`)
          .setHeader('ETag', '"1"')
          .setHeader('Page-Revision', '1')
          .end('text'), 50)
      })
      const [port, originPort] = await freePorts(2)
      await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
      t.after(() => { origin.close(); origin.closeAllConnections() })
      const get = async (/** @type {string} */ url) => {
        const { status, headers } = await request(`http://127.0.0.1:${port}${url}`)
        return status === 200 ? cacheStatusOf((header) => headers[header]?.toString()) : `status ${status}`
      }
      const logFile = path.join(directory, 'log')
      const start = async () => {
        const { command, args, sha256 } = prepareCache(name, {
          binary: String(tool?.path),
          directory: path.join(directory, 'cache'),
          port,
          originPort
        })
        assert.match(sha256, /^sha256:[0-9a-f]{64}$/)
        const running = await startProcess({ name, command, args, logFile })
        t.after(() => killGroup(running))
        const answers = () => get('/healthz').then((status) => !status.startsWith('status'), () => false)
        assert.ok(await waitUntil(answers, 60_000), readFileSync(logFile, 'utf8'))
        return running
      }
      const running = await start()
      assert.deepEqual([await get('/page'), await get('/page')], ['MISS', 'HIT'])
      asked = 0
      const crowd = await Promise.all(Array.from({ length: 20 }, () => get('/crowd')))
      assert.deepEqual([asked, crowd.filter((status) => status === 'HIT').length], [1, 19])
      await get('/short')
      const again = await waitUntil(async () => {
        const status = await get('/short')
        return status !== 'HIT' && status
      }, 60_000)
      assert.ok(again === 'MISS' || again === 'EXPIRED', String(again))
      const late = await waitUntil(async () => {
        asked = 0
        const crowd = await Promise.all(Array.from({ length: 20 }, () => get('/short')))
        return crowd.some((status) => status !== 'HIT') && crowd
      }, 60_000)
      assert.ok(late)
      assert.equal(
        late.filter((status) => status !== 'HIT').length,
        asked,
        'a request that waited for another request\'s fetch is a HIT'
      )
      await killGroup(running)
      await start()
      asked = 0
      assert.deepEqual(
        await warmCache({ url: `http://127.0.0.1:${port}`, lifetimeS: 60 }),
        { requests: 100, origin_requests: 10 }
      )
      assert.equal(asked, 10, 'each page of the warm-up is one miss, then hits')
      assert.equal(await get('/page'), 'MISS', 'warmed up, and empty of all other pages')
    })
  })
}
