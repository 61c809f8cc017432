import assert from 'node:assert/strict'
import test from 'node:test'
import { createFairQueue } from '../src/access/fair-queue.js'

/**
 * Queues tasks, and records the keys of those that start, in order, and of those that are refused.
 * @param {{waitingMax?: number, waitingPerKeyMax?: number}} [limits]
 */
function createWork ({ waitingMax = 100, waitingPerKeyMax = 100 } = {}) {
  const inTurn = createFairQueue({ waitingMax, waitingPerKeyMax })
  /** @type {string[]} */
  const begun = []
  /** @type {string[]} */
  const refused = []
  let working = 0
  const ask = (/** @type {string} */ key, { first = false, fails = false } = {}) => inTurn(key, async () => {
    assert.equal(++working, 1, 'one at a time')
    begun.push(key)
    await new Promise((resolve) => setImmediate(resolve))
    working--
    if (fails) throw new Error('failed')
    return key
  }, { first, refusal: () => new Error('no place') }).catch((error) => {
    if (error.message !== 'no place') throw error
    refused.push(key)
    return null
  })
  return { ask, begun, refused }
}

test('keys take turns, however many tasks one key has waiting', async () => {
  const { ask, begun } = createWork()
  const all = [...Array(5).fill('a'), 'b', 'c', 'c'].map((key) => ask(key))
  assert.deepEqual(await Promise.all(all), ['a', 'a', 'a', 'a', 'a', 'b', 'c', 'c'])
  assert.deepEqual(begun, ['a', 'a', 'b', 'c', 'a', 'c', 'a', 'a'])
})

test('a task with `first` waits only for the running task', async () => {
  const { ask, begun } = createWork()
  await Promise.all([...['a', 'b', 'c'].map((key) => ask(key)), ask('known', { first: true })])
  assert.deepEqual(begun, ['a', 'known', 'b', 'c'])
})

test('a failed task rejects only its own promise', async () => {
  const { ask, begun } = createWork()
  const failing = ask('a', { fails: true })
  const next = ask('b')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'b')
  assert.equal(await ask('c'), 'c', 'the queue still works after it was empty')
  assert.deepEqual(begun, ['a', 'b', 'c'])
})

test('the queue is bounded per key and in total; when full, it drops tasks of the key that has most', async () => {
  const { ask, begun, refused } = createWork({ waitingMax: 6, waitingPerKeyMax: 3 })
  const all = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'h'].map((key) => ask(key))
  // One `a` runs and three wait; the fifth is refused. From `c` on the queue is full.
  await Promise.all(all)
  assert.deepEqual(refused.sort(), ['a', 'a', 'a', 'b', 'b', 'g', 'h', 'h'])
  assert.deepEqual(begun, ['a', 'a', 'b', 'c', 'd', 'e', 'f'])
})
