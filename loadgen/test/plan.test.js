import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { arrivalsIn, arrivalTimes, stagesOf } from '../scenarios/arrivals.js'
import { draw, pageName, requestAt } from '../scenarios/plan.js'
import { loadDefinition } from '../src/lab/definition.js'
import { backgroundPlan, planRun, requestsPlanned } from '../src/lab/matrix.js'
import { editText, pageText, sizeOf } from '../scenarios/content.js'
import { createMessages, textOf } from '../scenarios/messages.js'

const definition = loadDefinition('read-hot', 'quick')

describe('the request plan', () => {
  test('is the same for the same seed, and differs for another seed', () => {
    assert.equal(planRun(definition, 1).hash, planRun(definition, 1).hash)
    assert.notEqual(planRun(definition, 1).hash, planRun(definition, 2).hash)
  })

  test('has the hash of earlier runs, so that a change to the generator is deliberate', () => {
    assert.equal(planRun(definition, 1).hash, 'sha256:7e0861724ceb209c370425e6cb6a408c5f3456725607788826053c81d9fde231')
  })

  test('does not depend on the order in which its requests are computed', () => {
    const plan = { seed: 5, stream: 1, requests: 100, pages: 10, edit_ratio: 0.5 }
    const forwards = Array.from({ length: 100 }, (_, index) => requestAt(plan, index))
    const backwards = Array.from({ length: 100 }, (_, index) => requestAt(plan, 99 - index)).reverse()
    assert.deepEqual(backwards, forwards)
  })

  test('differs between repetitions: each one is a new draw', () => {
    const hashes = planRun(definition, 1).plans.map(({ hash }) => hash)
    assert.equal(new Set(hashes).size, definition.repetitions)
  })

  test('draws pages uniformly (chi-square test)', () => {
    const pages = 100
    const count = 100_000
    for (const seed of [0, 1, 2, 2 ** 32 - 1]) {
      const seen = new Array(pages).fill(0)
      for (let index = 0; index < count; index++) {
        seen[requestAt({ seed, stream: 1, requests: count, pages, edit_ratio: 0 }, index).page] += 1
      }
      const expected = count / pages
      const chiSquare = seen.reduce((sum, observed) => sum + (observed - expected) ** 2 / expected, 0)
      // The 0.1 % and 99.9 % quantiles of chi-square with 99 degrees of freedom: neither skewed nor suspiciously even.
      assert.ok(chiSquare > 60.0 && chiSquare < 148.2, `seed ${seed}: chi-square ${chiSquare}`)
    }
  })

  for (const exponent of [0.5, 0.9, 1, 1.4]) {
    test(`draws pages by Zipf's law with exponent ${exponent} (chi-square test)`, () => {
      const pages = 100
      const count = 100_000
      const weights = Array.from({ length: pages }, (_, index) => (index + 1) ** -exponent)
      const total = weights.reduce((sum, weight) => sum + weight)
      for (const seed of [0, 1, 2 ** 32 - 1]) {
        const plan = { seed, stream: 1, requests: count, pages, edit_ratio: 0, popularity: { zipf: exponent } }
        const seen = new Array(pages).fill(0)
        for (let index = 0; index < count; index++) seen[requestAt(plan, index).page] += 1
        const chiSquare = weights.reduce(
          (sum, weight, page) => sum + (seen[page] - count * weight / total) ** 2 / (count * weight / total),
          0
        )
        assert.ok(chiSquare > 60.0 && chiSquare < 148.2, `seed ${seed}: chi-square ${chiSquare}`)
      }
    })
  }

  test('draws only pages that exist: every one of few, and the whole range of many', () => {
    for (const pages of [1, 2, 3, 100_000]) {
      const plan = { seed: 3, stream: 9, requests: 20_000, pages, edit_ratio: 0, popularity: { zipf: 0.7 } }
      const chosen = new Set(Array.from({ length: plan.requests }, (_, index) => requestAt(plan, index).page))
      assert.ok([...chosen].every((page) => Number.isInteger(page) && page >= 0 && page < pages))
      if (pages <= 3) assert.equal(chosen.size, pages)
      else assert.ok(Math.max(...chosen) > 0.99 * pages)
    }
  })

  test('draws edited pages from edit_popularity, and reads the same pages as its twin without edits', () => {
    const plan = {
      seed: 1,
      stream: 1,
      requests: 50_000,
      pages: 50,
      edit_ratio: 0.2,
      popularity: { zipf: 0.9 },
      edit_popularity: /** @type {const} */ ('uniform')
    }
    const twin = { ...plan, edit_ratio: 0 }
    const edited = new Array(50).fill(0)
    let paired = 0
    let edits = 0
    for (let index = 0; index < plan.requests; index++) {
      const { page, edit } = requestAt(plan, index)
      const other = requestAt(twin, index).page
      if (!edit) {
        assert.equal(page, other)
        continue
      }
      edits += 1
      edited[page] += 1
      if (page === other) paired += 1
    }
    const chiSquare = edited.reduce((sum, observed) => sum + (observed - edits / 50) ** 2 / (edits / 50), 0)
    // The 0.1 % and 99.9 % quantiles of chi-square with 49 degrees of freedom.
    assert.ok(chiSquare > 23.98 && chiSquare < 85.35, String(chiSquare))
    // The edited page is independent of the page in the twin: the two are equal as often as by chance.
    assert.ok(Math.abs(paired - edits / 50) < 4 * Math.sqrt(edits / 50), `${paired} of ${edits}`)
  })

  test('draws consecutive requests independently of each other', () => {
    const count = 50_000
    let sum = 0
    for (let index = 0; index < count; index++) sum += (draw(1, 1, index) - 0.5) * (draw(1, 1, index + 1) - 0.5)
    const correlation = sum / count * 12
    assert.ok(Math.abs(correlation) < 4 / Math.sqrt(count), `serial correlation ${correlation}`)
  })

  test('states its numbers of distinct pages, reads and edits', () => {
    for (
      const { plan, distinct_pages: distinct, reads, writes } of
      planRun(loadDefinition('mixed-write', 'quick'), 3).plans
    ) {
      const requests = Array.from({ length: plan.requests }, (_, index) => requestAt(plan, index))
      assert.equal(distinct, new Set(requests.map(({ page }) => pageName(page))).size)
      assert.equal(writes, requests.filter(({ edit }) => edit).length)
      assert.equal(reads + writes, plan.requests)
    }
  })

  test('has the share of edits of edit_ratio, within chance; none at 0, and only edits at 1', () => {
    const count = 100_000
    const edits = (/** @type {number} */ ratio) =>
      Array.from({ length: count }, (_, index) =>
        requestAt({ seed: 1, stream: 1, requests: count, pages: 10, edit_ratio: ratio }, index)
      ).filter(({ edit }) => edit).length
    assert.ok(Math.abs(edits(0.05) - 5000) < 4 * Math.sqrt(count * 0.05 * 0.95), `${edits(0.05)} edits`)
    assert.deepEqual([edits(0), edits(1)], [0, count])
  })

  test('with edits visits the same pages in the same order as its twin without edits', () => {
    const { trials } = planRun(loadDefinition('mixed-write', 'quick'), 1)
    for (const trial of trials.filter(({ cell }) => cell.workload === 'mixed')) {
      const twin = trials.find(
        ({ repetition, cell }) =>
          repetition === trial.repetition &&
          cell.workload === 'get-only' &&
          cell.page_size_chars === trial.cell.page_size_chars
      )
      const pages = (/** @type {import('../scenarios/plan.js').Plan | undefined} */ plan) =>
        Array.from({ length: 500 }, (_, index) => plan && requestAt(plan, index).page)
      assert.deepEqual(pages(twin?.plan.plan), pages(trial.plan.plan))
      assert.notEqual(twin?.plan.id, trial.plan.id)
    }
  })

  test('is shared by the trials that are compared in a repetition, and by no others', () => {
    const { trials, plans } = planRun(loadDefinition('overload', 'quick'), 1)
    for (const plan of plans) {
      const pair = trials.filter((trial) => trial.plan.id === plan.id)
      assert.deepEqual(pair.map(({ cell }) => cell.door).sort(), ['cached', 'source'])
      assert.equal(new Set(pair.map(({ cell }) => cell.background_vus)).size, 1)
    }
    assert.equal(new Set(plans.map(({ hash }) => hash)).size, plans.length)
  })

  test('of a cell does not depend on the other cells', () => {
    const some = planRun(loadDefinition('overload', 'quick', { only: { background_vus: ['80'] } }), 1)
    const all = planRun(loadDefinition('overload', 'quick'), 1)
    assert.deepEqual(
      some.plans.map(({ hash }) => hash),
      all.trials.filter(({ cell }) => cell.background_vus === 80 && cell.door === 'source').map(({ plan }) => plan.hash)
    )
  })

  test('of the background is another draw from the same pages as the probe\'s, without edits', () => {
    const probe = { seed: 1, stream: 1, requests: 100, pages: 1000, edit_ratio: 1 }
    const background = backgroundPlan(probe)
    assert.deepEqual([background.pages, background.edit_ratio], [1000, 0])
    const pages = (/** @type {import('../scenarios/plan.js').Plan} */ plan) =>
      Array.from({ length: 100 }, (_, index) => requestAt(plan, index).page)
    assert.notDeepEqual(pages(background), pages(probe))
  })

  test('has as many requests as arrive within duration_max_s, if time bounds the trial', () => {
    const settings = {
      ...definition.settings,
      model: /** @type {const} */ ('open'),
      rate_per_s: 20,
      duration_max_s: 3,
      requests: 1000
    }
    assert.equal(requestsPlanned({ ...settings, bound: 'either' }), 60)
    assert.equal(requestsPlanned({ ...settings, bound: 'requests' }), 1000)
  })
})

