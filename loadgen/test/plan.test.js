import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { draw, pageName, requestAt } from '../scenarios/plan.js'
import { loadDefinition } from '../src/lab/definition.js'
import { orderTrials, planRun } from '../src/lab/matrix.js'

const definition = loadDefinition('read-hot', 'quick')

describe('the request plan', () => {
  test('is the same for the same seed, and another for another', () => {
    assert.equal(planRun(definition, 1).hash, planRun(definition, 1).hash)
    assert.notEqual(planRun(definition, 1).hash, planRun(definition, 2).hash)
  })

  test('is still the plan of earlier runs: a change of the generator must be deliberate', () => {
    assert.equal(planRun(definition, 1).hash, 'sha256:3050ee269b70e90e2404323bd70c6796cacd92d6a6282da324223ea0e91e15d2')
  })

  test('does not depend on the order in which requests are asked for', () => {
    const plan = { seed: 5, stream: 1, requests: 100, pages: 10 }
    const forwards = Array.from({ length: 100 }, (_, index) => requestAt(plan, index))
    const backwards = Array.from({ length: 100 }, (_, index) => requestAt(plan, 99 - index)).reverse()
    assert.deepEqual(backwards, forwards)
  })

  test('differs between repetitions, so that a repetition is a new draw', () => {
    const hashes = planRun(definition, 1).plans.map(({ hash }) => hash)
    assert.equal(new Set(hashes).size, definition.repetitions)
  })

  test('draws every page equally often, as far as chance goes', () => {
    const pages = 100
    const count = 100_000
    for (const seed of [0, 1, 2, 2 ** 32 - 1]) {
      const seen = new Array(pages).fill(0)
      for (let index = 0; index < count; index++) seen[requestAt({ seed, stream: 1, requests: count, pages }, index).page] += 1
      const expected = count / pages
      const chiSquare = seen.reduce((sum, observed) => sum + (observed - expected) ** 2 / expected, 0)
      // The 0.1 % and 99.9 % quantiles of chi-square with 99 degrees of freedom: neither skewed nor suspiciously even.
      assert.ok(chiSquare > 60.0 && chiSquare < 148.2, `seed ${seed}: chi-square ${chiSquare}`)
    }
  })

  test('draws consecutive requests independently of each other', () => {
    const count = 50_000
    let sum = 0
    for (let index = 0; index < count; index++) sum += (draw(1, 1, index) - 0.5) * (draw(1, 1, index + 1) - 0.5)
    const correlation = sum / count * 12
    assert.ok(Math.abs(correlation) < 4 / Math.sqrt(count), `serial correlation ${correlation}`)
  })

  test('says how many different pages it holds', () => {
    for (const { plan, distinct_pages: distinct } of planRun({ ...definition, requests: 50 }, 3).plans) {
      const names = new Set(Array.from({ length: 50 }, (_, index) => pageName(requestAt(plan, index).page)))
      assert.equal(distinct, names.size)
    }
  })
})

describe('the order of trials', () => {
  test('has every door once in each repetition', () => {
    const trials = orderTrials(definition, 1)
    assert.equal(trials.length, definition.doors.length * definition.repetitions)
    for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
      assert.deepEqual(trials.filter((trial) => trial.repetition === repetition).map(({ door }) => door).sort(), [...definition.doors].sort())
    }
  })

  test('comes from the seed and is not the order of the file', () => {
    assert.deepEqual(orderTrials(definition, 1), orderTrials(definition, 1))
    const orders = new Set(Array.from({ length: 20 }, (_, seed) => JSON.stringify(orderTrials(definition, seed))))
    assert.ok(orders.size >= 19)
  })
})
