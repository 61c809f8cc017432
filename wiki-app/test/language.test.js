import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { createHtmlText, createTag, t } from '../src/language.js'
import { isOlder, versionIn } from '../src/markdown/version.js'
import { sayError } from '../src/say-error.js'
import { LANGUAGES } from '../src/site/languages.js'
import { escapeHtml } from '../src/views.js'
import { literalTexts, textsInUse } from './texts.js'

/** @type {(language: string) => Record<string, string>} */
const catalogueOf = (language) =>
  JSON.parse(readFileSync(new URL(`../src/languages/${language}.json`, import.meta.url), 'utf8'))

const uses = textsInUse().filter(({ text }) => text !== '' && text !== '%s')
const translations = LANGUAGES.filter((language) => language !== 'en')
/** Programs and operators meet these errors, not people with a browser. */
const OF_PROGRAMS = /^(api|moving|process|crawlers|purge-log)\//
/** Names, and examples of Markdown. */
const NOT_TRANSLATED = [
  'tag:stevec.invalid', '&gt; [!NOTE]', 'TIP', 'IMPORTANT', 'WARNING', 'CAUTION', 'let a = 1', '$E = mc^2$',
  '\\\\frac{a}{b}', '| Ana | 7 |', '- [x]', 'https://example.org', '/files/…', '&gt;', '```mermaid',
  'graph LR', 'sequenceDiagram', 'stateDiagram-v2', 'classDiagram', 'erDiagram'
]

/** @param {string} text */
const placeholdersOf = (text) => (text.match(/\{\{\w+\}\}|%[sd]|<\/?\w+>/g) ?? []).sort()

test('the interface shows no text that the catalogue does not know', () => {
  const missed = literalTexts().filter(({ text }) => !NOT_TRANSLATED.some((known) => text.includes(known)))
  assert.deepEqual(missed, [], 'wrap it: <%= t(\'…\') %>')
  assert.ok(uses.length > 500)
})

for (const language of translations) {
  const catalogue = catalogueOf(language)
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories

  test(`${language}.json has all texts, each with all its plural forms`, () => {
    const missing = uses
      .filter(({ isError, file }) => !(isError && OF_PROGRAMS.test(file)))
      .flatMap(({ text, counted }) => counted ? forms.map((form) => `${text}_${form}`) : [text])
      .filter((key) => !catalogue[key])
    assert.deepEqual([...new Set(missing)], [])
  })

  test(`${language}.json has no text that nothing uses`, () => {
    const used = new Set(uses.flatMap(({ text }) => [text, ...forms.map((form) => `${text}_${form}`)]))
    assert.deepEqual(Object.keys(catalogue).filter((key) => !used.has(key)), [])
  })

  test(`${language}.json keeps the placeholders and elements of each text`, () => {
    const isPlural = new RegExp(`_(?:${forms.join('|')})$`)
    for (const [key, text] of Object.entries(catalogue)) {
      assert.deepEqual(placeholdersOf(text), placeholdersOf(key.replace(isPlural, '')), key)
    }
  })
}

test('what somebody typed is never taken for a text, a placeholder or HTML', () => {
  const hostile = '{{time}} $t(Save) <a> %s $& \u0000 <script>'
  assert.equal(t('since {{time}}', { time: hostile }), `since ${hostile}`)
  assert.equal(t('since {{time}} by {{author}}', { time: '{{author}}', author: 'Ana' }), 'since {{author}} by Ana')
  const html = createHtmlText((text) => escapeHtml(String(text)))
  const tag = createTag((text) => escapeHtml(String(text)))
  assert.equal(html('by <a>{{author}}</a>', { author: hostile }, { a: tag('a', { href: '"><script>' }) }),
    `by <a href="&quot;&gt;&lt;script&gt;">${escapeHtml(hostile)}</a>`)
  assert.equal(sayError('There is no page named “%s”.'), 'There is no page named “%s”.')
})

test('HTML in another language is rendered again, and that of a newer wiki is left alone', () => {
  const [english, slovene] = [0, 1].map(versionIn)
  assert.ok(Number.isInteger(english))
  assert.equal(isOlder(english, english), false)
  assert.equal(isOlder(slovene, slovene), false)
  assert.equal(isOlder(english, slovene), true)
  assert.equal(isOlder(slovene, english), true)
  assert.equal(isOlder(slovene - 1, english), true)
  assert.equal(isOlder(slovene + 1, english), false)
  assert.equal(isOlder('of a time before numbers', english), true)
})
