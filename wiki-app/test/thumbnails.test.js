// Lists show small versions of large pictures. Each is made in a process of its own, and nobody waits for it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import path from 'node:path'
import test from 'node:test'
import sharp from 'sharp'
import { waitUntil } from '@stevec/harness/processes'
import { sweepThumbnails } from '../src/files/thumbnails/sweep.js'
import { createMaker, NotMade } from '../src/files/thumbnails/maker.js'
import { BROWSER, createLog, get, useWiki } from './helper.js'
import { gif, png } from './images.js'
import { bearer } from './people.js'
import { openPictures, post, uploaded } from './picture-stories.js'
import { makeSpace, startWithPeople, upload } from './spaces.js'

/** @typedef {import('fastify').FastifyInstance} App */

const MADE_MAX_MS = 120_000
const wiki = useWiki()

/**
 * A picture with a red left half.
 * @param {number} width @param {number} height
 */
const halves = (width, height) => sharp({ create: { width, height, channels: 3, background: '#fff' } })
  .composite([{
    input: { create: { width: Math.ceil(width / 2), height, channels: 3, background: '#f00' } }, left: 0, top: 0
  }])

/** @param {import('node:test').TestContext} t @param {{logTo?: NodeJS.WritableStream}} [parts] */
async function startWithPictures (t, parts) {
  const settings = { MONGODB_URI: wiki.freshUri() }
  return { app: await wiki.build(t, settings, {}, parts), pictures: await openPictures(t, settings) }
}

/** @param {App} app @param {string} url  of a thumbnail @param {Record<string, string>} [headers] */
async function made (app, url, headers) {
  /** @type {import('light-my-request').Response | undefined} */
  let answer
  await waitUntil(async () => {
    answer = await get(app, url, headers)
    return answer.statusCode === 200
  }, MADE_MAX_MS)
  return /** @type {import('light-my-request').Response} */ (answer)
}

/** @param {Buffer} bytes */
const opened = (bytes) => async () => Readable.from([bytes])

/** @param {string} command  part of it @returns {number} processes of this one that run it */
function childrenCalled (command) {
  let count = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = /\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
      if (Number(parent) !== process.pid) continue
      if (readFileSync(path.join('/proc', pid, 'cmdline'), 'latin1').includes(command)) count++
    } catch {
      // It has ended.
    }
  }
  return count
}

test('an uploaded picture gets a small version, which caches keep and lists show', async (t) => {
  const app = await wiki.build(t)
  const bytes = await halves(1_000, 500).png().toBuffer()
  const { url, thumbnail_url: small } = (await post(app, bytes)).json()
  assert.equal(small, `${url}/thumbnail.webp`)
  const { headers, rawPayload } = await made(app, small)
  assert.equal(headers['content-type'], 'image/webp')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox")
  assert.equal(headers['x-content-type-options'], 'nosniff')
  const { format, width, height } = await sharp(rawPayload).metadata()
  assert.deepEqual({ format, width, height }, { format: 'webp', width: 384, height: 192 })
  assert.ok(rawPayload.length < 5_000, `${rawPayload.length} bytes`)

  const again = await get(app, small, { 'if-none-match': String(headers.etag) })
  assert.deepEqual([again.statusCode, again.rawPayload.length], [304, 0])
  const head = await app.inject({ method: 'HEAD', url: small })
  assert.deepEqual([head.statusCode, head.headers['content-length'], head.body],
    [200, String(rawPayload.length), ''])

  const { body } = await get(app, '/files', BROWSER)
  assert.ok(body.includes(`<a href="${url}"><img src="${small}" width="1000" height="500"`), body)
  const listed = (await get(app, '/api/v1/files')).json().items
  assert.deepEqual(listed.map((/** @type {any} */ item) => item.thumbnail_url), [small])
})

test('a photo lies as it was taken, and its thumbnail says nothing of the place', async (t) => {
  const app = await wiki.build(t)
  const photo = await halves(800, 400).jpeg()
    .withExif({ IFD0: { Copyright: 'Ana' }, IFD3: { GPSLatitude: '46/1 3/1 0/1' } }).withMetadata({ orientation: 6 })
    .toBuffer()
  assert.ok(photo.includes('Exif'))
  const { rawPayload } = await made(app, `${await uploaded(app, photo)}/thumbnail.webp`)
  assert.ok(!rawPayload.includes('EXIF'))
  const { data, info } = await sharp(rawPayload).raw().toBuffer({ resolveWithObject: true })
  assert.deepEqual([info.width, info.height], [192, 384])
  const colourAt = (/** @type {number} */ x, /** @type {number} */ y) => {
    const at = (y * info.width + x) * info.channels
    return [...data.subarray(at, at + 3)].map((value) => value > 128)
  }
  assert.deepEqual(colourAt(96, 40), [true, false, false], 'the left half is above')
  assert.deepEqual(colourAt(96, 340), [true, true, true])
})

