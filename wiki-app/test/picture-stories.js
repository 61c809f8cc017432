import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { openOutside } from '../src/backup/pictures.js'
import { readBackup } from '../src/backup/read.js'
import { verifyBackup } from '../src/backup/verify.js'
import { writeBackup } from '../src/backup/write.js'
import { readConfig } from '../src/config.js'
import { openKinds } from '../src/files/kinds.js'
import { sweep } from '../src/files/storage/sweep.js'
import { loadS3 } from '../src/files/storage/storages.js'
import { exported, imported } from './archives.js'
import { get, useWiki } from './helper.js'
import { largePng, png } from './images.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} App */

const WAIT_MAX_MS = 60_000
const COMMAND = fileURLToPath(new URL('../bin/pictures.js', import.meta.url))

/** @param {App} app @param {Buffer} payload */
export const post = (app, payload) =>
  app.inject({ method: 'POST', url: '/api/v1/files', headers: { 'content-type': 'image/png' }, payload })

/** @param {App} app @param {Buffer} bytes @returns {Promise<string>} the address */
export async function uploaded (app, bytes) {
  const answer = await post(app, bytes)
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json().url
}

/** @param {App} app @param {string} url @param {Buffer} bytes */
export async function assertShown (app, url, bytes) {
  const answer = await get(app, url)
  assert.equal(answer.statusCode, 200, answer.body)
  assert.ok(answer.rawPayload.equals(bytes), `${answer.rawPayload.length} of ${bytes.length} bytes`)
}

/**
 * The storages and models of a wiki's settings, on a connection of their own.
 * @param {TestContext} t @param {Record<string, string>} settings  with MONGODB_URI
 */
export async function openPictures (t, settings) {
  const config = readConfig(settings)
  const connection = await mongoose.createConnection(config.MONGODB_URI, { promoteBuffers: true }).asPromise()
  t.after(() => connection.close())
  const kinds = openKinds(connection, config, await loadS3(config))
  const [{ models, storages }] = kinds
  t.after(() => { for (const { storages: { all } } of kinds) for (const storage of all) storage.close() })
  const placeOf = async (/** @type {string} */ url) =>
    (await models.Files.findOne({ filename: url.slice(7, 39) }).lean().exec())?.metadata.place?.store ?? 'database'
  return { connection, kinds, models, storages, placeOf, chunks: () => models.Chunks.countDocuments().exec() }
}

/**
 * Starts `bin/pictures.js`.
 * @param {string[]} args @param {Record<string, string>} settings
 */
