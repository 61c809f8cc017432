import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

const DISK_BYTES = 4 * 1024 ** 2

/** A small disk of its own, gone after the test; null where one cannot be mounted. @param {import('node:test').TestContext} t */
function mountDisk (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', directory]).status === 0
  t.after(() => {
    // Lazily: the edge still has it open.
    if (mounted) execFileSync('umount', ['-l', directory])
    rmSync(directory, { recursive: true })
  })
  return mounted ? directory : null
}

/** @param {string} directory */
const freeBytes = (directory) => { const { bavail, bsize } = statfsSync(directory); return bavail * bsize }

test('a full disk means uncached, not down, until there is room again', async (t) => {
  const disk = mountDisk(t)
  if (disk === null) return t.skip('a small disk can be mounted by root only')
  const bodies = { '/small': 'x'.repeat(20_000), '/large': 'y'.repeat(1_500_000) }
  const edge = await startEdge(t, (request, response) => response.setHeader('Cache-Control', 'max-age=60').end(bodies[/** @type {keyof bodies} */ (String(request.url).replace(/\d/, ''))]), { cacheDirectory: disk })
  const workers = edge.workers()
  const filler = path.join(disk, 'filler')

  // Room for a part of the large one only.
  writeFileSync(filler, Buffer.alloc(freeBytes(disk) - 500_000))
  for (let count = 1; count <= 2; count++) {
    assert.equal((await edge.get('/large')).body, bodies['/large'])
    assert.equal(edge.reached('/large'), count, 'not stored')
  }
  assert.ok(freeBytes(disk) > 400_000, 'what was written of it is gone')

  assert.deepEqual([(await edge.get('/small1')).cache, (await edge.get('/small1')).cache], ['MISS', 'HIT'])
  writeFileSync(filler, Buffer.alloc(freeBytes(disk)), { flag: 'a' })
  assert.equal(freeBytes(disk), 0)
  for (let count = 1; count <= 2; count++) {
    const { status, body } = await edge.get('/small2')
    assert.deepEqual([status, body], [200, bodies['/small']])
    const together = await Promise.all(Array.from({ length: 5 }, () => edge.get('/large')))
    assert.ok(together.every((answer) => answer.body === bodies['/large']))
  }
  assert.equal(edge.reached('/small2'), 2)
  assert.equal((await edge.get('/small1')).cache, 'HIT', 'what is stored already goes on being served')

  unlinkSync(filler)
  for (const url of ['/small3', '/large3']) assert.deepEqual([(await edge.get(url)).cache, (await edge.get(url)).cache], ['MISS', 'HIT'])
  assert.deepEqual(edge.workers(), workers)
  assert.match(edge.errors(), /not stored: .*No space left on device/)
})
