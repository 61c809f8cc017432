import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { draw, pageName, requestAt } from '../scenarios/plan.js'
import { loadDefinition } from '../src/lab/definition.js'
import { backgroundPlan, planRun, requestsPlanned } from '../src/lab/matrix.js'
import { editText, pageText, sizeOf } from '../scenarios/content.js'

const definition = loadDefinition('read-hot', 'quick')

describe('the request plan', () => {
  test('is the same for the same seed, and another for another', () => {
    assert.equal(planRun(definition, 1).hash, planRun(definition, 1).hash)
    assert.notEqual(planRun(definition, 1).hash, planRun(definition, 2).hash)
  })

  test('is still the plan of earlier runs: a change of the generator must be deliberate', () => {
    assert.equal(planRun(definition, 1).hash, 'sha256:7e0861724ceb209c370425e6cb6a408c5f3456725607788826053c81d9fde231')
  })

  test('does not depend on the order in which requests are asked for', () => {
    const plan = { seed: 5, stream: 1, requests: 100, pages: 10, edit_ratio: 0.5 }
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
      for (let index = 0; index < count; index++) seen[requestAt({ seed, stream: 1, requests: count, pages, edit_ratio: 0 }, index).page] += 1
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

  test('says how many different pages, reads and edits it holds', () => {
    for (const { plan, distinct_pages: distinct, reads, writes } of planRun(loadDefinition('mixed-write', 'quick'), 3).plans) {
      const requests = Array.from({ length: plan.requests }, (_, index) => requestAt(plan, index))
      assert.equal(distinct, new Set(requests.map(({ page }) => pageName(page))).size)
      assert.equal(writes, requests.filter(({ edit }) => edit).length)
      assert.equal(reads + writes, plan.requests)
    }
  })

  test('edits as often as it should, as far as chance goes, and never in a plan without edits', () => {
    const count = 100_000
    const edits = (/** @type {number} */ ratio) => Array.from({ length: count }, (_, index) => requestAt({ seed: 1, stream: 1, requests: count, pages: 10, edit_ratio: ratio }, index)).filter(({ edit }) => edit).length
    assert.ok(Math.abs(edits(0.05) - 5000) < 4 * Math.sqrt(count * 0.05 * 0.95), `${edits(0.05)} edits`)
    assert.deepEqual([edits(0), edits(1)], [0, count])
  })

  test('with edits and its twin without visit the same pages in the same order', () => {
    const { trials } = planRun(loadDefinition('mixed-write', 'quick'), 1)
    for (const trial of trials.filter(({ cell }) => cell.workload === 'mixed')) {
      const twin = trials.find(({ repetition, cell }) => repetition === trial.repetition && cell.workload === 'get-only' && cell.page_size_chars === trial.cell.page_size_chars)
      const pages = (/** @type {import('../scenarios/plan.js').Plan | undefined} */ plan) => Array.from({ length: 500 }, (_, index) => plan && requestAt(plan, index).page)
      assert.deepEqual(pages(twin?.plan.plan), pages(trial.plan.plan))
      assert.notEqual(twin?.plan.id, trial.plan.id)
    }
  })

  test('is shared by what is compared in a repetition, and by nothing else', () => {
    const { trials, plans } = planRun(loadDefinition('overload', 'quick'), 1)
    for (const plan of plans) {
      const pair = trials.filter((trial) => trial.plan.id === plan.id)
      assert.deepEqual(pair.map(({ cell }) => cell.door).sort(), ['cached', 'source'])
      assert.equal(new Set(pair.map(({ cell }) => cell.background_vus)).size, 1)
    }
    assert.equal(new Set(plans.map(({ hash }) => hash)).size, plans.length)
  })

  test('is the same for a cell whatever other cells there are', () => {
    const some = planRun(loadDefinition('overload', 'quick', { only: { background_vus: ['80'] } }), 1)
    const all = planRun(loadDefinition('overload', 'quick'), 1)
    assert.deepEqual(some.plans.map(({ hash }) => hash), all.trials.filter(({ cell }) => cell.background_vus === 80 && cell.door === 'source').map(({ plan }) => plan.hash))
  })

  test('of the background is drawn apart from the probe\'s, over the same pages, and edits nothing', () => {
    const probe = { seed: 1, stream: 1, requests: 100, pages: 1000, edit_ratio: 1 }
    const background = backgroundPlan(probe)
    assert.deepEqual([background.pages, background.edit_ratio], [1000, 0])
    const pages = (/** @type {import('../scenarios/plan.js').Plan} */ plan) => Array.from({ length: 100 }, (_, index) => requestAt(plan, index).page)
    assert.notDeepEqual(pages(background), pages(probe))
  })

  test('has as many requests as a trial bound by time has time for', () => {
    const settings = { ...definition.settings, model: /** @type {const} */ ('open'), rate_per_s: 20, duration_max_s: 3, requests: 1000 }
    assert.equal(requestsPlanned({ ...settings, bound: 'either' }), 60)
    assert.equal(requestsPlanned({ ...settings, bound: 'requests' }), 1000)
  })
})

describe('what pages say', () => {
  test('is as long as asked, the same each time, and another for each edit', () => {
    for (const size of [32, 1000, 50_000]) {
      assert.equal(pageText(1, 0, size).length, size)
      assert.equal(pageText(1, 0, size), pageText(1, 0, size))
      assert.equal(editText(pageText(1, 0, size), 't1x2', size).length, size)
    }
    assert.notEqual(editText(pageText(1, 0, 100), 't1x2', 100), editText(pageText(1, 0, 100), 't1x3', 100))
  })

  test('is of sizes drawn evenly between two ends', () => {
    const sizes = Array.from({ length: 20_000 }, (_, page) => sizeOf(1, page, [100, 109]))
    assert.deepEqual([Math.min(...sizes), Math.max(...sizes)], [100, 109])
    for (let size = 100; size < 110; size++) assert.ok(Math.abs(sizes.filter((each) => each === size).length - 2000) < 4 * Math.sqrt(20_000 * 0.1 * 0.9), String(size))
    assert.equal(sizeOf(1, 7, 5000), 5000)
  })
})

describe('the order of trials', () => {
  test('has every cell once in each repetition', () => {
    const { trials } = planRun(definition, 1)
    const doors = /** @type {string[]} */ (definition.factors.door)
    assert.equal(trials.length, doors.length * definition.repetitions)
    for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
      assert.deepEqual(trials.filter((trial) => trial.repetition === repetition).map(({ cell }) => cell.door).sort(), [...doors].sort())
    }
    assert.deepEqual(trials.map(({ trial }) => trial), trials.map((_, index) => index + 1))
  })

  test('comes from the seed and is not the order of the file', () => {
    const order = (/** @type {number} */ seed) => JSON.stringify(planRun(definition, seed).trials.map(({ cell }) => cell))
    assert.equal(order(1), order(1))
    assert.ok(new Set(Array.from({ length: 20 }, (_, seed) => order(seed))).size >= 19)
  })
})
