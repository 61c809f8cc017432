import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { MongoClient, ObjectId } from 'mongodb'
import { judge } from '@stevec/wiki-app/torture/oracle'
import { stored } from '@stevec/wiki-app/torture/torture'
import { LEFT_OUT } from '@stevec/wiki-app/backup/format'
import { get, save, untilFound, useWiki } from '@stevec/wiki-app/test/helper'
import { png } from '@stevec/wiki-app/test/images'

const STEVEC = fileURLToPath(new URL('../bin/stevec.js', import.meta.url))
const wiki = useWiki()

/** @param {import('node:test').TestContext} t */
function folder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-backup-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

/**
 * @param {string[]} args
 * @returns {Promise<{code: number, stdout: string, stderr: string}>}
 */
const stevec = (...args) =>
  promisify(execFile)(process.execPath, [STEVEC, ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr })
  )

/**
 * Reads every document of every collection that a backup has, byte for byte.
 * @param {string} uri
 */
async function contents (uri) {
  const client = new MongoClient(uri)
  try {
    const names = (await client.db().listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
      .filter((name) => !LEFT_OUT.has(name)).sort()
    /** @type {Record<string, string[]>} */
    const all = {}
    for (const name of names) {
      const documents = await client.db().collection(name).find({}, { raw: true }).sort({ _id: 1 }).toArray()
      if (documents.length > 0) {
        all[name] = documents.map((bytes) => Buffer.from(/** @type {any} */ (bytes)).toString('hex'))
      }
    }
    return all
  } finally {
    await client.close()
  }
}

test('a restored wiki has the same bytes and pages, and continues the revision numbers', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  for (const [name, content] of [
    ['a', 'one [[b]]'],
    ['a', 'two [[b]] ü 😀'],
    ['b', 'x'.repeat(50_000)],
    ['gone', 'soon']
  ]) {
    await save(app, name, content)
  }
  await app.inject({ method: 'PUT', url: '/api/v1/pages/tagged', payload: { content: 'text', tags: ['red'] } })
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  await app.inject({ method: 'PUT', url: '/api/v1/short-links/bb', payload: { page: 'b' } })
  await app.inject({ method: 'POST', url: '/api/v1/pages/b/rename', payload: { to: 'c' } })
  const picture = await app.inject({
    method: 'POST',
    url: '/api/v1/files',
    headers: { 'content-type': 'image/png' },
    payload: png(2, 2)
  })
  assert.equal(picture.statusCode, 201, picture.body)
  const urls = [
    '/', '/pages', '/wiki/a', '/wiki/c', '/history/a', '/revision/a/1', '/tags', '/search?q=two',
    String(picture.headers.location)
  ]
  await untilFound(app, 'two', 1)
  // A view updates the stored HTML of a page whose link targets have changed: that must happen before the backup.
  for (const url of urls) assert.equal((await get(app, url)).statusCode, 200, url)
  const file = path.join(folder(t), 'wiki.stevec.gz')
  const made = await stevec('backup', file, '--uri', uri)
  assert.equal(made.code, 0, made.stderr)
  assert.match(
    made.stdout, /wrote .*: .*files\.chunks 1, files\.files 1, migrations 7, pages 5, revisions 7, short_links 1/)
  assert.equal(statSync(file).mode & 0o777, 0o600, 'only the owner of the backup may read it')
  const [first] = gunzipSync(readFileSync(file)).toString().split('\n')
  assert.equal(JSON.parse(first).format, 'stevec-backup')

  const other = wiki.freshUri()
  const restored = await stevec('restore', file, '--uri', other)
  assert.equal(restored.code, 0, restored.stderr)
  assert.deepEqual(await contents(other), await contents(uri))

  const second = await wiki.build(t, { MONGODB_URI: other })
  assert.equal((await get(second, '/s/bb')).headers.location, '/wiki/c')
  await untilFound(second, 'two', 1)
  for (const url of urls) {
    const [before, after] = [await get(app, url), await get(second, url)]
    assert.deepEqual(
      [after.statusCode, after.body, after.headers.etag],
      [before.statusCode, before.body, before.headers.etag],
      url
    )
  }
  assert.equal((await save(second, 'a', 'three')).json().revision, 3)
})

