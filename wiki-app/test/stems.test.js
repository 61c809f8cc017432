import assert from 'node:assert/strict'
import test from 'node:test'
import { stemOf } from '../src/words/stems.js'
import { get, save, untilIndexed, useWiki } from './helper.js'

/** @import {FastifyInstance} from 'fastify' */

const wiki = useWiki()

/** As the index has them: without accents. @type {[import('../src/site/languages.js').Language, string[]][]} */
const INFLECTED = [
  ['en', ['house', 'houses', 'housing', 'housed']],
  ['en', ['measure', 'measures', 'measured', 'measuring']],
  ['en', ['happy', 'happiness']],
  ['sl', ['hisa', 'hise', 'hisi', 'hiso', 'hisah', 'hisami']],
  ['sl', ['mesto', 'mesta', 'mestu', 'mestom', 'mestih', 'mesti', 'mestoma']],
  ['sl', ['delati', 'delam', 'delajo', 'delamo', 'delal', 'delala', 'delali']],
  ['sl', ['nova', 'novega', 'novemu', 'novih', 'novimi', 'novo']],
  ['sl', ['stran', 'strani', 'stranema', 'stranmi', 'straneh']],
  ['sl', ['jezik', 'jezika', 'jeziku', 'jezikom', 'jezikov', 'jezike', 'jezikih']]
]

for (const [language, words] of INFLECTED) {
  test(`${language}: ${words.join(', ')} have one stem`, () => {
    const stem = stemOf(words[0], language)
    assert.ok(stem.length >= 3)
    assert.deepEqual([...new Set(words.map((word) => stemOf(word, language)))], [stem])
  })
}

test('short words, numbers and other scripts are their own stems, and different words keep different stems', () => {
  for (const language of /** @type {const} */ (['en', 'sl'])) {
    for (const word of ['its', 'je', '2026', 'a1b2c3', 'дома', '東京', '']) {
      assert.equal(stemOf(word, language), word)
    }
  }
  for (const [language, ...words] of /** @type {['en' | 'sl', ...string[]][]} */ ([
    ['en', 'house', 'houston', 'horse'], ['sl', 'hisa', 'hitro', 'miza'], ['sl', 'mesto', 'most', 'meso']
  ])) assert.equal(new Set(words.map((word) => stemOf(word, language))).size, words.length)
})

/** @param {FastifyInstance} app @param {string} q @returns {Promise<[string, string][]>} names, and what is marked */
async function found (app, q) {
  /** @type {{items: {name: string, excerpt: {text: string, hit: boolean}[]}[]}} */
  const { items } = (await get(app, `/api/v1/search?${new URLSearchParams({ q })}`)).json()
  return items.map(({ name, excerpt }) => [name, excerpt.find(({ hit }) => hit)?.text ?? ''])
}

test('a search finds other forms of its words, behind the words themselves, and marks them', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'many', 'We saw houses, houses and houses in all housing estates.')
  await save(app, 'one', `A house. ${'Some other text. '.repeat(50)}`)
  await save(app, 'city', 'Houston is a city.')
  await untilIndexed(app)
  assert.deepEqual(await found(app, 'house'), [['one', 'house'], ['many', 'houses']])
  assert.deepEqual(await found(app, 'Housing'), [['many', 'houses'], ['one', 'house']])
  assert.deepEqual(await found(app, '"house"'), [['one', 'house']], 'a phrase is found as it is')
  assert.deepEqual(await found(app, 'house -houses'), [['one', 'house']], 'so is a word that is not wanted')
  assert.deepEqual(await found(app, 'housed OR NEAR(house) *'), [['one', 'house'], ['many', 'houses']])
})

test('a wiki in Slovene finds Slovene forms, with and without accents', async (t) => {
  const app = await wiki.build(t, { WIKI_LANGUAGE: 'sl' })
  await save(app, 'ena', 'Pred hišo stoji drevo.')
  await save(app, 'dve', 'O hišah in mestih.')
  await untilIndexed(app)
  for (const q of ['hiša', 'hise', 'HIŠAMI']) {
    assert.deepEqual((await found(app, q)).sort(), [['dve', 'hišah'], ['ena', 'hišo']], q)
  }
  assert.deepEqual(await found(app, 'mesto'), [['dve', 'mestih']])
})

test('words in thousands of forms are found as they are', async (t) => {
  const app = await wiki.build(t)
  const words = Array.from({ length: 3_000 }, (_, index) => `measur${index}x`)
  await save(app, 'many', words.join(' '))
  await save(app, 'one', 'measured')
  await untilIndexed(app)
  assert.deepEqual((await found(app, 'measured')).map(([name]) => name), ['one'])
  assert.deepEqual((await found(app, 'measur17x')).map(([name]) => name), ['many'])
})
