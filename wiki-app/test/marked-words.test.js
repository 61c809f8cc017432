import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import difference from '../src/history/difference.js'
import { tokensOf } from '../src/history/tokens.js'
import { get, save, useWiki } from './helper.js'

/** @import {DifferenceLine} from '../src/history/difference.js' */

const wiki = useWiki()

/** Changed words in brackets that no text here has. @param {DifferenceLine} line */
const marked = (line) => !('text' in line)
  ? `… ${line.lines}`
  : line.words?.map(({ text, changed }) => changed ? `⟦${text}⟧` : text).join('') ?? `${line.text} (whole)`
const compared = (/** @type {string} */ before, /** @type {string} */ after) =>
  difference({ before, after }).lines.map(marked)

test('words that changed are marked in a line and in the one that replaces it', () => {
  for (const [before, after, lines] of /** @type {const} */ ([
    ['Use words.', 'Use plain words.', ['Use words.', 'Use ⟦plain ⟧words.']],
    ['the quick brown fox ran', 'the slow red fox ran', ['the ⟦quick brown⟧ fox ran', 'the ⟦slow red⟧ fox ran']],
    ['it isn’t 3.14 km', 'it isn’t 3.15 km', ['it isn’t ⟦3.14⟧ km', 'it isn’t ⟦3.15⟧ km']],
    ['one word', 'no such thing', ['one word (whole)', 'no such thing (whole)']],
    ['a: one', 'b: something else and other things', ['a: one (whole)', 'b: something else and other things (whole)']]
  ])) assert.deepEqual(compared(before, after), lines)
})

test('the signs of Markdown stay together and stay readable', () => {
  for (const [before, after, lines] of /** @type {const} */ ([
    ['see [[Old Page]] there', 'see [[New Name]] there', ['see [[⟦Old Page⟧]] there', 'see [[⟦New Name⟧]] there']],
    ['a *bold* word', 'a **bold** word', ['a ⟦*⟧bold⟦*⟧ word', 'a ⟦**⟧bold⟦**⟧ word']],
    ['## A heading', '### A heading', ['⟦##⟧ A heading', '⟦###⟧ A heading']],
    ['| one | 2 |', '| one | 3 |', ['| one | ⟦2⟧ |', '| one | ⟦3⟧ |']]
  ])) assert.deepEqual(compared(before, after), lines)
})

test('words of other scripts are words, and a character as it is read stays in one piece', () => {
  for (const [before, after, lines] of /** @type {const} */ ([
    ['Žan je lep človek', 'Žan je lepa človek', ['Žan je ⟦lep⟧ človek', 'Žan je ⟦lepa⟧ človek']],
    ['我们今天去北京大学。', '我们明天去北京大学。', ['我们⟦今天⟧去北京大学。', '我们⟦明天⟧去北京大学。']],
    ['cafe\u0301 noir', 'cafe noir', ['⟦cafe\u0301⟧ noir', '⟦cafe⟧ noir']],
    ['ภาษาไทยสวยงาม', 'ภาษาไทยดี', ['ภาษาไทย⟦สวยงาม⟧', 'ภาษาไทย⟦ดี⟧']],
    ['the family 👨‍👩‍👧‍👦 eats', 'the family 👨‍👩‍👧 eats', ['the family ⟦👨‍👩‍👧‍👦⟧ eats', 'the family ⟦👨‍👩‍👧⟧ eats']],
    ['a flag 🇸🇮 is here', 'a flag 🇸🇪 is here', ['a flag ⟦🇸🇮⟧ is here', 'a flag ⟦🇸🇪⟧ is here']],
    ['한국어 문장'.normalize('NFD'), '한국말 문장'.normalize('NFD'),
      ['⟦한국어⟧ 문장'.normalize('NFD'), '⟦한국말⟧ 문장'.normalize('NFD')]]
  ])) assert.deepEqual(compared(before, after), lines)
})

test('white space alone is a change', () => {
  for (const [before, after, lines] of /** @type {const} */ ([
    ['some  words', 'some words', ['some⟦  ⟧words', 'some⟦ ⟧words']],
    ['a\tb', 'a b', ['a⟦\t⟧b', 'a⟦ ⟧b']],
    ['a line ', 'a line', ['a line⟦ ⟧', 'a line']],
    ['a\u00A0b', 'a b', ['a⟦\u00A0⟧b', 'a⟦ ⟧b']],
    ['a line\r\nb', 'a line\nb', ['a line⟦\r⟧', 'a line', 'b (whole)']],
    ['x\n\ny', 'x\n  \ny', ['x (whole)', '', '⟦  ⟧', 'y (whole)']]
  ])) assert.deepEqual(compared(before, after), lines)
})

test('lines are paired with those that they resemble, also where lines were inserted between them', () => {
  assert.deepEqual(compared('- a one\n- b two three\n- c four', '- a 1\n- something new\n- b two 3\n- c four five'), [
    '- a ⟦one⟧', '- b two ⟦three⟧', '- c four',
    '- a ⟦1⟧', '- something new (whole)', '- b two ⟦3⟧', '- c four⟦ five⟧'
  ])
  const rows = (/** @type {string} */ word) => Array.from({ length: 200 }, (_, row) => `| row ${row} | ${word} |`)
  const all = compared(rows('old').join('\n'), rows('new').join('\n'))
  assert.deepEqual([all[150], all[350]], ['| row 150 | ⟦old⟧ |', '| row 150 | ⟦new⟧ |'], 'more than are compared')
})

