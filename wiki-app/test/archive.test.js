import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test, { after } from 'node:test'
import fc from 'fast-check'
import mongoose from 'mongoose'
import yauzl from 'yauzl'
import yazl from 'yazl'
import { get, save, useWiki } from './helper.js'

const wiki = useWiki()

// A separate TMPDIR: every file left in it comes from these tests.
const temporary = mkdtempSync(path.join(tmpdir(), 'stevec-archive-'))
process.env.TMPDIR = temporary
after(() => rmSync(temporary, { recursive: true }))

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * @param {[path: string, content: string | Buffer, options?: object][]} files
 * @param {(zip: Buffer) => Buffer} [damage]
 * @returns {Promise<Buffer>}
 */
async function zipOf (files, damage = (zip) => zip) {
  const zip = new yazl.ZipFile()
  for (const [path, content, options] of files) zip.addBuffer(Buffer.from(content), path, options)
  zip.end()
  return damage(Buffer.concat(await /** @type {import('node:stream').Readable} */ (zip.outputStream).toArray()))
}

/**
 * @param {Buffer} zip
 * @returns {Promise<Map<string, string>>} texts by path, in the order of the zip
 */
async function filesIn (zip) {
  const files = new Map()
  const opened = await yauzl.fromBufferPromise(zip)
  for await (const entry of opened.eachEntry()) {
    files.set(entry.fileName, Buffer.concat(await (await opened.openReadStreamPromise(entry)).toArray()).toString())
  }
  return files
}

/** @param {App} app */
const exported = async (app) => (await get(app, '/api/v1/export')).rawPayload

/**
 * @param {App} app
 * @param {Buffer} payload
 * @param {string} [query]
 */
const send = (app, payload, query = '') => app.inject({
  method: 'POST',
  url: `/api/v1/import${query}`,
  headers: { 'content-type': 'application/zip' },
  payload
})

/**
 * @param {App} app
 * @param {Buffer} zip
 * @param {string} [query]
 * @returns {Promise<{lines: any[], totals: any}>}
 */
async function imported (app, zip, query) {
  const answer = await send(app, zip, query)
  assert.equal(answer.statusCode, 200, answer.body)
  assert.equal(answer.headers['content-type'], 'application/x-ndjson')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const lines = answer.body.trim().split('\n').map((line) => JSON.parse(line))
  return { lines: lines.slice(0, -1), totals: lines[lines.length - 1] }
}

/** Lists the uploaded files in TMPDIR. An import must leave none. */
const uploads = () => readdirSync(temporary).filter((name) => !name.startsWith('stevec-mongod-'))

/**
 * @param {App} app
 * @param {string} name
 */
const page = async (app, name) => (await get(app, `/api/v1/pages/${encodeURIComponent(name)}`)).json()

test('an export has one file per page, with metadata, and a repeated export has the same bytes', async (t) => {
  const app = await wiki.build(t)
  await app.inject({ method: 'PUT', url: '/api/v1/pages/b', payload: { content: '# B\r\n', tags: ['y', 'x'] } })
  await save(app, 'b/c: d', 'text')
  await save(app, 'gone', 'text')
  await app.inject({ method: 'DELETE', url: '/api/v1/pages/gone' })
  for (const [from, to] of [['b', 'a'], ['a', 'new']]) {
    await app.inject({ method: 'POST', url: `/api/v1/pages/${from}/rename`, payload: { to } })
  }
  const answer = await get(app, '/api/v1/export')
  assert.equal(answer.headers['content-type'], 'application/zip')
  assert.equal(answer.headers['content-disposition'], 'attachment; filename="wiki.zip"')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const files = await filesIn(answer.rawPayload)
  assert.deepEqual([...files.keys()], ['b/c%3A d.md', 'new.md'])
  assert.match(
    String(files.get('new.md')),
    /^---\nname: new\ntags:\n {2}- x\n {2}- y\nrevision: 3\nmodified_at: \d{4}-\d\d-\d\dT[\d:.]+Z\nformer_names:\n {2}- a\n---\n# B\r\n$/
  )
  assert.deepEqual(await exported(app), answer.rawPayload)
  assert.equal((await app.inject({ method: 'HEAD', url: '/api/v1/export' })).statusCode, 200)
})