test('all kinds have one: of an animation the first frame; a small picture is its own', async (t) => {
  const app = await wiki.build(t)
  const picture = halves(500, 400)
  const kinds = {
    progressive: await picture.clone().jpeg({ progressive: true }).toBuffer(),
    interlaced: await picture.clone().png({ progressive: true }).toBuffer(),
    webp: await picture.clone().webp().toBuffer(),
    gif: await picture.clone().gif().toBuffer(),
    transparent: await sharp({ create: { width: 400, height: 385, channels: 4, background: '#f000' } }).png().toBuffer()
  }
  for (const [name, bytes] of Object.entries(kinds)) {
    const { rawPayload } = await made(app, `${await uploaded(app, bytes)}/thumbnail.webp`)
    const { width, hasAlpha } = await sharp(rawPayload).metadata()
    assert.deepEqual([name, width, hasAlpha], [name, 384, name === 'transparent'])
  }
  const answer = (await post(app, png(384, 384))).json()
  assert.equal(answer.thumbnail_url, undefined)
  assert.equal((await get(app, `${answer.url}/thumbnail.webp`)).statusCode, 404)
  assert.ok((await get(app, '/files', BROWSER)).body.includes(`<img src="${answer.url}"`))
})

test('until it is made, and where that fails, the picture is shown; a day later it is tried again', async (t) => {
  const { lines, logTo } = createLog()
  const { app, pictures } = await startWithPictures(t, { logTo })
  // Whole by its marks, and without a single pixel.
  const { url } = (await post(app, gif(600, 600, 60_000))).json()
  const failures = () => pictures.models.Thumbnails.find().lean().exec()
  await waitUntil(async () => (await failures()).length === 1, MADE_MAX_MS)
  const [{ data, failed_at: failedAt }] = await failures()
  assert.equal(data, undefined)
  assert.ok(failedAt instanceof Date)
  const answer = await get(app, `${url}/thumbnail.webp`)
  assert.deepEqual([answer.statusCode, answer.headers.location, answer.headers['cache-control']],
    [302, url, 'no-store'])
  assert.equal(lines.filter(({ msg }) => msg === 'a picture has no thumbnail').length, 1)
  const [, ttl] = await pictures.models.Thumbnails.collection.indexes()
  assert.deepEqual([ttl.key, ttl.expireAfterSeconds], [{ failed_at: 1 }, 86_400])
})

test('of a picture that was there before, the first request makes it', async (t) => {
  const { app, pictures } = await startWithPictures(t)
  const url = await uploaded(app, await halves(900, 600).png().toBuffer())
  await made(app, `${url}/thumbnail.webp`)
  await pictures.models.Thumbnails.deleteMany({}).exec()
  const answer = await get(app, `${url}/thumbnail.webp`)
  assert.deepEqual([answer.statusCode, answer.headers.location], [302, url])
  await made(app, `${url}/thumbnail.webp`)
})

test('it goes with its picture, also when it is made at that moment', async (t) => {
  const { app, pictures } = await startWithPictures(t)
  const count = () => pictures.models.Thumbnails.countDocuments().exec()
  const url = await uploaded(app, await halves(900, 600).png().toBuffer())
  await made(app, `${url}/thumbnail.webp`)
  assert.equal(await count(), 1)
  const removed = await app.inject({ method: 'DELETE', url: `/api/v1${url}` })
  assert.equal(removed.statusCode, 204)
  assert.equal(await count(), 0)
  const gone = await get(app, `${url}/thumbnail.webp`)
  assert.equal(gone.statusCode, 404)
  assert.match(gone.body, /was deleted on/)

  const second = await uploaded(app, await halves(900, 601).png().toBuffer())
  await waitUntil(() => childrenCalled('thumbnails/program.js') > 0, MADE_MAX_MS)
  await app.inject({ method: 'DELETE', url: `/api/v1${second}` })
  await waitUntil(() => childrenCalled('thumbnails/program.js') === 0, MADE_MAX_MS)
  await app.close()
  assert.equal(await count(), 0)

  await pictures.models.Thumbnails.collection.insertOne({ data: Buffer.from('of an older deletion') })
  assert.equal(await sweepThumbnails(pictures.models), 1)
  assert.equal(await count(), 0)
})