test('a backup made during edits is a consistent snapshot', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'page 0', 'first')
  let number = 1
  const over = new AbortController()
  const editing = Promise.all(
    [...Array(4)].map(async () => {
      while (!over.signal.aborted) {
        const index = number++
        await app.inject({
          method: 'PUT',
          url: `/api/v1/pages/page%20${index % 9}`,
          payload: { content: `text ${index} [[page ${index % 5}]]`, tags: [`t${index % 3}`], summary: `edit ${index}` }
        })
      }
    })
  )
  const file = path.join(folder(t), 'wiki.stevec.gz')
  const made = await stevec('backup', file, '--uri', uri)
  over.abort()
  await editing
  assert.equal(made.code, 0, made.stderr)
  const other = wiki.freshUri()
  assert.equal((await stevec('restore', file, '--uri', other)).code, 0)
  // The test does not record its edits; gaps, torn states and duplicates show without such a record.
  const { gaps, torn_pages: pages, torn_counts: counts, duplicated } = judge([], [], await stored(other))
  assert.deepEqual({ gaps, pages, counts, duplicated }, { gaps: 0, pages: 0, counts: 0, duplicated: 0 })
})

test('restore overwrites a wiki only with --replace, and a damaged file changes nothing', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'a', 'one')
  const directory = folder(t)
  const file = path.join(directory, 'wiki.stevec.gz')
  assert.equal((await stevec('backup', file, '--uri', uri)).code, 0)
  await save(app, 'a', 'two')
  const before = await contents(uri)

  const refused = await stevec('restore', file, '--uri', uri)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /is not empty \(.*pages.*\); name another one, or say --replace/)

  const broken = path.join(directory, 'broken')
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  const spoilt = /** @type {[string | Buffer, RegExp][]} */ ([
    ['plain text', /no gzip file/],
    [gzipSync('{}\n'), /not a backup/],
    [gzipSync(lines.slice(0, -1).join('\n')), /breaks off/],
    [gzipSync([...lines.slice(0, 2), ...lines.slice(3)].join('\n')), /and should have/],
    [gzipSync([lines[0], '{"c": "pages"', ...lines.slice(1)].join('\n')), /line 2 is damaged/],
    [gzipSync(lines[0].replace('"version":1', '"version":2')), /version is 2/]
  ])
  for (const [content, message] of spoilt) {
    writeFileSync(broken, content)
    const { code, stderr } = await stevec('restore', broken, '--uri', uri, '--replace')
    assert.equal(code, 1)
    assert.match(stderr, message)
  }
  writeFileSync(broken, readFileSync(file))
  truncateSync(broken, statSync(file).size - 20)
  assert.equal((await stevec('restore', broken, '--uri', uri, '--replace')).code, 1)
  assert.deepEqual(await contents(uri), before)

  assert.equal((await stevec('restore', file, '--uri', uri, '--replace')).code, 0)
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '1')
  assert.deepEqual(readdirSync(directory).sort(), ['broken', 'wiki.stevec.gz'], 'no partial file is left')
  const nowhere = await stevec('backup', path.join(directory, 'x'), '--uri', wiki.freshUri())
  assert.match(nowhere.stderr, /is empty: there is no wiki in it/)
  assert.equal(nowhere.code, 2)
  const unwritten = await stevec('backup', path.join(directory, 'no/folder/x'), '--uri', uri)
  assert.equal(unwritten.code, 3, unwritten.stderr)
  assert.equal((await stevec('backup', 'x', '--uri', 'mongodb://127.0.0.1:1')).code, 2)
})

