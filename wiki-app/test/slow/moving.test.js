import assert from 'node:assert/strict'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { readConfig } from '../../src/config.js'
import { runImport } from '../../src/moving/run-import.js'
import { untilCounted, useWiki } from '../helper.js'
import { generatedDump } from '../mediawiki-dump.js'
import { contents } from '../moving.js'

const PAGES = 2_000
const wiki = useWiki()

test('a second import of a whole wiki changes not a byte', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-moving-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'dump.xml')
  await pipeline(generatedDump({ pages: PAGES }), createWriteStream(file))
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const options = {
    config: readConfig({ MONGODB_URI: uri }), kind: 'mediawiki', file, converter: { close: async () => {} }
  }
  const first = await runImport(options)
  assert.deepEqual([first.totals.created, first.totals.redirect], [PAGES * 19 / 20, PAGES / 20])
  await untilCounted(app)
  const before = await contents(uri)
  const { totals } = await runImport(options)
  assert.deepEqual([totals.unchanged, totals.revisions], [PAGES, 0])
  assert.deepEqual(await contents(uri), before)
})