test('a member of a private space sees it, and for all others it is not there', async (t) => {
  const { app, db } = await startWithPeople(t, wiki)
  await makeSpace(app, 'Team')
  const { url } = (await upload(app, 'Team/Plan', await halves(900, 600).png().toBuffer())).json()
  const small = `${url}/thumbnail.webp`
  assert.ok((await get(app, '/edit/in/files?space=Team', { ...BROWSER, ...bearer('teamreader') })).body.includes(small))
  const { headers } = await made(app, small, bearer('teamreader'))
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.equal((await get(app, small, bearer('editor'))).statusCode, 403)
  assert.equal((await get(app, small)).statusCode, 401)
  assert.equal((await get(app, small.replace('/edit/in/files/Team', '/files'))).statusCode, 404)
  assert.deepEqual(await Promise.all(['thumbnails', 'space_thumbnails'].map((name) =>
    db.collection(name).countDocuments())), [0, 1])
})

test('a program that breaks, hangs or takes too much ends, and the wiki does not', async () => {
  const log = console
  const bytes = await halves(4_000, 3_000).jpeg({ progressive: true }).toBuffer()
  /** @type {[object, RegExp][]} */
  const table = [
    [{ cpuMaxMs: 1 }, /more than 1 ms of processor time/],
    [{ memoryMaxMib: 1 }, /more than 1 MiB of memory/],
    [{ wallMaxMs: 1 }, /SIGKILL/],
    [{ bytesMax: 10 }, /SIGKILL|ended with 0/]
  ]
  for (const [limits, reason] of table) {
    const answer = await createMaker({ log, limits }).make(opened(bytes))
    assert.match('refused' in answer ? answer.refused : 'made', reason)
  }
  const maker = createMaker({ log })
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="900" height="9"/>')
  for (const hostile of [Buffer.alloc(0), svg,
    Buffer.from('II*\0\x08\0\0\0'), Buffer.alloc(1_000_000, 'GIF8')]) {
    const answer = await maker.make(opened(hostile))
    assert.ok('refused' in answer, String(hostile.subarray(0, 20)))
  }
  await assert.rejects(maker.make(async () => Readable.from((async function * () {
    yield Buffer.from('\xff\xd8', 'latin1')
    throw new Error('the disk is away')
  })())), /the disk is away/)
  const answer = await maker.make(opened(bytes))
  assert.ok('data' in answer, 'after all of these it still makes one')

  const ending = maker.make(opened(bytes))
  const waiting = maker.make(opened(bytes))
  await waitUntil(() => childrenCalled('thumbnails/program.js') > 0, MADE_MAX_MS)
  maker.close()
  await assert.rejects(ending, NotMade)
  await assert.rejects(waiting, NotMade)
  assert.equal(childrenCalled('thumbnails/program.js'), 0)
})

test('many at once wait in a line of limited length', async () => {
  const maker = createMaker({ log: console })
  const bytes = await halves(400, 400).png().toBuffer()
  /** @type {(() => void)[]} */
  const begin = []
  const held = async () => {
    await new Promise((resolve) => begin.push(() => resolve(undefined)))
    return Readable.from([bytes])
  }
  const first = maker.make(held)
  const waiting = Array.from({ length: 100 }, () => maker.make(held).catch((error) => error))
  await assert.rejects(maker.make(held), NotMade)
  maker.close()
  await waitUntil(() => begin.length === 1, MADE_MAX_MS)
  begin[0]()
  await assert.rejects(first, NotMade)
  assert.ok((await Promise.all(waiting)).every((error) => error instanceof NotMade))
})

test('without its decoder the wiki shows pictures as they are, and says so once', async () => {
  /** @type {string[]} */
  const said = []
  const log = { warn: (/** @type {object} */ _about, /** @type {string} */ text) => said.push(text) }
  const program = path.join(import.meta.dirname, 'no-decoder.js')
  const maker = createMaker({ log: /** @type {any} */ (log), program })
  for (let index = 0; index < 3; index++) await assert.rejects(maker.make(opened(png(400, 400))), NotMade)
  assert.deepEqual(said, ['thumbnails cannot be made: sharp does not load'])
})

test('the process knows nothing of the wiki’s settings', async () => {
  const program = path.join(import.meta.dirname, 'shown-environment.js')
  const answer = await createMaker({ log: console, program }).make(opened(png(400, 400)))
  assert.ok('data' in answer)
  assert.deepEqual(JSON.parse(String(answer.data)), {})
})
