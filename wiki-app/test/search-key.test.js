import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { plainLetters, spellingsOf } from '../src/pages/letters.js'
import { searchKey, titleQuery } from '../src/pages/search-key.js'

test('letters lose case and accents, also those without a decomposition, and keep what makes another word', () => {
  for (const [text, plain] of [
    ['Čebela', 'cebela'], ['Đorđe ŁÓDŹ Søren Straße Æther Œuvre Þór', 'dorde lodz soren strasse aether oeuvre thor'],
    ['İstanbul ıssız', 'istanbul issiz'], ['Ελλάς', 'ελλασ'], ['Ёлка', 'елка'], ['ﬁn ①', 'fin 1'],
    ['C\u030Cebela', 'cebela'], ['がぎ', 'がぎ'], ['한국', '한국'], ['हिन्दी', 'हिन्दी'], ['東京', '東京'], ['', '']
  ]) assert.equal(plainLetters(text), plain)
})

test('names that differ in case, accents, spaces or leading zeros have one key, and keys sort numbers by value', () => {
  assert.equal(searchKey('Dolgi_rok  čebele'), searchKey('dolgi rok cebele'))
  assert.equal(searchKey('Agent 007'), searchKey('agent 7'))
  assert.notEqual(searchKey('Agent 70'), searchKey('agent 7'))
  const names = ['Page 1', 'Page 2', 'Page 10', 'Page 99', 'Page 100', 'Page 123456789', 'Page x']
  assert.deepEqual([...names].sort((a, b) => searchKey(a) < searchKey(b) ? -1 : 1), names)
})

/** @param {string} q @param {string} name @returns {'begins' | 'elsewhere' | null} how the database finds it */
function found (q, name) {
  const query = titleQuery(q)
  const key = searchKey(name)
  if (query?.beginnings.some((beginning) => key.startsWith(beginning))) return 'begins'
  return query !== null && new RegExp(query.elsewhere, 'u').test(key) ? 'elsewhere' : null
}

test('a query finds titles that begin with it, and titles whose words begin with its words', () => {
  for (const [q, name, how] of /** @type {const} */ ([
    ['cebela', 'Čebela', 'begins'], ['ČEBE', 'Dolgi rok čebele', 'elsewhere'],
    ['dolgi cebe', 'Dolgi rok čebele', 'elsewhere'],
    ['cebe dolgi', 'Dolgi rok čebele', 'elsewhere'], ['tea', 'Our team', 'elsewhere'], ['tea', 'Steam', 'elsewhere'],
    ['tea our', 'Our steam', null], ['page 1', 'Page 10', 'begins'], ['page 10', 'Page 1', null],
    ['1', 'Chapter 12', 'elsewhere'], ['41', 'Page 1999', null], ['99', 'Page 1999', 'elsewhere'],
    ['2024', '2024 report', 'begins'], ['202', '2024 report', 'begins'], ['page 007', 'Page 7', 'begins'],
    ['page 0', 'Page 0', 'begins'], ['guide/in', 'Guide/Install', 'begins'], ['install', 'Guide/Install', 'elsewhere'],
    ['red_bee', 'Red bee', 'begins'], ['bee -red', 'Bee, red', null], ['bee -red', 'Bee reduced', 'elsewhere'],
    ['bee -red', 'A bee', 'elsewhere'], ['"red bee"', 'A red bee', 'elsewhere'], ['c++', 'C++', 'begins'],
    ['.*', 'Anything', null],
    ['缓存', 'nginx缓存配置', 'elsewhere'], ['缓存 ngin', '用nginx做缓存', 'elsewhere'],
    ['缓存 ngin', '缓解', null],
    ['nginx缓存', 'The nginx 缓存', 'elsewhere'], ['第10章 書', '書の第10章', 'elsewhere'],
    ['書 第1章', '書の第10章', null], ['nginx -缓存', '用nginx做缓存的', null],
    ['缓存 -nginx', '用nginx做缓存', null],
    ['缓存 -ngi', '用nginx做缓存', 'elsewhere'], ['แฟ ร้าน', 'ร้านกาแฟ', 'elsewhere'],
    ['대학', '서울대학교', 'elsewhere'],
    ['a b c d e f g h i j k l m n o p q r s t zebra', 'a b c d e f g h i j k l m n o p q r s t', 'elsewhere']
  ])) assert.equal(found(q, name), how, `${q} in ${name}`)
  assert.equal(titleQuery(' _ '), null)
})

test('a title is found by itself, by its beginning and by the beginnings of its words, whatever it contains', () => {
  const names = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter((name) => searchKey(name) !== '')
  fc.assert(fc.property(names, fc.nat(59), (name, length) => {
    assert.equal(found(name, name), 'begins')
    for (const [word] of name.matchAll(/(?<![\p{L}\p{N}_-])[A-Za-z]+(?![\p{L}\p{N}\p{M}])/gu)) {
      assert.notEqual(found(word.slice(0, 1 + length), name), null, word)
    }
  }))
})

test('a word is recognised in a text with and without accents', () => {
  const finds = (/** @type {string} */ word, /** @type {string} */ text) =>
    new RegExp(`^${spellingsOf(word)}$`, 'iu').test(text)
  for (const [word, text] of [
    ['cebela', 'ČEBELA'], ['čebela', 'cebela'], ['cebela', 'c\u030Cebela'], ['strasse', 'Straße'],
    ['Straße', 'STRASSE'],
    ['soren', 'Søren'], ['aether', 'æther'], ['Łódź', 'lodz'], ['ελλασ', 'Ελλάς'], ['елка', 'Ёлка'], ['がく', 'がく']
  ]) assert.ok(finds(word, text), `${word} in ${text}`)
  assert.ok(!finds('cebela', 'cebele'))
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (word) => { RegExp(spellingsOf(word), 'iu') }))
})
