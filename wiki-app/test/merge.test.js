import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { hasMarkers } from '../src/writing/markers.js'
import { merge } from '../src/writing/merge.js'
import { mergeTags } from '../src/writing/merge-save.js'
import { createAuthorsPool } from '../src/threads/authors.js'

/** @param {string} base @param {string} mine @param {string} theirs */
const merged = (base, mine, theirs) => merge({ base, mine, theirs, revision: 2 })

const conflict = (/** @type {string} */ mine, /** @type {string} */ theirs) =>
  `<<<<<<< Your lines\n${mine}======= The lines of revision 2\n${theirs}` +
  '>>>>>>> Keep what is right, and delete these three marked lines\n'

test('changes to different lines are both taken', () => {
  const base = 'one\ntwo\nthree\nfour\nfive'
  for (const [mine, theirs, both] of [
    ['ONE\ntwo\nthree\nfour\nfive', 'one\ntwo\nthree\nfour\nFIVE', 'ONE\ntwo\nthree\nfour\nFIVE'],
    ['zero\none\ntwo\nthree\nfour\nfive', 'one\ntwo\nthree\nfive', 'zero\none\ntwo\nthree\nfive'],
    ['one\nthree\nfour\nfive', 'one\ntwo\nthree\nfour\nfive\nsix', 'one\nthree\nfour\nfive\nsix'],
    ['one\n2\nthree\nfour\nfive', 'one\n2\nthree\nfour\nfive!', 'one\n2\nthree\nfour\nfive!']
  ]) {
    assert.deepEqual(merged(base, mine, theirs), { content: both, conflicts: 0 })
    assert.deepEqual(merged(base, theirs, mine), { content: both, conflicts: 0 })
  }
})

test('only lines that both changed are a conflict; each marker is a line of its own', () => {
  for (const [base, mine, theirs, content] of [
    ['a\nb\nc\n', 'a\nmine\nc\n', 'a\ntheirs\nc\n', `a\n${conflict('mine\n', 'theirs\n')}c\n`],
    ['a\nb\nc\n', 'a\nsame\nmine\nc\n', 'a\nsame\ntheirs\nc\n', `a\nsame\n${conflict('mine\n', 'theirs\n')}c\n`],
    ['a\nb\nc\n', 'a\nc\n', 'a\ntheirs\nc\n', `a\n${conflict('', 'theirs\n')}c\n`],
    ['a\nb\nc\n', 'A\nb\nc\n', 'a\nB\nc\n', `${conflict('A\nb\n', 'a\nB\n')}c\n`],
    ['a', 'mine', 'theirs', conflict('mine\n', 'theirs\n')],
    ['', 'mine\n', 'theirs', conflict('mine\n', 'theirs\n')]
  ]) assert.deepEqual(merged(base, mine, theirs), { content, conflicts: 1 })
  assert.equal(merged('a\nb\nc\n', '1\nb\n2\n', '3\nb\n4\n').conflicts, 2)
})

test('a stored text with CRLF is merged with what a form sends', () => {
  assert.deepEqual(merged('one\r\ntwo\r\nthree\r\n', 'ONE\ntwo\nthree\n', 'one\r\ntwo\r\nTHREE\r\n'),
    { content: 'ONE\ntwo\nTHREE\n', conflicts: 0 })
})

test('markers are found while one is left, and no text about conflicts in general is taken for one', () => {
  const [first, middle, last] = conflict('', '').split('\n')
  for (const line of [first, middle, last]) assert.equal(hasMarkers(`text\n${line}\nmore`), true, line)
  for (const text of ['<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main', 'Heading\n=======', `  ${first}`, `${last}!`]) {
    assert.equal(hasMarkers(text), false, text)
  }
})

const lines = fc.array(fc.constantFrom('a', 'b', 'c', '', '='), { maxLength: 12 }).map((each) => each.join('\n'))

test('of any three texts no line of either side is lost, and merging with an unchanged side takes the other', () => {
  fc.assert(fc.property(lines, lines, lines, (base, mine, theirs) => {
    assert.deepEqual(merged(base, mine, base), { content: mine, conflicts: 0 })
    assert.deepEqual(merged(base, base, theirs), { content: theirs, conflicts: 0 })
    assert.deepEqual(merged(base, mine, mine), { content: mine, conflicts: 0 })
    const { content, conflicts } = merged(base, mine, theirs)
    assert.equal(hasMarkers(content), conflicts > 0)
    assert.equal(merged(base, theirs, mine).conflicts, conflicts)
    const [kept, before] = [content.split('\n'), new Set(base.split('\n'))]
    for (const line of [...mine.split('\n'), ...theirs.split('\n')]) {
      if (!before.has(line)) assert.ok(kept.includes(line), `“${line}” is in the result`)
    }
  }), { numRuns: 2_000 })
})

test('texts of 1 MiB with nothing in common are merged in the authors’ thread', async (t) => {
  const pool = createAuthorsPool()
  t.after(() => pool.close())
  const text = (/** @type {string} */ word) => Array.from({ length: 130_000 }, (_, line) => `${word}${line}`).join('\n')
  const texts = { base: text('a'), mine: text('b'), theirs: text('c'), revision: 2 }
  const { content, conflicts } = await pool.run(texts, { bytes: 3_000_000, yields: true })
  assert.equal(conflicts, 1)
  assert.equal(content, conflict(`${texts.mine}\n`, `${texts.theirs}\n`))
  const empty = '\n'.repeat(500_000)
  assert.deepEqual(
    await pool.run({ base: empty, mine: `a${empty}`, theirs: `${empty}b`, revision: 2 }, { bytes: 1, yields: true }),
    { content: `a${empty}b`, conflicts: 0 }
  )
})

test('tags are merged as sets', () => {
  assert.deepEqual(mergeTags(['a', 'b', 'c'], ['a', 'b', 'mine'], ['b', 'c', 'theirs']), ['b', 'mine', 'theirs'])
  assert.deepEqual(mergeTags([], ['same'], ['same']), ['same'])
  assert.deepEqual(mergeTags(['a'], [], []), [])
})
