import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
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
    .map(({ page, revision, begin, end }) => ({ page, revision, sent_ms: begin, done_ms: end })),
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

/** @param {Operation[]} operations @param {number} delta  by which reads begin earlier */
const earlier = (operations, delta) => operations.map((operation) =>
  operation.kind === 'read' ? { ...operation, begin: operation.begin - delta } : operation)

/** @param {Operation[]} operations */
const isAtomic = (operations) => ['a', 'b'].every((page) =>
  isLinearizable(operations.filter((operation) => operation.page === page)))

/** Those for which some Δ would do. @returns {Operation[][]} */
function possibleHistories () {
  const random = createRandom(SEED)
  return Array.from({ length: HISTORIES }, () => randomOperations(random))
    .filter((operations) => isAtomic(earlier(operations, 1_000)))
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

test('Δ of Δ-atomicity is the smallest for which trying all orders finds one', () => {
  const counts = { zero: 0, asOld: 0, greater: 0 }
  for (const operations of possibleHistories()) {
    const { atomic_delta_ms: delta, staleness_max_ms: oldest } = judgeStaleness(historyOf(operations), 0)
    assert.equal(delta, least((each) => isAtomic(earlier(operations, each))), JSON.stringify(operations))
    assert.ok(delta >= oldest)
    counts[delta === 0 ? 'zero' : delta === oldest ? 'asOld' : 'greater']++
  }
  for (const count of Object.values(counts)) assert.ok(count > HISTORIES / 100, JSON.stringify(counts))
})

test('Porcupine agrees on Δ: with it a history is linearizable, and with less it is not', () => {
  const asked = possibleHistories().flatMap((operations) => {
    const one = operations.filter(({ page }) => page === 'a')
    const { atomic_delta_ms: delta } = judgeStaleness(historyOf(one), 0)
    return [delta, ...delta > 0 ? [delta - 1] : []].map((each) =>
      ({ operations: earlier(one, each), holds: each === delta }))
  })
  const { status, stdout, stderr } = spawnSync('go', ['run', '-C', path.join(ROOT, 'harness/porcupine'), '.'], {
    input: asked.map(({ operations }) => `${JSON.stringify(operations)}\n`).join(''), encoding: 'utf8', maxBuffer: 1e8
  })
  assert.equal(status, 0, stderr)
  const said = stdout.trim().split('\n').map((line) => line === 'true')
  assert.equal(said.length, asked.length)
  for (const [at, { operations, holds }] of asked.entries()) assert.equal(said[at], holds, JSON.stringify(operations))
  assert.ok(asked.filter(({ holds }) => !holds).length > HISTORIES / 50)
})
