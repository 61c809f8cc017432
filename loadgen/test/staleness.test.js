import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeStaleness } from '../src/histories/staleness.js'

const save = (/** @type {number} */ revision, /** @type {number} */ ms, page = 'a') =>
  ({ page, revision, acknowledged_ms: ms })
const read = (/** @type {number} */ revision, /** @type {number} */ ms, page = 'a') =>
  ({ page, revision, sent_ms: ms, done_ms: ms + 1 })

for (const [what, saves, reads, maxMs] of /** @type {const} */ ([
  ['the newest text', [save(1, 0), save(2, 100)], [read(2, 150)], 0],
  ['a text that is not acknowledged yet', [save(1, 0), save(2, 100)], [read(2, 50)], 0],
  ['the text before one that is acknowledged while the read runs', [save(1, 0), save(2, 100)], [read(1, 99)], 0],
  ['the text before one that was acknowledged earlier', [save(1, 0), save(2, 100)], [read(1, 130)], 30],
  ['a text with two newer ones: the first of them counts', [save(1, 0), save(2, 100), save(3, 200)], [read(1, 250)], 150],
  ['a text whose successor never got its answer', [save(1, 0), save(3, 200)], [read(1, 250)], 50],
  ['a later save that was acknowledged before an earlier one', [save(2, 100), save(3, 50)], [read(1, 120)], 70],
  ['another page', [save(1, 0, 'b'), save(2, 10, 'b')], [read(1, 500, 'a')], 0],
  ['the oldest of several reads', [save(2, 100)], [read(1, 110), read(1, 140), read(2, 150)], 40]
])) {
  test(`how old a read is: ${what}`, () => {
    const judged = judgeStaleness({ reads: [...reads], saves: [...saves] }, 35)
    assert.equal(judged.staleness_max_ms, maxMs)
    assert.equal(judged.violations.length, maxMs > 35 ? 1 : 0)
  })
}

test('Δ of Δ-atomicity counts from when a reader had the newer text, if that is before the answer to the save', () => {
  const saves = [save(1, 0), save(2, 100)]
  assert.equal(judgeStaleness({ reads: [read(2, 40), read(1, 90)], saves }, 0).atomic_delta_ms, 49)
  assert.equal(judgeStaleness({ reads: [read(2, 40), read(1, 41)], saves }, 0).atomic_delta_ms, 0, 'they overlap')
  assert.equal(judgeStaleness({ reads: [read(1, 130)], saves }, 0).atomic_delta_ms, 30)
})

test('without a violation in n reads, a larger share than 1 − 0.05^(1/n) of violations is not plausible', () => {
  const reads = Array.from({ length: 100 }, () => read(1, 10))
  assert.ok(Math.abs(judgeStaleness({ reads, saves: [save(1, 0)] }, 0).violated_share_max - 0.029513) < 1e-6)
  assert.equal(judgeStaleness({ reads, saves: [save(2, 0)] }, 0).violated_share_max, 1)
  assert.equal(judgeStaleness({ reads: [], saves: [] }, 0).violated_share_max, 1)
})