test('exported paths are valid and do not clash on any file system', async (t) => {
  const app = await wiki.build(t)
  const names = [
    'a', 'A', 'a.md/b', 'a/B', 'A/b', 'CON', 'aux.txt/nul', 'com1', '.git/config', 'x. ./y', 'dots...', 'a*b?c|d"e<f>',
    'C:/x', '100%', '%41', 'Straße', 'STRASSE', 'ž'.repeat(200), 'Ž'.repeat(200), '😀'.repeat(100) + '/' + '😀'.repeat(99)
  ]
  for (const name of names) assert.ok((await save(app, name, 'text')).statusCode < 300, name)
  const paths = [...(await filesIn(await exported(app))).keys()]
  assert.equal(paths.length, new Set(names).size)
  assert.equal(new Set(paths.map((path) => path.toUpperCase().toLowerCase())).size, paths.length)
  for (const path of paths) {
    for (const part of path.split('/')) {
      assert.ok(Buffer.byteLength(part) <= 255, part)
      assert.doesNotMatch(part, /[<>:"|?*\\\p{Cc}]|[. ]$|^\.|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu)
    }
    assert.ok(
      !paths.some((other) => other.toLowerCase().startsWith(`${path.toLowerCase()}/`)),
      `${path} is a file and a folder`
    )
  }
})

test('an import reads files with and without front matter, skips unchanged pages and obeys on_conflict', async (t) => {
  const app = await wiki.build(t)
  const zip = await zipOf([
    ['Notes/a%2Fb 100%.md', 'from the path'],
    ['x.MD', '---\nname: Žabe/Ena\ntags: [Two, one]\ntitle: ignored\n---\ntext\n'],
    ['2024.md', '---\r\nname: 2024\r\ntags: 1, 2\r\n---\r\nyear'],
    ['rule.md', '---\nnot front matter\n---\ntext'],
    ['one-rule.md', '---\ntext'],
    ['bom.md', '\ufefftext']
  ])
  const first = await imported(app, zip, '?author=Ana&summary=notes')
  assert.deepEqual(first.lines.map(({ name, result, revision }) => [name, result, revision]), [
    ['Notes/a%2Fb 100%', 'created', 1],
    ['Žabe/Ena', 'created', 1],
    ['2024', 'created', 1],
    ['rule', 'created', 1],
    ['one-rule', 'created', 1],
    ['bom', 'created', 1]
  ])
  assert.deepEqual(first.totals, { done: true, created: 6, replaced: 0, unchanged: 0, kept: 0, refused: 0 })
  const { content, tags } = await page(app, 'Žabe/Ena')
  assert.deepEqual([content, tags], ['text\n', ['one', 'two']])
  assert.equal((await page(app, 'rule')).content, '---\nnot front matter\n---\ntext')
  assert.equal((await page(app, 'bom')).content, 'text')
  const [change] = (await get(app, '/api/v1/changes?limit=1')).json().items
  assert.deepEqual([change.author, change.summary], ['Ana', 'notes'])

  assert.deepEqual((await imported(app, zip)).totals, { ...first.totals, created: 0, unchanged: 6 })
  await app.inject({ method: 'PUT', url: '/api/v1/pages/2024', payload: { content: 'changed' } })
  await app.inject({ method: 'DELETE', url: '/api/v1/pages/bom' })
  assert.deepEqual(
    (await imported(app, zip, '?on_conflict=keep')).totals,
    { ...first.totals, created: 1, unchanged: 4, kept: 1 }
  )
  await app.inject({
    method: 'PUT',
    url: '/api/v1/pages/rule',
    payload: { content: '---\nnot front matter\n---\ntext', tags: ['only the tags differ'] }
  })
  const failing = await imported(app, zip, '?on_conflict=fail')
  assert.match(failing.lines[2].reason, /There is a page “2024” with another text/)
  assert.deepEqual((await imported(app, zip)).totals, { ...first.totals, created: 0, unchanged: 5, replaced: 1 })
})

/**
 * Changes a field in a file's entry of the central directory.
 * @param {string} path
 * @param {number} offset
 * @param {number} value
 * @param {2 | 4} bytes
 */
const inDirectory = (path, offset, value, bytes) => (/** @type {Buffer} */ zip) => {
  const at = zip.lastIndexOf(path) - 46
  if (bytes === 2) zip.writeUInt16LE(value, at + offset)
  else zip.writeUInt32LE(value, at + offset)
  return zip
}
const renamed = (/** @type {string} */ from, /** @type {string | Buffer} */ to) => (/** @type {Buffer} */ zip) => {
  for (let at = zip.indexOf(from); at !== -1; at = zip.indexOf(from, at + 1)) Buffer.from(to).copy(zip, at)
  return zip
}

test('an import refuses each invalid file with a reason, keeps the others and leaves no upload behind', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '2000' })
  const good = /** @type {const} */ (['good.md', 'good'])
  const bomb = 'x'.repeat(10_000_000)
  /** @type {[RegExp, Parameters<typeof zipOf>][]} */
  const cases = [
    [/leads somewhere else/, [[['aa/evil.md', 'x']], renamed('aa/evil.md', '../evil.md')]],
    [/leads somewhere else/, [[['a/aa/evil.md', 'x']], renamed('a/aa/evil.md', 'a/../evil.md')]],
    [/leads somewhere else/, [[['a/b/evil.md', 'x']], renamed('a/b/evil.md', 'a/./evil.md')]],
    [/absolute/, [[['aevil.md', 'x']], renamed('aevil.md', '/evil.md')]],
    [/absolute/, [[['c_/evil.md', 'x']], renamed('c_/evil.md', 'c:/evil.md')]],
    [/backslash/, [[['.._evil.md', 'x']], renamed('.._evil.md', '..\\evil.md')]],
    [/cannot be shown/, [[['e_vil.md', 'x']], renamed('e_vil.md', 'e\0vil.md')]],
    [/name is not UTF-8/, [[['e_vil.md', 'x']], renamed('e_vil.md', Buffer.from('e\xffvil.md', 'latin1'))]],
    [/symbolic link/, [[['evil.md', '/etc/passwd', { mode: 0o120777 }]]]],
    [/plain file/, [[['evil.md', 'x', { mode: 0o020666 }]]]],
    [/encrypted/, [[['evil.md', 'x']], inDirectory('evil.md', 8, 0x801, 2)]],
    [/unpacked: unsupported compression/, [[['evil.md', 'x']], inDirectory('evil.md', 10, 99, 2)]],
    [/more than \d+ bytes/, [[['evil.md', bomb]]]],
    [/more than \d+ bytes/, [[['evil.md', bomb]], inDirectory('evil.md', 24, 10, 4)]],
    [/not as long as the zip says/, [[['evil.md', 'text']], inDirectory('evil.md', 24, 3, 4)]],
    [/checksum/, [[['evil.md', 'text']], inDirectory('evil.md', 16, 1, 4)]],
    [/unpacked/, [[['evil.md', 'text']], inDirectory('evil.md', 42, 7, 4)]],
    [/not UTF-8/, [[['evil.md', Buffer.from([0x61, 0xff])]]]],
    [/Only Markdown/, [[['evil.zip', bomb]]]],
    [/Only Markdown/, [[['evil.html', '<script>']]]],
    [/no text/, [[['evil.md', '']]]],
    [/no text/, [[['evil.md', '---\nname: evil\n---\n']]]],
    [/at most 2000 are possible/, [[['evil.md', 'x'.repeat(2001)]]]],
    [/cannot be the name/, [[['stevec.md', 'x']]]],
    [/cannot be the name/, [[['evil.md', '---\nname: ../../etc\n---\nx']]]],
    [/cannot be the name/, [[['a%5Cb.md', 'x']]]],
    [/cannot be the tags/, [[['evil.md', '---\ntags: [a\\b]\n---\nx']]]],
    [/name is no text/, [[['evil.md', '---\nname: {$gt: a}\n---\nx']]]],
    [/no list of words/, [[['evil.md', '---\ntags: {a: b}\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\nname: [\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\na: &a [x]\nb: &b [*a, *a]\nname: x\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\nname: a\nname: b\n---\nx']]]],
    [/front matter.*longer than 32768 bytes/, [[['evil.md', `---\n${'k: v\n'.repeat(6_700)}---\nx`]]]],
    [/Another file of the zip is the page “good”/, [[['evil.md', '---\nname: good\n---\nx']]]]
  ]
  for (const [reason, [files, damage]] of cases) {
    const { lines, totals } = await imported(app, await zipOf([[...good], ...files], damage))
    assert.equal(lines.length, 2)
    assert.match(lines[1].reason, reason)
    assert.deepEqual([lines[0].name, lines[1].result, totals.done, totals.refused], ['good', 'refused', true, 1])
  }
  assert.deepEqual(
    (await get(app, '/api/v1/pages')).json().items.map((/** @type {{name: string}} */ item) => item.name),
    ['good']
  )
  assert.equal((await page(app, 'good')).revision, 1)
  assert.deepEqual(uploads(), [])
})

