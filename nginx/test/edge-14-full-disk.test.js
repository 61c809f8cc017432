import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { statfsSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { mountDisk } from './disk.js'
import { startEdge } from './edge-helper.js'

const DISK_BYTES = 4 * 1024 ** 2

/** @param {string} directory */
const freeBytes = (directory) => { const { bavail, bsize } = statfsSync(directory); return bavail * bsize }

/** Fills the disk completely, even when a log grows meanwhile. @param {string} disk */
function fillUp (disk) {
  const filler = path.join(disk, 'filler')
  assert.throws(() => writeFileSync(filler, Buffer.alloc(freeBytes(disk) + 100_000)), { code: 'ENOSPC' })
  assert.equal(freeBytes(disk), 0)
}

// With one worker. The room of an evicted file is free when all have closed it, within a second.

test('with a full disk the edge still answers, and it stores all responses again when there is room', async (t) => {
  const disk = mountDisk(t, DISK_BYTES)
  if (disk === null) return t.skip('only root can mount a small disk')
  const bodies = { '/small': 'x'.repeat(20_000), '/large': 'y'.repeat(1_500_000) }
  const edge = await startEdge(
    t,
    (request, response) => response.setHeader('Cache-Control', 'max-age=60')
      .end(bodies[/** @type {keyof typeof bodies} */ (String(request.url).replace(/\d/, ''))]),
    { workers: 1, cacheDirectory: disk }
  )
  const workers = edge.workers()
  const filler = path.join(disk, 'filler')

  // Leaves room for only a part of the large body.
  writeFileSync(filler, Buffer.alloc(freeBytes(disk) - 500_000))
  for (let count = 1; count <= 2; count++) {
    assert.equal((await edge.get('/large')).body, bodies['/large'])
    assert.equal(edge.reached('/large'), count, 'not stored')
  }
  assert.ok(freeBytes(disk) > 400_000, 'the incomplete body is removed from the disk')

  assert.deepEqual([(await edge.get('/small1')).cache, (await edge.get('/small1')).cache], ['MISS', 'HIT'])
  writeFileSync(filler, Buffer.alloc(freeBytes(disk)), { flag: 'a' })
  assert.equal(freeBytes(disk), 0)
  for (let count = 1; count <= 2; count++) {
    const { status, body } = await edge.get('/small2')
    assert.deepEqual([status, body], [200, bodies['/small']])
    const together = await Promise.all(Array.from({ length: 5 }, () => edge.get('/large')))
    assert.ok(together.every((answer) => answer.body === bodies['/large']))
  }
  assert.equal(edge.reached('/small2'), 1, 'stored in place of an older response')
  assert.equal((await edge.get('/small1')).cache, 'HIT', 'a response in memory is still served')

  unlinkSync(filler)
  for (const url of ['/small3', '/large3']) {
    assert.deepEqual([(await edge.get(url)).cache, (await edge.get(url)).cache], ['MISS', 'HIT'])
  }
  assert.deepEqual(edge.workers(), workers)
  assert.match(edge.errors(), /not stored: .*No space left on device/)
})

/**
 * Starts an edge whose whole folder is on a small disk; its origin answers a POST with the hash of the body.
 * @param {import('node:test').TestContext} t
 * @param {string} disk
 * @param {Record<string, string>} bodies
 */
async function startOnDisk (t, disk, bodies) {
  const before = process.env.TMPDIR
  // startEdge creates its folder here, before its first await.
  process.env.TMPDIR = disk
  const starting = startEdge(t, async (request, response) => {
    if (request.method === 'POST') {
      const hash = createHash('sha256')
      for await (const chunk of request) hash.update(chunk)
      return response.end(hash.digest('hex'))
    }
    response.setHeader('Cache-Control', 'max-age=60').end(bodies[String(request.url)])
  }, { workers: 1 })
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  return starting
}

/** @param {Awaited<ReturnType<typeof startEdge>>} edge @param {number} bytes */
async function post (edge, bytes) {
  const body = randomBytes(bytes / 2).toString('hex')
  const answer = await edge.get('/save', {}, 'POST', body)
  return { status: answer.status, whole: answer.body === createHash('sha256').update(body).digest('hex') }
}

test('a full disk does not affect requests with a body of up to 1 MiB', async (t) => {
  const disk = mountDisk(t, DISK_BYTES)
  if (disk === null) return t.skip('only root can mount a small disk')
  const edge = await startOnDisk(t, disk, {})
  fillUp(disk)
  for (const bytes of [20_000, 900_000, 1024 ** 2]) {
    assert.deepEqual(await post(edge, bytes), { status: 200, whole: true }, `${bytes} bytes`)
  }
  // Chunked: the size is not known before the end.
  const chunked = `POST /save HTTP/1.1\r\nHost: ${edge.host}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`
  const chunks = `c350\r\n${'x'.repeat(50_000)}\r\n`.repeat(18)
  assert.match(await edge.raw(`${chunked}${chunks}0\r\n\r\n`), /^HTTP\/1\.1 200 /)
})

test('on a full disk a new response replaces the oldest, which also makes room for a large request body', async (t) => {
  const disk = mountDisk(t, DISK_BYTES)
  if (disk === null) return t.skip('only root can mount a small disk')
  const large = 'x'.repeat(1_000_000)
  const bodies = {
    '/1': large,
    '/2': large,
    '/new': randomBytes(75_000).toString('hex'),
    '/huge': 'h'.repeat(3_500_000)
  }
  const edge = await startOnDisk(t, disk, bodies)
  for (const expected of ['MISS', 'HIT']) {
    for (const url of ['/1', '/2']) assert.equal((await edge.get(url)).cache, expected)
  }
  const workers = edge.workers()
  fillUp(disk)
  assert.equal((await post(edge, 1_500_000)).status, 500)

  // Leaves room for only a part of the first piece of /new.
  truncateSync(path.join(disk, 'filler'), statSync(path.join(disk, 'filler')).size - 50_000)
  for (const expected of ['MISS', 'HIT']) {
    const { cache, body } = await edge.get('/new')
    assert.equal(cache, expected)
    assert.ok(body === bodies['/new'], `complete as a ${expected}`)
  }
  assert.deepEqual(await post(edge, 1_500_000), { status: 200, whole: true })
  assert.equal((await edge.get('/1')).cache, 'MISS', 'the oldest response is removed')

  // The body is larger than the disk; the client still gets it.
  assert.equal((await edge.get('/huge')).body.length, 3_500_000)
  assert.equal((await edge.get('/huge')).cache, 'MISS')
  assert.deepEqual(edge.workers(), workers)
  assert.match(edge.errors(), /the disk is full: removed the oldest \d+ bytes of the cache/)
})

test('a full disk removes only the oldest 16 MiB of a large cache', async (t) => {
  const disk = mountDisk(t, 32 * 1024 ** 2)
  if (disk === null) return t.skip('only root can mount a small disk')
  const body = 'x'.repeat(1_000_000)
  const answer = (/** @type {unknown} */ _request, /** @type {import('node:http').ServerResponse} */ response) => {
    response.setHeader('Cache-Control', 'max-age=60').end(body)
  }
  const edge = await startEdge(t, answer, { workers: 1, cacheDirectory: disk })
  for (let count = 1; count <= 24; count++) await edge.get(`/${count}`)
  fillUp(disk)
  assert.equal((await edge.get('/new')).body.length, body.length)
  assert.ok(freeBytes(disk) > 15_000_000, `${freeBytes(disk)} bytes`)
  for (const url of ['/new', '/24', '/18']) assert.equal((await edge.get(url)).cache, 'HIT', url)
  for (const url of ['/1', '/17']) assert.equal((await edge.get(url)).cache, 'MISS', url)
})
