import assert from 'node:assert/strict'
import test from 'node:test'
import { distanceOf } from '../src/words/similar.js'
import { stemOf } from '../src/words/stems.js'
import { BROWSER, get, save, untilIndexed, useWiki } from './helper.js'

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
  ['sl', ['jezik', 'jezika', 'jeziku', 'jezikom', 'jezikov', 'jezike', 'jezikih']],
  ['sl', ['도서관', '도서관은', '도서관에서', '도서관에서는', '도서관으로부터']]
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
    for (const word of ['its', 'je', '2026', 'a1b2c3', 'дома', '東京', '집에서', '서울', '']) {
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

test('an edit is a letter more, less or another one, or two that have changed places', () => {
  for (const [a, b, distance] of /** @type {[string, string, number][]} */ ([
    ['garden', 'garden', 0], ['gardn', 'garden', 1], ['gardenn', 'garden', 1], ['garten', 'garden', 1],
    ['graden', 'garden', 1], ['gradne', 'garden', 2], ['gar', 'garden', 3], ['', 'ab', 2]
  ])) {
    assert.equal(distanceOf(a, b, 3), distance, `${a} ${b}`)
    assert.equal(distanceOf(b, a, 3), distance, `${b} ${a}`)
  }
  assert.ok(distanceOf('windmill', 'garden', 1) > 1)
})

test('a word that no page has finds similar ones, behind the others, and is offered with them', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'green', 'A garden, a garden and a windmill.')
  await save(app, 'Harden', 'A fountain. Čebelnjak in 2024.')
  await save(app, 'grown', 'A gardener, gardens and <b>rest</b>.')
  await untilIndexed(app)
  const ask = async (/** @type {string} */ q) => {
    const { items, suggestion } = (await get(app, `/api/v1/search?${new URLSearchParams({ q })}`)).json()
    return [suggestion, items.map((/** @type {{name: string}} */ { name }) => name)]
  }
  assert.deepEqual(await ask('gardn'), ['garden', ['green']])
  assert.deepEqual(await ask('gardem fountain'), ['garden fountain', ['Harden', 'green']], 'known words come first')
  const behind = 'how to do fountain 2024 gardn'
  assert.deepEqual(await ask(behind), ['how to do fountain 2024 garden', ['Harden', 'green']], 'behind short words')
  assert.deepEqual(await ask('windimlls'), ['windmill', ['green']], 'two edits in a long word')
  assert.deepEqual(await ask('čebeljnak'), ['cebelnjak', ['Harden']], 'without accents, as they are indexed')
  assert.deepEqual((await found(app, 'gardn'))[0], ['green', 'garden'], 'what was found is marked')
  for (const q of ['garden', 'gar', 'wardem', '2025', '"gardn"', 'qqqqqq', '-gardn', '<script>']) {
    assert.equal((await ask(q))[0], null, q)
  }
  const { body } = await get(app, '/search?q=gardn+%3Cb%3E%22', BROWSER)
  assert.match(body, /Did you mean “<a href="\/search\?q=garden\+%3Cb%3E%22"[^>]*>garden &lt;b&gt;&quot;<\/a>”\?/)
  const longest = 'gardn '.repeat(33).trim()
  assert.equal((await ask(longest))[0], null, 'with the corrections it would be too long to be searched')
})
