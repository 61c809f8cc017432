import assert from 'node:assert/strict'
import test from 'node:test'
import { get, useWiki } from '@stevec/wiki-app/test/helper'
import { addressesOf, lengthOfSweep, pathOfSweep } from '../scenarios/crawl-addresses.js'
import { textOf } from '../bench/crawlers/requests.js'

const SIZE = { pages: 3, revisions: 4 }
const wiki = useWiki()
const numbers = Array.from({ length: lengthOfSweep(SIZE) }, (_, number) => number)

test('the benchmark of crawlers asks for each difference, old revision and history, and for each once', async (t) => {
  const app = await wiki.build(t)
  const addresses = addressesOf('stevec', SIZE, 0)
  for (let revision = 1; revision <= SIZE.revisions; revision++) {
    for (let page = 0; page < SIZE.pages; page++) {
      const { method, path, type, body } = addresses.save(page, textOf(page, revision))
      const { statusCode } = await app.inject({
        method: /** @type {'PUT'} */ (method), url: path, headers: { 'content-type': type }, payload: body
      })
      assert.equal(statusCode, revision === 1 ? 201 : 200)
    }
  }
  const paths = numbers.map((number) => pathOfSweep(addresses, number, SIZE))
  assert.equal(new Set(paths).size, SIZE.pages * (6 + 4 + 4), 'no address comes twice')
  for (const path of paths) assert.equal((await get(app, path)).statusCode, 200, path)
  assert.match((await get(app, addresses.view(1))).body, /Revision 4 of page 1/)
})

test('the sweep of MediaWiki names each revision by its number across all pages', () => {
  const paths = numbers.map((number) => pathOfSweep(addressesOf('mediawiki', SIZE, 100), number, SIZE))
  assert.equal(new Set(paths).size, paths.length)
  assert.ok(paths.includes('/index.php?title=Page-0&oldid=100'))
  assert.ok(paths.includes('/index.php?title=Page-2&diff=111&oldid=108'), 'the last page, from its first to its last')
})
