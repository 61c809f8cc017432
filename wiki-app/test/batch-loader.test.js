import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { createBatchLoader } from '../src/database/batch-loader.js'

/**
 * Creates a batch loader over a fake database. The test decides when each read ends.
 * @param {number} keysMax
 */
function slowReader (keysMax = 100) {
  /** @type {{keys: string[], answer: (values: Record<string, string>) => void, fail: (error: Error) => void}[]} */
  const reads = []
  const read = createBatchLoader({
    source: { db: { name: 'wiki' }, collection: { name: 'pages' } },
    keysMax,
    readMany: (keys) => new Promise((resolve, reject) => {
      reads.push({ keys, answer: (values) => resolve(new Map(Object.entries(values))), fail: reject })
    })
  })
  return { read, reads }
}

test('all keys requested in one turn of the event loop share one read', async () => {
  const { read, reads } = slowReader()
  const asked = Promise.all([read('a'), read('b'), read('a'), read('missing')])
  await nextTurn()
  assert.deepEqual(reads.map(({ keys }) => keys), [['a', 'b', 'missing']])
  reads[0].answer({ a: 'A', b: 'B' })
  assert.deepEqual(await asked, ['A', 'B', 'A', null])
})

test('a call during a read starts another read, as the first may have missed a recent edit', async () => {
  const { read, reads } = slowReader()
  const before = read('a')
  await nextTurn()
  const after = read('a')
  await nextTurn()
  assert.equal(reads.length, 2)
  reads[0].answer({ a: 'old' })
  reads[1].answer({ a: 'new' })
  assert.deepEqual(await Promise.all([before, after]), ['old', 'new'])
})

test('a failed read rejects only its own callers', async () => {
  const { read, reads } = slowReader()
  const first = read('a')
  await nextTurn()
  const second = read('a')
  await nextTurn()
  reads[0].fail(new Error('gone'))
  reads[1].answer({ a: 'A' })
  await assert.rejects(first, /gone/)
  assert.equal(await second, 'A')
})

test('a read has at most `keysMax` keys; more keys are read in parallel', async () => {
  const { read, reads } = slowReader(2)
  const asked = Promise.all(['a', 'b', 'c', 'd', 'e'].map(read))
  await nextTurn()
  assert.deepEqual(reads.map(({ keys }) => keys), [['a', 'b'], ['c', 'd'], ['e']])
  for (const { keys, answer } of reads) answer(Object.fromEntries(keys.map((key) => [key, key])))
  assert.deepEqual(await asked, ['a', 'b', 'c', 'd', 'e'])
})

test('calls for the same key in one turn share a read; a later call reads again', async () => {
  const { read, reads } = slowReader(1)
  const first = Array.from({ length: 50 }, () => read('a'))
  await nextTurn()
  const later = read('a')
  await nextTurn()
  assert.deepEqual(reads.map(({ keys }) => keys), [['a'], ['a']])
  reads[0].answer({ a: 'old' })
  reads[1].answer({ a: 'new' })
  assert.deepEqual(new Set(await Promise.all(first)), new Set(['old']))
  assert.equal(await later, 'new')
})
