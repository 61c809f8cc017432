// Lists show small versions of large pictures. Each is made in a process of its own, and nobody waits for it.
import assert from 'node:assert/strict'
import test from 'node:test'
import sharp from 'sharp'
import { waitUntil } from '@stevec/harness/processes'
import { sweepThumbnails } from '../src/files/thumbnails/sweep.js'
import { BROWSER, createLog, get, useWiki } from './helper.js'
import { gif, png } from './images.js'
import { bearer } from './people.js'
import { openPictures, post, uploaded } from './picture-stories.js'
import { makeSpace, startWithPeople, upload } from './spaces.js'
import { childrenCalled, halves, MADE_MAX_MS } from './thumbnail-stories.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()

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

test('it goes with its picture, also when it is made at that moment, or waits', async (t) => {
  const { lines, logTo } = createLog()
  const { app, pictures } = await startWithPictures(t, { logTo })
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
  const third = await uploaded(app, await halves(900, 602).png().toBuffer())
  for (const deleted of [third, second]) await app.inject({ method: 'DELETE', url: `/api/v1${deleted}` })
  await waitUntil(() => childrenCalled('thumbnails/program.js') === 0, MADE_MAX_MS)
  await app.close()
  assert.equal(await count(), 0)
  assert.deepEqual(lines, [])

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