describe('a burst', () => {
  const burst = { factor: 50, at_s: 1, ramp_s: 1, for_s: 4 }

  test('consists of the steady rate, a ramp, a plateau and the steady rate again', () => {
    assert.deepEqual(stagesOf(10, burst, 8), [
      { duration_s: 1, from_per_s: 10, to_per_s: 10 },
      { duration_s: 1, from_per_s: 10, to_per_s: 500 },
      { duration_s: 4, from_per_s: 500, to_per_s: 500 },
      { duration_s: 2, from_per_s: 10, to_per_s: 10 }
    ])
    assert.deepEqual(stagesOf(10, null, 8), [{ duration_s: 8, from_per_s: 10, to_per_s: 10 }])
  })

  test('has as many requests as the area under its rate, up to the setting `requests`', () => {
    const settings = {
      ...definition.settings,
      model: /** @type {const} */ ('open'),
      bound: /** @type {const} */ ('either'),
      rate_per_s: 10,
      burst,
      duration_max_s: 8,
      requests: 1_000_000
    }
    assert.equal(requestsPlanned(settings), 10 + 255 + 2000 + 20)
    assert.equal(requestsPlanned({ ...settings, requests: 99 }), 99)
    assert.equal(arrivalsIn(stagesOf(0.1, null, 30)), 3)
  })
})

