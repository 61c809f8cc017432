import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '@stevec/harness/random'
import { judgeStaleness } from '../src/histories/staleness.js'

/** @import {Read, Save} from '../src/histories/staleness.js' */

const HISTORIES = 5_000
const SEED = 20_260_101

/**
 * An operation of a register whose texts are numbered: a save or a read of a revision.
 * @typedef {{kind: 'save' | 'read', page: string, revision: number, begin: number, end: number}} Operation
 */

/** Small times, so that many of them are equal. @param {() => number} random @returns {Operation[]} */
function randomOperations (random) {
  const below = (/** @type {number} */ count) => Math.floor(random() * count)
  const begun = () => {
    const begin = below(20)
    return { begin, end: begin + 1 + below(8) }
  }
  const pages = ['a', 'b'].slice(0, 1 + below(2))
  return pages.flatMap((page) => {
    const saves = below(4)
    return [
      ...Array.from({ length: saves }, (_, index) =>
        ({ kind: /** @type {const} */ ('save'), page, revision: index + 1, ...begun() })),
      ...Array.from({ length: below(4) }, () =>
        ({ kind: /** @type {const} */ ('read'), page, revision: below(saves + 1), ...begun() }))
    ]
  })
}

/** @param {Operation[]} operations @returns {{reads: Read[], saves: Save[]}} */
const historyOf = (operations) => ({
  reads: operations.filter(({ kind }) => kind === 'read')
    .map(({ page, revision, begin }) => ({ page, revision, sent_ms: begin })),
  saves: operations.filter(({ kind }) => kind === 'save')
    .map(({ page, revision, end }) => ({ page, revision, acknowledged_ms: end }))
})

/**
 * The promise as it is written: docs/decisions/0075.
 * @param {{reads: Read[], saves: Save[]}} history @param {number} delta
 */
const brokenBy = ({ reads, saves }, delta) => reads.filter((read) => {
  const acknowledged = saves.filter((save) => save.page === read.page && save.acknowledged_ms < read.sent_ms - delta)
  const newest = Math.max(0, ...acknowledged.map(({ revision }) => revision))
  return read.revision < newest
})

/** @param {(delta: number) => boolean} holds @returns {number} the smallest whole number for which it holds */
function least (holds) {
  let delta = 0
  while (!holds(delta)) delta++
  return delta
}

/**
 * Whether some order of the operations, in which none comes after one that began later than it ended, is that of a
 * register: each read returns the save before it. By trying all orders (Wing and Gong, 1993).
 * @param {Operation[]} left @param {number} [revision]  of the last save @returns {boolean}
 */
function isLinearizable (left, revision = 0) {
  if (left.length === 0) return true
  const firstEnd = Math.min(...left.map(({ end }) => end))
  return left.some((operation) => {
    if (operation.begin > firstEnd) return false
    if (operation.kind === 'read' && operation.revision !== revision) return false
    if (operation.kind === 'save' && operation.revision !== revision + 1) return false
    return isLinearizable(left.filter((other) => other !== operation), operation.revision)
  })
}

/** Δ-atomic: linearizable if each read had begun Δ earlier. Null: no Δ would do. @param {Operation[]} operations */
function leastAtomic (operations) {
  const isAtomic = (/** @type {number} */ delta) => ['a', 'b'].every((page) => isLinearizable(operations
    .filter((operation) => operation.page === page)
    .map((operation) => operation.kind === 'read' ? { ...operation, begin: operation.begin - delta } : operation)))
  return isAtomic(1_000) ? least(isAtomic) : null
}

test('of thousands of random histories, the judge finds the reads that break the promise, for any bound', () => {
  const random = createRandom(SEED)
  let broken = 0
  for (let number = 0; number < HISTORIES; number++) {
    const history = historyOf(randomOperations(random))
    const delta = Math.floor(random() * 12)
    const violations = brokenBy(history, delta)
    broken += violations.length
    assert.deepEqual(judgeStaleness(history, delta).violations, violations, JSON.stringify({ delta, history }))
  }
  assert.ok(broken > HISTORIES / 10)
})

test('the age of the oldest read is the smallest bound that would have held', () => {
  const random = createRandom(SEED)
  let stale = 0
  for (let number = 0; number < HISTORIES; number++) {
    const history = historyOf(randomOperations(random))
    const oldest = judgeStaleness(history, 0).staleness_max_ms
    assert.equal(oldest, least((delta) => brokenBy(history, delta).length === 0), JSON.stringify(history))
    if (oldest > 0) stale++
  }
  assert.ok(stale > HISTORIES / 10)
})

test('Δ of Δ-atomicity is the same where no page is read twice, else that or more: a read may go back', () => {
  const random = createRandom(SEED)
  const counts = { equal: 0, greater: 0 }
  for (let number = 0; number < HISTORIES; number++) {
    const operations = randomOperations(random)
    const atomic = leastAtomic(operations)
    if (atomic === null) continue
    const history = historyOf(operations)
    const { staleness_max_ms: oldest } = judgeStaleness(history, 0)
    const isReadTwice = new Set(history.reads.map(({ page }) => page)).size < history.reads.length
    assert.ok(isReadTwice ? oldest <= atomic : oldest === atomic, JSON.stringify({ atomic, oldest, operations }))
    counts[oldest === atomic ? 'equal' : 'greater']++
  }
  assert.ok(counts.equal > HISTORIES / 10 && counts.greater > 0, JSON.stringify(counts))
})
