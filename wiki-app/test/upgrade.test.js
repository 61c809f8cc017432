import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readBackup } from '../src/backup/read.js'
import { judge } from '../torture/oracle.js'
import { stored } from '../torture/torture.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()
/** A wiki of a version whose pages had no tags, no list of their links and no version of their renderer. */
const FIXTURE = new URL('fixtures/wiki-before-links.jsonl', import.meta.url)

test('pages stored by an older version are shown, found, linked and edited like new ones', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-upgrade-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'old.stevec.gz')
  writeFileSync(file, gzipSync(readFileSync(FIXTURE)))
  const uri = wiki.freshUri()
  assert.deepEqual(await readBackup({ uri, file }), { pages: 5, revisions: 7 })
  const app = await wiki.build(t, { MONGODB_URI: uri })

  const home = await get(app, '/wiki/Home', BROWSER)
  assert.equal(home.statusCode, 200)
  assert.equal(home.headers['page-revision'], '2')
  assert.match(
    home.body,
    /<a href="\/wiki\/Guide">Guide<\/a>/,
    'an existing page is not marked as missing, even without a save since the upgrade'
  )
  assert.match(home.body, /<a href="\/wiki\/Nowhere"[^>]*class="missing"|class="missing"[^>]*href="\/wiki\/Nowhere"/)
  assert.match((await get(app, '/', BROWSER)).body, /Guide[\s\S]*Home[\s\S]*Moved here/)
  assert.match((await get(app, '/search?q=elsewhere', BROWSER)).body, /Moved here/)
  assert.match((await get(app, '/links/Guide', BROWSER)).body, /Home/)
  assert.equal((await get(app, '/wiki/Old%20name')).headers.location, '/wiki/Moved%20here')
  assert.equal((await get(app, '/wiki/Gone')).statusCode, 404)
  assert.equal((await get(app, '/api/v1/pages/Home')).json().tags.length, 0)
  assert.deepEqual(
    (await get(app, '/api/v1/pages/Home/revisions')).json().items
      .map((/** @type {{revision: number}} */ { revision }) => revision),
    [2, 1]
  )
  assert.match((await get(app, '/revision/Home/1', BROWSER)).body, /Welcome\./)

  assert.equal((await save(app, 'Home', 'Now only the [[Guide]].')).json().revision, 3)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/Guide' })).statusCode, 204)
  assert.equal((await save(app, 'Gone', 'Here again.')).json().revision, 3)
  const { torn_pages: pages, torn_counts: counts } = judge([], [], await stored(uri))
  assert.deepEqual({ pages, counts }, { pages: 0, counts: 0 })
})
