import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { canonicalName, namesAbove, viewUrl, writableName } from '../src/pages/name.js'

test('a canonical name is in NFC, without outer white space, with single spaces inside', () => {
  assert.equal(canonicalName('Home'), 'Home')
  assert.equal(canonicalName('  Home \u00A0\u3000 page '), 'Home page')
  assert.equal(canonicalName('S\u030Ctevec'), '\u0160tevec')
  assert.equal(canonicalName('日本語 👩‍👩‍👧'), '日本語 👩‍👩‍👧')
  assert.equal(canonicalName('...'), '...')
  assert.equal(canonicalName(' a  b / c'), 'a b/c')
})

test('a name has at most 200 characters (not bytes or UTF-16 units) in its canonical spelling', () => {
  assert.equal(canonicalName('😀'.repeat(200)), '😀'.repeat(200))
  assert.equal(canonicalName('e\u0301'.repeat(200)), 'é'.repeat(200))
  assert.throws(() => canonicalName('a'.repeat(201)), { statusCode: 400, message: /longer than 200/ })
})

for (const [why, raw] of Object.entries({
  empty: '',
  'white space only': ' \u3000 ',
  'invisible characters only': '\u200B\u200D',
  'a null character': 'a\0b',
  'a line break': 'a\nb',
  'a tab': 'a\tb',
  'a C1 control': 'a\u0085b',
  'a noncharacter': 'a\uFFFF',
  'a right-to-left override': 'gnp.\u202Eexe',
  'a leading slash': '/a',
  'a trailing slash': 'a/',
  'two slashes in a row': 'a//b',
  'a part of white space only': 'a/ /b',
  'a part that is two dots': 'a/../b',
  'a part that is one dot': 'a/./b',
  'a backslash': 'a\\b',
  'one dot': '.',
  'two dots': '..',
  'two dots between white space': ' .. ',
  'a lone high surrogate': 'a\uD800',
  'a lone low surrogate': '\uDC00a'
})) {
  test(`invalid name: ${why}`, () => assert.throws(() => canonicalName(raw), { statusCode: 400 }))
}

test('the name of the counter can be read but not written, even with outer white space', () => {
  assert.equal(canonicalName('stevec'), 'stevec')
  assert.throws(() => writableName('stevec'), { statusCode: 400, message: /reserved/ })
  assert.throws(() => writableName(' stevec '), { statusCode: 400, message: /reserved/ })
  assert.equal(writableName('Stevec'), 'Stevec')
})

test('page URLs are percent-encoded', () => {
  assert.equal(viewUrl('C++ & Č?'), '/wiki/C++%20&%20%C4%8C%3F')
})

test('the name of a subpage contains the names of its parent pages', () => {
  assert.deepEqual(namesAbove('a/b c/d'), ['a', 'a/b c'])
  assert.deepEqual(namesAbove('a'), [])
})

/** Texts with many of the characters that are special in names. */
const typed = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      'a', 'Š', 'S\u030C', ' ', '\u00A0', '/', '.', '%', '+', '&', ';', ':', '@', '?', '#', "'", '(', '*', '😀', '\u200D'
    )
  })
)

/** @param {string} raw */
const canonicalOrNull = (raw) => {
  try {
    return canonicalName(raw)
  } catch (error) {
    assert.equal(/** @type {{statusCode?: number}} */ (error).statusCode, 400)
    return null
  }
}

test('a canonical name stays the same when canonicalised again, and its URL decodes to it', () => {
  fc.assert(fc.property(typed, (raw) => {
    const name = canonicalOrNull(raw)
    if (name === null) return
    assert.equal(canonicalName(name), name)
    const url = viewUrl(name)
    assert.match(url, /^\/wiki\/[!-~]+$/)
    assert.equal(canonicalName(decodeURIComponent(url.slice('/wiki/'.length))), name)
    // Browsers and caches must not rewrite the URL to another one.
    assert.equal(new URL(url, 'http://wiki.example').pathname, url)
  }), { numRuns: 2_000 })
})

test('different names have different URLs', () => {
  fc.assert(fc.property(typed, typed, (one, other) => {
    const [name, another] = [canonicalOrNull(one), canonicalOrNull(other)]
    if (name !== null && another !== null) assert.equal(viewUrl(name) === viewUrl(another), name === another)
  }), { numRuns: 2_000 })
})
