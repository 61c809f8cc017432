import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holds, judge } from '../torture/oracle.js'
import { torture, VICTIMS } from '../torture/torture.js'

/** @typedef {import('../torture/oracle.js').Edit} Edit */
/** @typedef {import('../torture/oracle.js').Findings} Findings */
/** @typedef {import('../torture/oracle.js').Stored} Stored */

/**
 * Returns three consecutive edits of one page, a read, and the database as it should be afterwards.
 * @returns {{edits: Edit[], reads: import('../torture/oracle.js').Read[], stored: Stored}}
 */
function story () {
  const edits = /** @type {Edit[]} */ ([1, 2, 3].map((revision) => ({
    id: `edit-${revision}-`,
    page: 'a',
    kind: 'save',
    base: revision - 1,
    started: 10 * revision,
    ended: 10 * revision + 5,
    outcome: 'acknowledged',
    revision
  })))
  return {
    edits,
    reads: [{ page: 'a', started: 40, revision: 3 }],
    stored: {
      revisions: [1, 2, 3].map((revision) => ({
        page: 'a',
        revision,
        follows: revision === 1 ? null : revision - 1,
        content: `edit-${revision}- text`,
        summary: `edit-${revision}-`,
        deleted: false
      })),
      pages: [{ _id: 'a', revision: 3, content: 'edit-3- text', tags: ['red'], links: ['b'], deleted_at: null }],
      targets: [{ _id: 'a', is: 'page', sources: 0 }, { _id: 'b', is: null, sources: 1 }],
      tags: [{ _id: 'red', pages: 1 }]
    }
  }
}

describe('the oracle', () => {
  test('finds nothing wrong in a correct history', () => {
    const { edits, reads, stored } = story()
    const findings = judge(edits, reads, stored)
    assert.deepEqual([...new Set(Object.values(findings))], [0])
    assert.ok(holds(findings))
  })

  test('accepts an edit of unknown outcome whether it is stored or not, but not stored twice', () => {
    const { edits, reads, stored } = story()
    edits.push({
      id: 'edit-4-',
      page: 'a',
      kind: 'save',
      base: null,
      started: 50,
      ended: Infinity,
      outcome: 'unknown',
      revision: null
    })
    assert.ok(holds(judge(edits, reads, stored)))
    const [last] = stored.revisions.slice(-1)
    for (const revision of [4, 5]) {
      stored.revisions.push({ ...last, revision, follows: revision - 1, summary: 'edit-4-', content: 'edit-4- text' })
    }
    stored.pages[0] = { ...stored.pages[0], revision: 5, content: 'edit-4- text' }
    const { duplicated, ...others } = judge(edits, reads, stored)
    assert.equal(duplicated, 1)
    assert.ok(holds({ ...others, duplicated: 0 }))
  })

  test('adds up what the queue has still to count', () => {
    const { edits, reads, stored } = story()
    /** @type {import('../src/pages/counts.js').Content} */
    const content = { links: [['b', 1], ['a', -1]], tags: [['red', 1]], missing: ['b'] }
    const targets = [{ _id: 'a', is: 'page', sources: 1 }]
    const queued = { ...stored, targets, tags: [], queue: [{ kind: 'counts', content }] }
    assert.ok(holds(judge(edits, reads, queued)))
    assert.equal(judge(edits, reads, { ...queued, queue: [] }).torn_counts, 3)
  })

  for (const [finding, spoil] of /** @type {[keyof Findings, (all: ReturnType<typeof story>) => void][]} */ ([
    ['lost', ({ stored }) => stored.revisions.pop()],
    ['lost', ({ stored }) => { stored.revisions[1].content = 'another text' }],
    ['lost', ({ edits }) => { edits[2].revision = 4 }],
    ['invented', ({ edits }) => edits.pop()],
    ['invented', ({ edits }) => { edits[2].outcome = 'refused' }],
    ['gaps', ({ stored }) => { stored.revisions.splice(1, 1) }],
    ['gaps', ({ stored }) => { stored.revisions[2].follows = 1 }],
    ['overwritten', ({ edits }) => { edits[2].base = 1 }],
    ['overwritten', ({ edits }) => { edits[2].base = 0 }],
    ['overwritten', ({ stored }) => { stored.revisions[1].deleted = true }],
    ['out_of_order', ({ edits }) => { [edits[1].revision, edits[2].revision] = [3, 2] }],
    ['stale_reads', ({ reads }) => { reads[0].revision = 2 }],
    ['torn_pages', ({ stored }) => { stored.pages[0].revision = 2 }],
    ['torn_pages', ({ stored }) => { stored.pages[0].content = 'edit-2- text' }],
    ['torn_pages', ({ stored }) => stored.pages.pop()],
    ['torn_counts', ({ stored }) => { stored.tags[0].pages = 2 }],
    ['torn_counts', ({ stored }) => { stored.targets[1].sources = 0 }],
    ['torn_counts', ({ stored }) => stored.targets.pop()],
    ['torn_counts', ({ stored }) => { stored.targets[0].is = null }]
  ])) {
    test(`finds ${finding}: ${String(spoil).replace(/^.*=> /, '')}`, () => {
      const all = story()
      spoil(all)
      const findings = judge(all.edits, all.reads, all.stored)
      assert.ok(findings[finding] > 0, JSON.stringify(findings))
      assert.ok(!holds(findings))
    })
  }

  test('counts a read of an unacknowledged revision that is gone, but does not report it as an error', () => {
    const { edits, reads, stored } = story()
    reads.push({ page: 'a', started: 50, revision: 4 })
    const findings = judge(edits, reads, stored)
    assert.equal(findings.seen_and_gone, 1)
    assert.ok(holds(findings))
  })
})

for (const strategy of ['sync', 'group-commit']) {
  test(`${strategy}: after kills of the wiki, of its database and of both, ` +
    'every acknowledged edit is stored once, in order, and found', { timeout: 400_000 }, async () => {
    const { trials, acknowledged, unexpected, findings, words } =
      await torture({ trials: VICTIMS.length, edits: 90, seed: 9, strategy })
    assert.deepEqual(trials.map(({ killed }) => killed), [...VICTIMS])
    assert.ok(acknowledged >= 90)
    assert.deepEqual(unexpected, [])
    assert.deepEqual(words, [])
    assert.ok(holds(findings), JSON.stringify(findings))
  })
}