test('an import rejects an invalid zip or too many files, stops at a corrupt entry, limits a zip bomb', async (t) => {
  const app = await wiki.build(t)
  const zip = await zipOf(Array.from({ length: 20 }, (_, index) => [`${index}.md`, 'text']))
  for (const payload of [
    Buffer.alloc(0),
    Buffer.from('x'),
    zip.subarray(0, 100),
    zip.subarray(0, -1),
    Buffer.concat([zip, Buffer.from('x')])
  ]) {
    const refused = await send(app, payload)
    assert.equal(refused.statusCode, 400)
    assert.match(refused.json().detail, /not a whole zip file/)
  }
  const end = zip.length - 22
  const many = Buffer.from(zip)
  // A zip with more than 65 535 files has their number in a separate record (zip64).
  const record = Buffer.alloc(56)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(100_001n, 32)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(end), 8)
  assert.equal(
    (await send(app, Buffer.concat([many.subarray(0, end), record, locator, many.subarray(end)]))).statusCode,
    413
  )

  const broken = Buffer.from(zip)
  broken.writeUInt32LE(0, zip.lastIndexOf('10.md') - 46)
  const { lines, totals } = await imported(app, broken)
  assert.deepEqual([lines.length, totals.done, totals.created], [10, false, 10])
  assert.match(totals.reason, /not a whole zip file: invalid central directory file header/)

  // A zip bomb: 100 names for the same bytes.
  const one = await zipOf([['00000.md', `---\nname: bomb\n---\n${'x'.repeat(1_000_000)}`]])
  const [local, entry] = [
    one.subarray(0, one.lastIndexOf('00000.md') - 46),
    one.subarray(one.lastIndexOf('00000.md') - 46, -22)
  ]
  const names = Array.from({ length: 100 }, (_, index) =>
    renamed('00000', String(index).padStart(5, '0'))(Buffer.from(entry)))
  const tail = Buffer.from(one.subarray(-22))
  for (const [offset, value] of [[8, 100], [10, 100]]) tail.writeUInt16LE(value, offset)
  tail.writeUInt32LE(100 * entry.length, 12)
  const bomb = await imported(app, Buffer.concat([local, ...names, tail]))
  assert.deepEqual(bomb.totals, { done: true, created: 1, replaced: 0, unchanged: 0, kept: 0, refused: 99 })
  assert.equal(
    bomb.lines.filter(({ reason = '' }) => /Another file/.test(reason)).length,
    67,
    'files are unpacked up to 64 MiB in total'
  )
  assert.match(bomb.lines[99].reason, /unpacks to far more/)
  assert.deepEqual(uploads(), [])
})