test('a backup is tried out in a database of its own, and damage is found without touching the wiki', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  for (const text of ['one [[b]]', 'two\u2028 ü 😀']) await save(app, 'a', text)
  await save(app, 'gone', 'soon')
  await app.inject({ method: 'PUT', url: '/api/v1/short-links/aa', payload: { page: 'a' } })
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  const directory = folder(t)
  const file = path.join(directory, 'wiki.stevec.gz')
  assert.equal((await stevec('backup', file, '--uri', uri)).code, 0)
  await save(app, 'a', 'later than the backup')
  const before = await contents(uri)
  const databases = await databaseNames(uri)

  const drillOf = (/** @type {number} */ hoursAgo) =>
    `stevec_verify_${ObjectId.createFromTime(Date.now() / 1000 - hoursAgo * 3_600).toHexString()}`
  const [killed, young, another] = [drillOf(25), drillOf(23), 'stevec_verify_notes']
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  for (const name of [killed, young, another]) await client.db(name).collection('pages').insertOne({})

  const drill = await stevec('backup', '--verify', file, '--uri', uri)
  assert.equal(drill.code, 0, drill.stderr)
  assert.deepEqual((await databaseNames(uri)).sort(), [...databases, young, another].sort(),
    'a drill drops what one has left that was killed more than a day ago, and nothing else')
  for (const name of [young, another]) await client.db(name).dropDatabase()
  assert.match(drill.stdout, /^verified .*, restored and read back: .*pages 2, revisions 4/)
  const alone = await stevec('backup', '--verify', file)
  assert.equal(alone.code, 0, alone.stderr)
  assert.equal(alone.stdout, drill.stdout, 'without a server it starts one of its own')

  const bytes = readFileSync(file)
  const flipped = Buffer.from(bytes)
  flipped[bytes.length >> 1] ^= 1
  const text = gunzipSync(bytes).toString()
  const [header, ...lines] = text.trimEnd().split('\n')
  const older = lines.map((line) => line.replace(/,"checksums":.*/, '}'))
  const isNewest = (/** @type {string} */ line) =>
    line.startsWith('{"c":"revisions"') && line.includes('two')
  const spoilt = /** @type {[string, Buffer, number, RegExp][]} */ ([
    ['truncated', bytes.subarray(0, bytes.length - 9), 1, /damaged/],
    ['flipped', flipped, 1, /damaged|checksum|is no document/],
    ['one letter of a page changed', gzipSync(text.replaceAll('two', 'tvo')), 1, /other documents of pages than its/],
    ['without checksums, as older versions wrote it', gzipSync([header, ...older].join('\n')), 0, /^$/],
    [
      'without checksums, and a page lacks its newest revision',
      gzipSync([header, ...older.map((line) => isNewest(line) ? line.replace('"a"', '"b"') : line)].join('\n')),
      1,
      /pages without their newest revision, such as "a"/
    ],
    [
      'without checksums, and a short address leads to no page',
      gzipSync([
        header, ...older.map((line) => line.replace('"_id":"aa","page":"a"', '"_id":"aa","page":"x"'))
      ].join('\n')),
      1,
      /short addresses of pages that are not there, such as "x"/
    ]
  ])
  const damaged = path.join(directory, 'damaged')
  for (const [what, content, code, message] of spoilt) {
    writeFileSync(damaged, content)
    const { code: ended, stderr } = await stevec('backup', '--verify', damaged, '--uri', uri)
    assert.equal(ended, code, `${what}: ${stderr}`)
    assert.match(stderr, message, what)
  }
  assert.deepEqual(await contents(uri), before)
  assert.deepEqual(await databaseNames(uri), databases, 'no database is left behind')
  assert.equal((await stevec('backup', '--verify')).code, 2)
})

/** @param {string} uri */
async function databaseNames (uri) {
  const client = new MongoClient(uri)
  try {
    return (await client.db().admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name).sort()
  } finally {
    await client.close()
  }
}
