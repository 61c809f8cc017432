import assert from 'node:assert/strict'
import test from 'node:test'
import { createTurns } from '../src/http/waiting.js'

/** @param {number} most */
function build (most) {
  /** @type {string[]} */
  const refused = []
  /** @type {Set<string>} */
  const gone = new Set()
  /** @type {import('../src/http/waiting.js').WaitingLine<any>} */
  const line = createTurns(most)
  /** `class:network`, with a number if it is given. @param {string[]} all */
  const add = (...all) => {
    for (const name of all) {
      const [, group, network] = /** @type {RegExpExecArray} */ (/^(\w+):(\w+)/.exec(name))
      line.add({ name, class: group, network, isGone: () => gone.has(name), refuse: () => refused.push(name) })
    }
  }
  const takeAll = () => {
    const names = []
    while (line.length > 0) names.push(line.take().name)
    return names
  }
  return { line, add, takeAll, refused, gone }
}

test('classes take turns, and in each class networks do', () => {
  const { add, takeAll } = build(100)
  add('history:a 1', 'history:a 2', 'history:a 3', 'history:b', 'search:c 1', 'search:c 2', 'list:d')
  assert.deepEqual(takeAll(),
    ['history:a 1', 'search:c 1', 'list:d', 'history:b', 'search:c 2', 'history:a 2', 'history:a 3'])
})

test('a full line drops the newest of the network with most, in the class with most, for a class with less', () => {
  const { add, takeAll, refused } = build(4)
  add('history:a 1', 'history:a 2', 'history:a 3', 'history:b', 'search:c 1')
  assert.deepEqual(refused, ['history:a 3'])
  add('search:c 2')
  assert.deepEqual(refused, ['history:a 3', 'history:a 2'])
  add('search:c 3', 'search:c 4')
  assert.deepEqual(refused.slice(2), ['search:c 3', 'search:c 4'], 'the class has as much as the other')
  add('list:d')
  assert.deepEqual(refused.slice(4), ['search:c 2'], 'of two that are as long, the one whose turn is later')
  assert.deepEqual(takeAll(), ['history:a 1', 'search:c 1', 'list:d', 'history:b'])
})

test('where each network has one waiting, the newest is dropped, and never the next', () => {
  const { add, takeAll, refused } = build(4)
  add('history:a', 'history:b', 'history:c', 'history:d', 'search:e 1', 'search:e 2', 'search:e 3')
  assert.deepEqual(refused, ['history:d', 'history:c', 'search:e 3'])
  assert.deepEqual(takeAll(), ['history:a', 'search:e 1', 'history:b', 'search:e 2'])
})

test('a full line gives the place of a client that has gone to the next one', () => {
  const { add, takeAll, refused, gone } = build(3)
  add('history:a', 'history:b', 'history:c')
  gone.add('history:b')
  add('history:d')
  assert.deepEqual(refused, ['history:b'])
  assert.deepEqual(takeAll(), ['history:a', 'history:c', 'history:d'])
})

test('a full line of one class drops from the network with most, and refuses a further network where each has one', () => {
  const { add, refused, takeAll } = build(3)
  add('history:a 1', 'history:a 2', 'history:b', 'history:c')
  assert.deepEqual(refused, ['history:a 2'])
  add('history:d')
  assert.deepEqual(refused, ['history:a 2', 'history:d'])
  assert.deepEqual(takeAll(), ['history:a 1', 'history:b', 'history:c'])
})

test('what is over is removed, and the others keep their turns', () => {
  const { line, add, takeAll } = build(100)
  add('history:a 1', 'history:a over', 'history:b over', 'search:c over', 'list:d')
  const removed = line.remove(({ name }) => name.endsWith('over'))
  assert.equal(removed.length, 3)
  assert.equal(line.length, 2)
  assert.deepEqual(takeAll(), ['history:a 1', 'list:d'])
  assert.deepEqual(line.remove(() => true), [])
})
