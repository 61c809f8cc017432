import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import test from 'node:test'
import mongoose from 'mongoose'
import { imported, page, send, useTemporary, zipOf } from './archives.js'
import { get, useWiki } from './helper.js'

const wiki = useWiki()
const uploads = useTemporary()

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
    [/It is hidden/, [[['.obsidian/evil.md', 'x']]]],
    [/It is hidden/, [[['__MACOSX/._evil.md', 'x']]]],
    [/longer than 4096 characters/, [[[`${'evil/'.repeat(900)}evil.md`, 'x']]]],
    [/symbolic link/, [[['evil.md', '/etc/passwd', { mode: 0o120777 }]]]],
    [/plain file/, [[['evil.md', 'x', { mode: 0o020666 }]]]],
    [/encrypted/, [[['evil.md', 'x']], inDirectory('evil.md', 8, 0x801, 2)]],
    [/unpacked: unsupported compression/, [[['evil.md', 'x']], inDirectory('evil.md', 10, 99, 2)]],
    [/It is larger than/, [[['evil.md', bomb]]]],
    [/It is larger than/, [[['evil.md', bomb]], inDirectory('evil.md', 24, 10, 4)]],
    [/not as long as the zip says/, [[['evil.md', 'text']], inDirectory('evil.md', 24, 3, 4)]],
    [/checksum/, [[['evil.md', 'text']], inDirectory('evil.md', 16, 1, 4)]],
    [/unpacked/, [[['evil.md', 'text']], inDirectory('evil.md', 42, 7, 4)]],
    [/not UTF-8/, [[['evil.md', Buffer.from([0x61, 0xff])]]]],
    [/Only Markdown/, [[['evil.exe', bomb]]]],
    [/Only Markdown/, [[['evil.html', '<script>']]]],
    [/Only Markdown/, [[['evil.js', 'alert(1)']]]],
    [/no text/, [[['evil.md', '']]]],
    [/no text/, [[['evil.md', '---\nname: evil\n---\n']]]],
    [/longer than 2 kB/, [[['evil.md', 'x'.repeat(2001)]]]],
    [/cannot be the name/, [[['stevec.md', 'x']]]],
    [/cannot be the name/, [[['evil.md', '---\nname: ../../etc\n---\nx']]]],
    [/cannot be the name/, [[['a%5Cb.md', 'x']]]],
    [/cannot be the tags/, [[['evil.md', '---\ntags: [a\\b]\n---\nx']]]],
    [/name is no text/, [[['evil.md', '---\nname: {$gt: a}\n---\nx']]]],
    [/no list of words/, [[['evil.md', '---\ntags: {a: b}\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\nname: [\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\na: &a [x]\nb: &b [*a, *a]\nname: x\n---\nx']]]],
    [/front matter.*cannot be read/, [[['evil.md', '---\nname: a\nname: b\n---\nx']]]],
    [/front matter.*longer than 32 kB/, [[['evil.md', `---\n${'k: v\n'.repeat(6_700)}---\nx`]]]],
    [/Another of the files is the page “good”/, [[['good .md', 'x']]]]
  ]
  for (const [reason, [files, damage]] of cases) {
    const { lines, totals } = await imported(app, await zipOf([[...good], ...files], damage))
    assert.equal(lines.length, 2)
    assert.match(lines[1].reason, reason)
    assert.ok(lines[1].path.length <= 4_096, 'a report of many such files is not endless')
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
    bomb.lines.filter(({ reason = '' }) => /Another of the files/.test(reason)).length,
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
  const said = warnings.mock.calls.map(({ arguments: [line] }) => String(line))
  // Other parts notice it, too, at times of their own.
  const ofOthers = /^(changes of pages (can no longer be read|are not searched now)|the queue of things to do .* stands still)/
  const [broke, ...more] = said.filter((line) => !ofOthers.test(line))
  assert.deepEqual(more, [])
  assert.match(broke, /^an import broke off: .*(connect|closed)/i)
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