const CHARACTERS = [
  'a', 'B', 'é', '1', '_', '.', '’', '*', '[[', ' ', '  ', '\t', '\r', '\u00A0', '\u0301', '\u200D', '\u0E33',
  'ก', '漢字',
  'ひら', '。', '，', '😀', '👩‍👧', '🇸🇮', '\u{1F3FD}', '\u1112\u1161\u11AB', '\u1112', '\u0600', 'क्ष', '\u{16FF0}', '\uFF9E',
  '\uD83D'
]
const piece = fc.oneof(fc.constantFrom(...CHARACTERS), fc.string({ unit: 'binary', maxLength: 3 }))
const line = fc.array(piece, { maxLength: 25 })
  .map((pieces) => pieces.join('').replaceAll('\n', ''))

test('tokens are the line, and each ends where a character ends', () => {
  const characters = new Intl.Segmenter('und', { granularity: 'grapheme' })
  fc.assert(fc.property(line, (text) => {
    const tokens = tokensOf(text, { chars: Infinity })
    assert.equal(tokens.join(''), text)
    const starts = new Set([...characters.segment(text)].map(({ index }) => index))
    let at = 0
    for (const token of tokens) {
      assert.ok(starts.has(at), `${JSON.stringify(text)} is split at ${at}`)
      at += token.length
    }
  }), { numRuns: 2_000 })
})

const WORDS = ['the', 'a', 'word', 'other', ' ', ' ', ' ', ',', '**', '[[', '漢字', 'cafe\u0301', '\n', '\n']
const word = fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: 'binary', maxLength: 2 }))
/** Two texts: the second has some of the first's words replaced or removed. */
const replaced = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.array(word, { maxLength: 2 }))
const texts = fc.array(fc.tuple(word, replaced), { maxLength: 40 }).map((pairs) => ({
  before: pairs.map(([old]) => old).join(''), after: pairs.flatMap(([old, instead]) => instead ?? old).join('')
}))

test('the words of a line are the line, whatever the texts are; removed and added ones have the same in common', () => {
  let pairs = 0
  fc.assert(fc.property(texts, (both) => {
    /** @type {Record<string, string[]>} */
    const common = { removed: [], added: [] }
    for (const line of difference(both).lines) {
      if (!('text' in line) || line.words === undefined) continue
      assert.equal(line.words.map(({ text: piece }) => piece).join(''), line.text)
      assert.ok(line.words.every(({ text: word, changed }, at, words) =>
        word !== '' && words[at - 1]?.changed !== changed))
      common[line.kind].push(line.words.filter(({ changed }) => !changed).map(({ text: piece }) => piece).join(''))
    }
    assert.deepEqual(common.removed, common.added)
    pairs += common.added.length
  }), { numRuns: 1_000 })
  assert.ok(pairs > 200, `${pairs} pairs`)
})

test('of long lines and of many changes some are marked, and a page has at most so many marks', () => {
  const words = (/** @type {number} */ count, /** @type {number} */ each, word = 'new') =>
    Array.from({ length: count }, (_, at) => at % each === 0 ? `${word}${at}` : `word${at}`).join(' ')
  const isWhole = (/** @type {string} */ marks) => marks.endsWith('(whole)')
  assert.ok(!compared(words(300, 10, 'old'), words(300, 10)).some(isWhole))
  assert.ok(compared(words(300, 2, 'old'), words(300, 2)).every(isWhole), 'too many edits')
  assert.ok(compared(words(600, 100, 'old'), words(600, 100)).every(isWhole), 'longer than 4000 characters')
  assert.ok(compared(words(9_000, 100, 'old'), words(9_000, 100)).every(isWhole), 'shortened')

  const lines = (/** @type {string} */ word) =>
    Array.from({ length: 500 }, (_, at) => words(12, 3, `${at}${word}`)).join('\n')
  const many = difference({ before: lines('old'), after: lines('new') }).lines
  const marks = many.flatMap((line) => 'text' in line ? line.words ?? [] : []).filter(({ changed }) => changed).length
  assert.ok(marks > 500 && marks <= 1_100, `${marks} marks`)
})

test('the page marks words, and the API has them beside the text', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'Use <b>words</b> here.\r\nsame')
  await save(app, 'a', 'Use <i>plain</i> words here.\nsame')
  const { body } = await get(app, '/difference/a?from=1&to=2')
  assert.match(body, /<del>Use &lt;<mark>b<\/mark>&gt;[^]*<mark>␍<\/mark><\/del>\n<ins>Use &lt;<mark>i<\/mark>&gt;/)
  const [removed, added, same] = (await get(app, '/api/v1/pages/a/difference?from=1&to=2')).json().lines
  assert.equal(removed.text, 'Use <b>words</b> here.\r')
  assert.deepEqual(removed.words.at(-1), { text: '\r', changed: true })
  assert.deepEqual(added.words.slice(0, 2), [{ text: 'Use <', changed: false }, { text: 'i', changed: true }])
  assert.deepEqual(same, { kind: 'same', text: 'same' })
})
