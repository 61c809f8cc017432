import assert from 'node:assert/strict'
import test from 'node:test'
import { canonicalName, titleKey, viewUrl, writableName } from '../src/pages/name.js'

test('a name has one spelling: NFC, no white space around it, single spaces within', () => {
  assert.equal(canonicalName('Home'), 'Home')
  assert.equal(canonicalName('  Home \u00A0\u3000 page '), 'Home page')
  assert.equal(canonicalName('S\u030Ctevec'), '\u0160tevec')
  assert.equal(canonicalName('日本語 👩‍👩‍👧'), '日本語 👩‍👩‍👧')
  assert.equal(canonicalName('...'), '...')
})

test('the limit is 200 characters, not bytes or UTF-16 units, and holds for the canonical spelling', () => {
  assert.equal(canonicalName('😀'.repeat(200)), '😀'.repeat(200))
  assert.equal(canonicalName('e\u0301'.repeat(200)), 'é'.repeat(200))
  assert.throws(() => canonicalName('a'.repeat(201)), { statusCode: 400, message: /longer than 200/ })
})

for (const [why, raw] of Object.entries({
  empty: '',
  'white space only': ' \u3000 ',
  'invisible characters only': '\u200B\u200D',
  'a null': 'a\0b',
  'a line end': 'a\nb',
  'a tab': 'a\tb',
  'a C1 control': 'a\u0085b',
  'text turned round': 'gnp.\u202Eexe',
  'a slash': 'a/b',
  'a backslash': 'a\\b',
  'this directory': '.',
  'its parent': '..',
  'its parent, with white space': ' .. ',
  'a lone high surrogate': 'a\uD800',
  'a lone low surrogate': '\uDC00a'
})) {
  test(`no name: ${why}`, () => assert.throws(() => canonicalName(raw), { statusCode: 400 }))
}

test('the counter’s name can be read but not written, however it is spelt', () => {
  assert.equal(canonicalName('stevec'), 'stevec')
  assert.throws(() => writableName('stevec'), { statusCode: 400, message: /reserved/ })
  assert.throws(() => writableName(' stevec '), { statusCode: 400, message: /reserved/ })
  assert.equal(writableName('Stevec'), 'Stevec')
})

test('URLs are percent-encoded, and titles compared without case', () => {
  assert.equal(viewUrl('C++ & Č?'), '/wiki/C%2B%2B%20%26%20%C4%8C%3F')
  assert.equal(titleKey('ČŠŽ Wiki'), titleKey('čšž wiki'))
})