test('an import with a too large Content-Length, another type or an invalid query is refused', async (t) => {
  const app = await wiki.build(t)
  const url = await app.listen({ port: 0 })
  const outgoing = request(`${url}/api/v1/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip', 'content-length': 268_435_457 }
  })
  outgoing.flushHeaders()
  const [answer] = await once(outgoing, 'response')
  assert.equal(answer.statusCode, 413)
  assert.equal(answer.headers.connection, 'close')
  outgoing.destroy()
  for (const type of ['application/json', 'application/octet-stream', 'multipart/form-data; boundary=x']) {
    assert.ok([400, 415].includes((await app.inject({
      method: 'POST',
      url: '/api/v1/import',
      headers: { 'content-type': type },
      payload: 'x'
    })).statusCode), type)
  }
  for (const query of ['?on_conflict=x', '?other=1', '?author=a&author=b', '?author=%00']) {
    assert.equal((await send(app, await zipOf([['a.md', 'x']]), query)).statusCode, 400, query)
  }
})

test('an unexpected error refuses only its file and is logged; losing the database ends the import', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const errors = t.mock.method(app.log, 'error', () => {})
  const warnings = t.mock.method(app.log, 'warn', () => {})
  const text = (/** @type {string} */ name) => `---\ntags: [x]\n---\ntext of ${name}`
  const zip = await zipOf(['a', 'b', 'c', 'd'].map((name) => [`${name}.md`, text(name)]))
  assert.equal((await imported(app, zip)).totals.created, 4)
  const { connection, db } = await openDatabase(t, uri)
  // No wiki stores a number as `tags`: reading it is an unexpected error.
  const broken = { $in: /** @type {any[]} */ (['b', 'c']) }
  assert.equal((await db.collection('pages').updateMany({ _id: broken }, { $set: { tags: 7 } })).modifiedCount, 2)

  const { lines, totals } = await imported(app, zip)
  assert.deepEqual(lines.map(({ result }) => result), ['unchanged', 'refused', 'refused', 'unchanged'])
  assert.deepEqual([totals.done, totals.refused], [true, 2])
  for (const { reason } of lines.slice(1, 3)) assert.match(reason, /^Something went wrong in the wiki with this file/)
  assert.equal(errors.mock.callCount(), 1, 'the same cause is logged once')
  const [{ err, path: file }] = /** @type {any[]} */ (errors.mock.calls[0].arguments)
  assert.match(err.message, /tags\.join/)
  assert.match(file, /^[bc]\.md$/)

  assert.equal(warnings.mock.callCount(), 0)
  await connection.close()
  const away = await imported(app, zip)
  assert.equal(away.totals.done, false)
  assert.match(away.totals.reason, /Send the same file again/)
  assert.equal(warnings.mock.callCount(), 1)
  assert.match(String(warnings.mock.calls[0].arguments[0]), /^an import broke off: .*(connect|closed)/i)
})

/**
 * Returns the connection of the wiki that was built last, and its database through a separate client.
 * @param {import('node:test').TestContext} t
 * @param {string} uri
 */
async function openDatabase (t, uri) {
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  return { connection: mongoose.connections[mongoose.connections.length - 1], db: client.db() }
}

test('a third concurrent import gets 429; a client that disconnects frees its slot and leaves no file', async (t) => {
  const app = await wiki.build(t)
  const url = await app.listen({ port: 0 })
  const start = async () => {
    const outgoing = request(`${url}/api/v1/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/zip', 'content-length': 1_000_000 }
    })
    outgoing.on('error', () => {})
    const arrived = once(app.server, 'request')
    outgoing.write(Buffer.alloc(1_000))
    const [incoming] = await arrived
    return { outgoing, closed: new Promise((resolve) => incoming.once('close', resolve)) }
  }
  const zip = await zipOf([['a.md', 'text']])
  const started = [await start(), await start()]
  const refused = await send(app, zip)
  assert.deepEqual(
    [refused.statusCode, refused.headers['retry-after'], refused.headers['cache-control']],
    [429, '5', 'no-store']
  )
  for (const { outgoing, closed } of started) {
    outgoing.destroy()
    await closed
  }
  assert.equal((await send(app, zip)).statusCode, 200)
  assert.deepEqual(uploads(), [])
  for (let index = 0; index < 10; index++) assert.equal((await get(app, '/api/v1/export')).statusCode, 200)
})