export function startCommand (args, settings) {
  const child = spawn(process.execPath, [COMMAND, ...args], { env: { ...process.env, ...settings } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { output += text })
  const ended = once(child, 'close').then(([code]) => ({ code, output }))
  return { child, ended }
}

/**
 * What holds for each place of pictures outside the database.
 * @param {object} place
 * @param {import('../src/files/storage/storage.js').StorageName} place.name
 * @param {(t: TestContext) => Promise<Record<string, string>>} place.settings  of a new, empty place
 * @param {(settings: Record<string, string>) => string[]} place.names  of the files or objects in it
 */
export function placeStories ({ name, settings: newPlace, names }) {
  const wiki = useWiki()
  /** @param {TestContext} t */
  async function build (t, more = {}) {
    const settings = { MONGODB_URI: wiki.freshUri(), PICTURE_STORE: name, ...await newPlace(t), ...more }
    return { settings, app: await wiki.build(t, settings) }
  }

  test(`${name}: a picture's bytes are there, not in the database, from upload until deletion`, async (t) => {
    const { settings, app } = await build(t)
    const bytes = largePng(2_500_000)
    const url = await uploaded(app, bytes)
    const [file] = names(settings)
    assert.match(file, new RegExp(`^${url.slice(7, 39)}-[0-9a-f]{24}$`))
    const { chunks } = await openPictures(t, settings)
    assert.equal(await chunks(), 0)

    await assertShown(app, url, bytes)
    const { headers } = await get(app, url)
    assert.equal(headers['content-length'], String(bytes.length))
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    const head = await app.inject({ method: 'HEAD', url })
    assert.deepEqual([head.body, head.headers.etag], ['', headers.etag])
    assert.equal((await get(app, url, { 'if-none-match': String(headers.etag) })).statusCode, 304)
    assert.equal((await post(app, bytes)).statusCode, 200)
    assert.equal(names(settings).length, 1, 'the second copy is removed')

    assert.equal((await app.inject({ method: 'DELETE', url: `/api/v1${url}` })).statusCode, 204)
    assert.equal((await get(app, url)).statusCode, 404)
    assert.deepEqual(names(settings), [])
    await uploaded(app, bytes)
    await assertShown(app, url, bytes)
  })

  test(`${name}: nothing is left of uploads that are refused, that break off or that lose a race`, async (t) => {
    const { settings, app } = await build(t, { UPLOAD_MAX_BYTES: '100000' })
    for (const [bytes, status] of /** @type {[Buffer, number][]} */ ([
      [Buffer.from('no picture at all'), 415], [largePng(90_000).subarray(0, 80_000), 415], [largePng(200_000), 413]
    ])) assert.equal((await post(app, bytes)).statusCode, status)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /api/v1/files HTTP/1.1\r\nHost: a\r\nContent-Type: image/png\r\nContent-Length: 90000\r\n\r\n')
    socket.write(largePng(90_000).subarray(0, 50_000))
    await once(socket, 'connect')
    socket.destroy()
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(app, png(7))))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 200, 201])
    assert.ok(await waitUntil(() => names(settings).length === 1, WAIT_MAX_MS), names(settings).join())
  })

  test(`${name}: an export has all pictures, a backup restores them, and moved back they are the same`,
    async (t) => {
      const { settings, app } = await build(t)
      const pictures = [png(3), largePng(1_100_000), png(5, 5)]
      const urls = []
      for (const bytes of pictures) urls.push(await uploaded(app, bytes))

      const other = await build(t)
      assert.equal((await imported(other.app, await exported(app))).totals.created, 3)
      for (const [index, url] of urls.entries()) await assertShown(other.app, url, pictures[index])
      assert.equal(names(other.settings).length, 3)

      const directory = mkdtempSync(path.join(tmpdir(), 'stevec-pictures-'))
      t.after(() => rmSync(directory, { recursive: true }))
      const file = path.join(directory, 'all.stevec.gz')
      const uri = settings.MONGODB_URI
      await assert.rejects(writeBackup({ uri, file }), /give this command the wiki's settings PICTURE_/)
      const outside = await openOutside(settings)
      t.after(() => { for (const storage of outside) storage.close() })
      const attached = await app.inject({
        method: 'POST',
        url: '/api/v1/files?name=a.pdf',
        headers: { 'content-type': 'application/octet-stream' },
        payload: '%PDF'
      })
      const counts = await writeBackup({ uri, file, outside })
      assert.deepEqual([counts['files.files'], counts['files.chunks']], [4, 5])
      assert.doesNotMatch(gunzipSync(readFileSync(file)).toString(), /"place"/)
      await verifyBackup({ uri, file })

      const restored = { ...settings, ...await newPlace(t), MONGODB_URI: wiki.freshUri() }
      await readBackup({ uri: restored.MONGODB_URI, file })
      const again = await wiki.build(t, restored)
      await assertShown(again, attached.json().url, Buffer.from('%PDF'))
      for (const [index, url] of urls.entries()) await assertShown(again, url, pictures[index])
      assert.deepEqual(names(restored), [])
      const moved = await startCommand(['move', '--to', name], restored).ended
      assert.deepEqual([moved.code, moved.output.match(/4 of 4 pictures/)?.length], [0, 1], moved.output)
      assert.equal(names(restored).length, 4)
      await assertShown(again, attached.json().url, Buffer.from('%PDF'))
      for (const [index, url] of urls.entries()) await assertShown(again, url, pictures[index])
    })

  test(`${name}: left-overs older than a day are collected, and nothing else`, async (t) => {
    const { settings, app } = await build(t)
    const url = await uploaded(app, png(4))
    const { models, storages, connection } = await openPictures(t, settings)
    const { fresh } = storages
    const idOf = (/** @type {number} */ hoursAgo) =>
      mongoose.Types.ObjectId.createFromTime(Math.floor(Date.now() / 1_000) - 3_600 * hoursAgo)
    const put = (/** @type {number} */ hoursAgo) =>
      fresh.put(idOf(hoursAgo), (async function * () { yield png(9) })(), () => '0'.repeat(32))
    await put(25)
    await put(23)
    // As of a picture that is older than a day.
    const [file] = await models.Files.find().lean().exec()
    const old = idOf(48)
    await fresh.put(old, await fresh.read({ id: file._id, name: file.filename }, file.length), () => file.filename)
    await models.Files.updateOne({ _id: file._id }, { 'metadata.place.id': old }).exec()
    assert.equal(names(settings).length, 4)

    assert.equal(await sweep(models, fresh), 1)
    assert.equal(names(settings).length, 3)
    await assertShown(app, url, png(4))
    assert.equal(await sweep(models, fresh, { unusedMs: -1_000 }), 2)
    await assertShown(app, url, png(4))
    await connection.collection('files.files').deleteOne({ _id: file._id })
    assert.equal(await sweep(models, fresh), 1)
    assert.deepEqual(names(settings), [])
  })

  test(`${name}: a place of another wiki, or without the mark of this one, is refused at the start`, async (t) => {
    const { settings, app } = await build(t)
    await uploaded(app, png())
    await assert.rejects(wiki.build(t, { ...settings, MONGODB_URI: wiki.freshUri() }), /belongs to another wiki/)
    await assert.rejects(wiki.build(t, { ...settings, ...await newPlace(t) }), /is missing\. Is it mounted/)
    const elsewhere = wiki.build(t, { MONGODB_URI: settings.MONGODB_URI })
    await assert.rejects(elsewhere, /some pictures of this wiki are in the place/)
    const second = await wiki.build(t, { ...settings, PICTURE_STORE: 'database' })
    const url = await uploaded(second, png(2))
    await assertShown(app, url, png(2))
    const readOnly = await wiki.build(t, { ...settings, ACCESS: 'read-only' })
    await assertShown(readOnly, url, png(2))
  })

  test(`${name}: a move that is killed again and again loses nothing, with the wiki in use, and ends`, async (t) => {
    const { settings, app } = await build(t, { PICTURE_STORE: 'database' })
    const pictures = Array.from({ length: 24 }, (_, index) =>
      index % 6 === 0 ? largePng(1_500_000, index) : png(index + 1))
    /** @type {string[]} */
    const urls = []
    for (const bytes of pictures) urls.push(await uploaded(app, bytes))
    const { placeOf, chunks, models, storages } = await openPictures(t, settings)
    const all = async () => {
      for (const [index, url] of urls.entries()) await assertShown(app, url, pictures[index])
    }
    const movedCount = async () => models.Files.countDocuments({ 'metadata.place.store': name }).exec()
    let killed = 0
    for (let kill = 1; kill <= 2; kill++) {
      const { child, ended } = startCommand(['move', '--to', name], settings)
      const before = await movedCount()
      // At any moment after some were moved.
      assert.ok(await waitUntil(async () => child.exitCode !== null || await movedCount() > before, WAIT_MAX_MS))
      child.kill('SIGKILL')
      await ended
      if (child.signalCode === 'SIGKILL') killed++
      await all()
    }
    assert.ok(killed > 0)
    const { code, output } = await startCommand(['move', '--to', name], settings).ended
    assert.equal(code, 0, output)
    await all()
    for (const url of urls) assert.equal(await placeOf(url), name)
    // What the kills left behind.
    for (const storage of storages.all) await sweep(models, storage, { unusedMs: -1_000 })
    assert.deepEqual([await chunks(), names(settings).length], [0, urls.length])
    await all()
    assert.equal((await startCommand(['check'], settings).ended).code, 0)
    const back = await startCommand(['move', '--to', 'database'], settings).ended
    assert.equal(back.code, 0, back.output)
    assert.deepEqual(names(settings), [])
    await all()
  })
}