describe('the text of a page', () => {
  test('has the requested length, is reproducible, and differs for each edit', () => {
    for (const size of [32, 1000, 50_000]) {
      assert.equal(pageText(1, 0, size).length, size)
      assert.equal(pageText(1, 0, size), pageText(1, 0, size))
      assert.equal(editText(pageText(1, 0, size), 't1x2', size).length, size)
    }
    assert.notEqual(editText(pageText(1, 0, 100), 't1x2', 100), editText(pageText(1, 0, 100), 't1x3', 100))
  })

  test('has a size drawn uniformly from a range', () => {
    const sizes = Array.from({ length: 20_000 }, (_, page) => sizeOf(1, page, [100, 109]))
    assert.deepEqual([Math.min(...sizes), Math.max(...sizes)], [100, 109])
    for (let size = 100; size < 110; size++) {
      const pages = sizes.filter((each) => each === size).length
      assert.ok(Math.abs(pages - 2000) < 4 * Math.sqrt(20_000 * 0.1 * 0.9), String(size))
    }
    assert.equal(sizeOf(1, 7, 5000), 5000)
  })
})

describe('lognormal page sizes', () => {
  const law = { median: 2900, sigma: 1.2, max: 100_000 }

  test('have the requested median and spread, and stay between their minimum and maximum', () => {
    const count = 20_000
    const sizes = Array.from({ length: count }, (_, page) => sizeOf(1, page, { lognormal: law }))
    assert.ok(sizes.every((size) => Number.isInteger(size) && size >= 32 && size <= law.max))
    // Counts the standardised logarithms in ten equally likely classes of the normal distribution.
    const bounds = [-1.28155, -0.84162, -0.5244, -0.25335, 0, 0.25335, 0.5244, 0.84162, 1.28155]
    const seen = new Array(10).fill(0)
    for (const size of sizes) {
      seen[bounds.filter((bound) => Math.log(size / law.median) / law.sigma > bound).length] += 1
    }
    const chiSquare = seen.reduce((sum, observed) => sum + (observed - count / 10) ** 2 / (count / 10), 0)
    // The 99.9 % quantile of chi-square with 9 degrees of freedom.
    assert.ok(chiSquare < 27.88, `chi-square ${chiSquare}: ${seen}`)
  })

  test('are reproducible, and differ for another seed', () => {
    assert.equal(sizeOf(7, 3, { lognormal: law }), sizeOf(7, 3, { lognormal: law }))
    assert.notEqual(sizeOf(7, 3, { lognormal: law }), sizeOf(8, 3, { lognormal: law }))
    assert.equal(sizeOf(1, 3, { lognormal: { median: 2900, sigma: 1.2, max: 2900 } }) <= 2900, true)
  })

  test('are met by the text of a page to the character', () => {
    for (const page of [0, 1, 2]) {
      const size = sizeOf(1, page, { lognormal: law })
      assert.equal(pageText(1, page, size).length, size)
    }
  })
})