test('importing an export recreates the same pages, for generated names, texts and tags', async (t) => {
  const [from, to] = [await wiki.build(t), await wiki.build(t)]
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  const name = fc.oneof(
    word,
    fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
    fc.constantFrom(
      'true', '- a', '#', '---', 'a: b', '!x', '*a', '&a', '"', "'", '~', 'null', '0x1', '2024-01-01'
    )
  )
  const content = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.constantFrom('---\n', '---\nname: x\n---\n', '\ufeffx', '\r\n', '\0', '---\r\n---\r\n')
  )
  const tags = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 5 })
  const known = (/** @type {Map<string, string>} */ files) =>
    [...files].map(([path, text]) => [path, text.replace(/^(revision|modified_at): .*\n/gm, '')])
  let saved = 0
  await fc.assert(fc.asyncProperty(fc.array(
    fc.record({ name, content, tags }),
    { minLength: 1, maxLength: 5 }
  ), async (pages) => {
    for (const { name, ...fields } of pages) {
      const { statusCode, body } = await from.inject({
        method: 'PUT',
        url: `/api/v1/pages/${encodeURIComponent(name)}`,
        payload: fields
      })
      assert.ok([200, 201, 400].includes(statusCode), body)
      if (statusCode !== 400) saved++
    }
    const zip = await exported(from)
    const { totals } = await imported(to, zip)
    assert.deepEqual([totals.done, totals.refused], [true, 0])
    assert.deepEqual(known(await filesIn(await exported(to))), known(await filesIn(zip)))
    assert.equal((await imported(from, zip)).totals.unchanged, (await filesIn(zip)).size)
  }), { numRuns: 10, seed: 7, endOnFailure: true })
  assert.ok(saved > 10, `only ${saved} pages were saved`)
})
