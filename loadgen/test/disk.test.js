import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { loadDefinition } from '../src/lab/definition.js'
import { experimentNames } from '../src/lab/experiment-files.js'
import { bytesOf, DiskError, GROWTH_MAX_BYTES, refuseSmallDisk } from '../src/lab/disk.js'
import { planRun } from '../src/lab/matrix.js'

const RESULTS = { folder: '/r', variable: 'STEVEC_RESULTS', bytes: 3e9 }
const STATE = { folder: '/s', variable: 'STEVEC_STATE', bytes: 500e6 }

/** @param {Record<string, {disk: number, freeBytes: number}>} disks  by folder */
const refuse = (disks) => refuseSmallDisk([RESULTS, STATE], async (folder) => disks[folder])

describe('a run', () => {
  test('is refused when the disk may not hold it, with both numbers and the next step', async () => {
    await assert.rejects(refuse({ '/r': { disk: 1, freeBytes: 1e9 }, '/s': { disk: 2, freeBytes: 1e9 } }), (error) => {
      assert.ok(error instanceof DiskError)
      assert.equal(error.message, 'the disk may be too small: the run writes up to 3.0 GB in /r (STEVEC_RESULTS), ' +
        'and 1.0 GB are free. Free 2.0 GB, name a folder on another disk in STEVEC_RESULTS, or choose fewer trials ' +
        '(--repetitions, --only)')
      return true
    })
  })

  test('needs the sum where results and stack are on one disk', async () => {
    await assert.rejects(
      refuse({ '/r': { disk: 1, freeBytes: 3.4e9 }, '/s': { disk: 1, freeBytes: 3.4e9 } }),
      /up to 3\.0 GB in \/r \(STEVEC_RESULTS\) and 500 MB in \/s \(STEVEC_STATE\), and 3\.4 GB are free. Free 100 MB/
    )
    await refuse({ '/r': { disk: 1, freeBytes: 3.5e9 }, '/s': { disk: 1, freeBytes: 3.5e9 } })
    await refuse({ '/r': { disk: 1, freeBytes: 3e9 }, '/s': { disk: 2, freeBytes: 3e9 } })
  })

  test('asks the real disk, also for a folder that does not exist yet', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-disk-'))
    const folder = path.join(directory, 'not/yet')
    await refuseSmallDisk([{ ...RESULTS, folder, bytes: 1 }])
    await assert.rejects(refuseSmallDisk([{ ...RESULTS, folder, bytes: 1e18 }]), DiskError)
    rmSync(directory, { recursive: true })
  })

  test('may use what the stack of a killed run takes, which is removed first', async () => {
    const removed = mkdtempSync(path.join(tmpdir(), 'stevec-disk-'))
    mkdirSync(path.join(removed, 'data'))
    writeFileSync(path.join(removed, 'data/journal'), Buffer.alloc(2e6, 1))
    const diskOf = async () => ({ disk: 1, freeBytes: 1e6 })
    await refuseSmallDisk([{ ...STATE, bytes: 3e6, removed }], diskOf)
    await assert.rejects(
      refuseSmallDisk([{ ...STATE, bytes: 9e6, removed }], diskOf),
      /and 4 MB are free, 3 MB of a killed run included\. Free [56] MB/
    )
    rmSync(removed, { recursive: true })
    await assert.rejects(refuseSmallDisk([{ ...STATE, bytes: 3e6, removed }], diskOf), /and 1 MB are free\. Free 2 MB/)
  })
})

describe('the bytes that a run may write', () => {
  const bytes = (/** @type {string} */ name, /** @type {Record<string, any>} */ options = {}) =>
    bytesOf(planRun(loadDefinition(name, 'quick', options), 1).trials)

  test('grow with the trials; the stack only up to the limit at which a new one is started', () => {
    const [one, ten, many] = [1, 10, 1000].map((repetitions) => bytes('policy', { repetitions }))
    const perRepetition = (ten.results - one.results) / 9
    assert.ok(perRepetition > 1e5)
    assert.ok(Math.abs((many.results - ten.results) / 990 / perRepetition - 1) < 0.1)
    assert.ok(ten.stack > one.stack)
    assert.ok(many.stack < GROWTH_MAX_BYTES + 2 * one.stack)
    assert.deepEqual(bytesOf([]).results, 0)
  })

  test('are those of the background, too', () => {
    const [without, withReaders] = ['0', '250'].map((level) =>
      bytes('overload', { only: { background_vus: [level], door: ['source'] } }))
    assert.ok(withReaders.results > 10 * without.results, `${withReaders.results} and ${without.results}`)
  })

  test('are numbers for each experiment, far less than a small board has', () => {
    for (const name of experimentNames()) {
      const { results, stack } = bytes(name)
      assert.ok(results > 0 && results + stack < 2e9, `${name}: ${results} and ${stack}`)
    }
  })
})