describe('the order of trials', () => {
  test('has every cell once in each repetition', () => {
    const { trials } = planRun(definition, 1)
    const doors = /** @type {string[]} */ (definition.factors.door)
    assert.equal(trials.length, doors.length * definition.repetitions)
    for (let repetition = 1; repetition <= definition.repetitions; repetition++) {
      assert.deepEqual(
        trials
          .filter((trial) => trial.repetition === repetition)
          .map(({ cell }) => cell.door)
          .sort(),
        [...doors].sort()
      )
    }
    assert.deepEqual(trials.map(({ trial }) => trial), trials.map((_, index) => index + 1))
  })

  test('is fixed by the seed and differs between seeds', () => {
    const order = (/** @type {number} */ seed) =>
      JSON.stringify(planRun(definition, seed).trials.map(({ cell }) => cell))
    assert.equal(order(1), order(1))
    assert.ok(new Set(Array.from({ length: 20 }, (_, seed) => order(seed))).size >= 19)
  })
})

describe('the arrivals of the open model', () => {
  const burst = { factor: 10, at_s: 2, ramp_s: 1, for_s: 2 }
  const stages = stagesOf(100, burst, 10)
  const count = arrivalsIn(stages)
  const timesOf = (/** @type {'constant' | 'poisson'} */ arrivals, seed = 1) => {
    const timeOf = arrivalTimes({ stages, arrivals, count, seed, stream: 1 })
    return Array.from({ length: count }, (_, index) => timeOf(index))
  }
  // Arrivals until each second: the rate rises from 100 to 1000 within the third, and falls back after the fifth.
  const BY_SECOND = [0, 100, 200, 750, 1750, 2750, 2850, 2950, 3050, 3150, 3250]

  test('at a constant rate follow the stages exactly', () => {
    const times = timesOf('constant')
    assert.equal(count, BY_SECOND[10])
    for (const [second, arrived] of BY_SECOND.entries()) {
      assert.equal(times.filter((time) => time < 1000 * second - 1e-6).length, arrived, `second ${second}`)
    }
    assert.ok(Math.abs(times[1] - times[0] - 10) < 1e-9 && Math.abs(times[2000] - times[1999] - 1) < 1e-9)
  })

  test('of Poisson have exponential gaps at the rate of their stage (Kolmogorov–Smirnov test)', () => {
    for (const seed of [1, 2, 3]) {
      const times = timesOf('poisson', seed)
      assert.deepEqual(times, [...times].sort((a, b) => a - b))
      assert.ok(times[0] >= 0 && times[count - 1] < 10_000)
      const during = times.filter((time) => time >= 3000 && time < 5000)
      assert.ok(Math.abs(during.length - 2000) < 5 * Math.sqrt(2000), `${during.length} in two seconds of 1000`)
      const gaps = during.slice(1).map((time, index) => time - during[index]).sort((a, b) => a - b)
      const distance = Math.max(...gaps.map((gap, index) =>
        Math.abs((index + 0.5) / gaps.length - (1 - Math.exp(-gap)))))
      // The 99.9 % quantile of the statistic is 1.95 ÷ √n.
      assert.ok(distance < 1.95 / Math.sqrt(gaps.length), `seed ${seed}: ${distance}`)
    }
    assert.notDeepEqual(timesOf('poisson', 1), timesOf('poisson', 2))
  })
})

test('the text of an edit has the links that are asked for, to pages of the plan, and others in each edit', () => {
  const { plans: [{ plan }], trials: [{ settings }] } = planRun(definition, 1)
  const own = /** @type {any} */ ({ ...settings, plan, mark: 't1', page_size_chars: 5000, edit_links: 10 })
  const { editOf } = createMessages(own, { paths: null, base: textOf(own) })
  const linksIn = (/** @type {number} */ index) =>
    [...String(editOf(index, 0).body).matchAll(/\[(page-\d{6})\]\(\/wiki\/\1\)/g)].map(([, name]) => name)
  assert.equal(linksIn(1).length, 10)
  assert.notDeepEqual(linksIn(1), linksIn(2))
  assert.deepEqual(linksIn(1), linksIn(1))
  const names = new Set(Array.from({ length: plan.pages }, (_, page) => pageName(page)))
  assert.ok(linksIn(3).every((name) => names.has(name)))
  assert.equal(String(editOf(1, 0).body).length, 5000)
})
