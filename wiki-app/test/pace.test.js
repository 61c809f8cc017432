import assert from 'node:assert/strict'
import test from 'node:test'
import { createPace } from '../src/deferred/pace.js'

test('the pace of saves is that of the last seconds in which any was being stored', () => {
  let nowMs = 0
  const pace = createPace(() => nowMs)
  assert.equal(pace.perSecond(), 60, 'nothing is known')
  /** @param {number} ms @param {number} seconds */
  const storeEach = (ms, seconds) => {
    for (let passed = 0; passed < seconds * 1_000; passed += ms) {
      pace.begin()
      nowMs += ms
      pace.end()
    }
  }
  pace.begin()
  nowMs += 2_000
  pace.end()
  assert.ok(pace.perSecond() > 15, 'one slow save says little')
  storeEach(2, 40)
  assert.ok(Math.abs(pace.perSecond() - 500) < 100, String(pace.perSecond()))
  nowMs += 3_600_000
  assert.ok(Math.abs(pace.perSecond() - 500) < 100, 'without work nothing is measured')
  storeEach(200, 60)
  assert.ok(pace.perSecond() < 20, String(pace.perSecond()))
})
