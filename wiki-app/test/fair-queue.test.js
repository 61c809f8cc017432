import assert from 'node:assert/strict'
import test from 'node:test'
import { createFairQueue } from '../src/access/fair-queue.js'

/**
 * Queues pieces of work one at a time, and records which keys begin, in order, and which are refused.
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

test('keys take turns, however much one of them has waiting', async () => {
  const { ask, begun } = createWork()
  const all = [...Array(5).fill('a'), 'b', 'c', 'c'].map((key) => ask(key))
  assert.deepEqual(await Promise.all(all), ['a', 'a', 'a', 'a', 'a', 'b', 'c', 'c'])
  assert.deepEqual(begun, ['a', 'a', 'b', 'c', 'a', 'c', 'a', 'a'])
})

test('what goes first waits only for the piece that is worked on', async () => {
  const { ask, begun } = createWork()
  await Promise.all([...['a', 'b', 'c'].map((key) => ask(key)), ask('known', { first: true })])
  assert.deepEqual(begun, ['a', 'known', 'b', 'c'])
})

test('a piece that fails ends its own promise alone', async () => {
  const { ask, begun } = createWork()
  const failing = ask('a', { fails: true })
  const next = ask('b')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'b')
  assert.equal(await ask('c'), 'c', 'also after all was done')
  assert.deepEqual(begun, ['a', 'b', 'c'])
})

test('a line is bounded for each key and in all, and a key with much in it makes room for others', async () => {
  const { ask, begun, refused } = createWork({ waitingMax: 6, waitingPerKeyMax: 3 })
  const all = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'h'].map((key) => ask(key))
  // One `a` runs and three wait; the fifth gets no slot. From `c` on the queue is full.
  await Promise.all(all)
  assert.deepEqual(refused.sort(), ['a', 'a', 'a', 'b', 'b', 'g', 'h', 'h'])
  assert.deepEqual(begun, ['a', 'a', 'b', 'c', 'd', 'e', 'f'])
})
