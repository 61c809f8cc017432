import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { draw } from '../scenarios/plan.js'
import { isSteady } from '../src/lab/steady.js'

/** @param {number[]} means @returns {number | null} after how many rounds the rule is met first */
function metAfter (means) {
  const index = means.findIndex((_, last) => isSteady(means.slice(0, last + 1)))
  return index === -1 ? null : index + 1
}

const series = (/** @type {number} */ length, /** @type {(round: number) => number} */ of) =>
  Array.from({ length }, (_, round) => of(round))
const noise = (/** @type {number} */ seed, /** @type {number} */ round) => draw(seed, 0, round)

describe('times are steady', () => {
  test('never before the fifth round', () => {
    for (const length of [0, 1, 4]) assert.equal(isSteady(series(length, () => 3)), false)
    assert.equal(metAfter(series(10, () => 3)), 5)
  })

  test('four rounds after the last record in a series that falls and then does not', () => {
    assert.equal(metAfter([10, 8, 6, 5, 5, 5.1, 4.9, 5, 5, 5]), 8)
    assert.equal(metAfter([10, 8, 8, 8, 6, 6, 6, 6, 6]), 9, 'a rest of three rounds is not the end')
  })

  test('never while they fall, however slowly, as long as it is by 5 % in four rounds', () => {
    for (const fall of [0.5, 0.1, 0.05, 0.02]) {
      assert.equal(metAfter(series(60, (round) => 10 * (1 - fall) ** round)), null, `${fall} a round`)
    }
    assert.equal(metAfter(series(60, (round) => 10 * 0.995 ** round)), 5, 'slower falls are not seen')
  })

  test('when they rise', () => assert.equal(metAfter(series(10, (round) => 5 + round)), 5))

  test('in time also if other work adds up to half to some rounds', () => {
    const quiet = (/** @type {number} */ round) => 4 + 6 * 0.5 ** round
    assert.equal(metAfter(series(24, quiet)), 11)
    for (let seed = 0; seed < 200; seed++) {
      const busy = (/** @type {number} */ round) => noise(seed, round) < 0.3 ? 1 + noise(seed + 1000, round) / 2 : 1
      const after = metAfter(series(24, (round) => quiet(round) * busy(round)))
      assert.ok(after !== null && after <= 20, `seed ${seed}: ${after}`)
    }
  })

  test('not because of one slow round', () => {
    assert.equal(metAfter([10, 9, 8, 30, 7, 6, 5, 4, 4, 4, 4, 4]), 12)
  })
})
