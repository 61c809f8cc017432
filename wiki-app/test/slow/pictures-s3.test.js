// An S3 server takes minutes to compile (./stevec setup --with s3), so these tests are not in `make test`.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import test, { after, before } from 'node:test'
import mongoose from 'mongoose'
import { startS3 } from '@stevec/harness/s3'
import { createLog, get, useWiki } from '../helper.js'
import { largePng, png } from '../images.js'
import { assertShown, openPictures, placeStories, post, startCommand, uploaded } from '../picture-stories.js'

/** @type {import('@stevec/harness/s3').S3Server} */
let s3
before(async () => { s3 = await startS3() })
after(() => s3.stop())
let buckets = 0

/** @returns {Record<string, string>} of a new bucket */
function newBucket () {
  const bucket = `bucket-${++buckets}`
  mkdirSync(path.join(path.dirname(s3.folder), bucket))
  return {
    PICTURE_S3_ENDPOINT: s3.endpoint,
    PICTURE_S3_BUCKET: bucket,
    PICTURE_S3_KEY_ID: s3.keyId,
    PICTURE_S3_SECRET: s3.secret
  }
}

/** @param {Record<string, string>} settings */
const names = ({ PICTURE_S3_BUCKET: bucket }) =>
  readdirSync(path.join(path.dirname(s3.folder), bucket)).filter((name) => /^[0-9a-f]{32}-/.test(name))

placeStories({ name: 's3', settings: async () => newBucket(), names })

const wiki = useWiki()

test('s3: wrong keys and buckets are refused at the start, without a secret in the message', async (t) => {
  /** @type {Record<string, string>} */
  const settings = { PICTURE_STORE: 's3', ...newBucket() }
  for (const wrong of /** @type {Record<string, string>[]} */ ([
    { PICTURE_S3_BUCKET: 'no-such-bucket' }, { PICTURE_S3_SECRET: 'wrong-secret' }, { PICTURE_S3_KEY_ID: 'nobody' }
  ])) {
    await assert.rejects(wiki.build(t, { ...settings, ...wrong }), ({ message }) => {
      assert.match(message, /cannot be used: the S3 store answers 40[34] \w+; make the bucket/)
      assert.match(message, /; make the bucket, and check PICTURE_S3_KEY_ID/)
      return !message.includes(s3.secret) && !message.includes('wrong-secret')
    })
  }
  const { PICTURE_S3_SECRET: _, ...half } = settings
  await assert.rejects(wiki.build(t, half), /an S3 store for pictures also needs PICTURE_S3_SECRET/)
})

test('s3: while the store is away pages are served, pictures get 503, and all is well again after it', async (t) => {
  const { lines, logTo } = createLog()
  const settings = { MONGODB_URI: wiki.freshUri(), PICTURE_STORE: 's3', ...newBucket() }
  const app = await wiki.build(t, settings, {}, { logTo })
  const url = await uploaded(app, largePng(2_000_000))
  await s3.kill()
  for (const answer of [await get(app, url), await post(app, png(2))]) {
    assert.deepEqual([answer.statusCode, answer.headers['retry-after'], answer.headers['cache-control']],
      [503, '5', 'no-store'])
    assert.doesNotMatch(answer.body, /ECONN|127\.0\.0\.1/)
  }
  assert.equal((await get(app, '/files')).statusCode, 200)
  assert.equal((await get(app, '/readyz')).statusCode, 200)
  const head = await app.inject({ method: 'HEAD', url })
  assert.equal((await get(app, url, { 'if-none-match': String(head.headers.etag) })).statusCode, 304)
  // A wiki that starts meanwhile serves pages, too.
  const late = await wiki.build(t, settings)
  assert.equal((await get(late, '/files')).statusCode, 200)
  const moved = await startCommand(['move', '--to', 'database'], settings).ended
  assert.equal(moved.code, 3, moved.output)
  assert.doesNotMatch(moved.output, new RegExp(s3.secret))

  const deleted = await app.inject({ method: 'DELETE', url: `/api/v1${url}` })
  assert.equal(deleted.statusCode, 204)
  assert.ok(lines.some(({ msg }) => msg === 'the bytes of a file could not be removed; they are collected later'))
  assert.ok(!JSON.stringify(lines).includes(s3.secret))
  await s3.start()
  assert.equal(names(settings).length, 1)
  assert.equal((await get(app, url)).statusCode, 404)
  const again = await uploaded(app, png(2))
  await assertShown(app, again, png(2))
  await assertShown(late, again, png(2))
})

test('s3: more objects than one list has are all found', async (t) => {
  const settings = { MONGODB_URI: wiki.freshUri(), PICTURE_STORE: 's3', ...newBucket() }
  await wiki.build(t, settings)
  const { storages } = await openPictures(t, settings)
  const { fresh } = storages
  const body = async function * () { yield png() }
  const ids = Array.from({ length: 1_005 }, () => new mongoose.Types.ObjectId())
  for (let first = 0; first < ids.length; first += 15) {
    await Promise.all(ids.slice(first, first + 15).map((id) => fresh.put(id, body(), () => '0'.repeat(32))))
  }
  const found = new Set()
  for await (const { id } of fresh.list()) found.add(String(id))
  assert.equal(found.size, ids.length)
})
