import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { canonicalName, viewUrl } from '../src/pages/name.js'
import toHtml from '../src/markdown/html.js'
import { withMissing } from '../src/markdown/missing.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
const render = (markdown) => toHtml({ markdown, maxBytes: 10_000_000 })

test('[[…]] links to a page, to a section of a page or to a section of the same page', () => {
  const { html, links } = render('[[Home  page]] [[Home page|the *start*]] [[ Č&D#Big  Deal!]] [[#Here|below]]')
  assert.equal(
    html,
    '<p><a href="/wiki/Home%20page">Home  page</a> <a href="/wiki/Home%20page">the *start*</a> ' +
      '<a href="/wiki/%C4%8C&amp;D#big-deal">Č&amp;D#Big  Deal!</a> <a href="#here">below</a></p>\n'
  )
  assert.deepEqual(links, ['Home page', 'Č&D'])
  assert.match(
    render('|a|b|\n|-|-|\n|[[c\\|d]]|e|\n').html,
    /<td><a href="\/wiki\/c">d<\/a><\/td>\n<td>e<\/td>/,
    'in a table the bar of the link must be escaped'
  )
})

test('double brackets without a valid page name stay text', () => {
  for (const text of [
    '[[]]', '[[ ]]', '[[..]]', '[[a\u202Eb]]', '[[stevec]]', '[[|a]]', '[[a', '[[a]', `[[${'a'.repeat(201)}]]`,
    '[[a|]]', '[[a#]]'
  ]) {
    const { html, links } = render(text)
    assert.doesNotMatch(html, /<a /, text)
    assert.deepEqual(links, [], text)
  }
})

test('a relative Markdown link becomes absolute, and a link to a page is recorded', () => {
  for (const [href, expected, name] of /** @type {[string, string, string?][]} */ ([
    ['Other%20page#x', '/wiki/Other%20page#x', 'Other page'],
    ['<Other page>', '/wiki/Other%20page', 'Other page'],
    ['./Other', '/wiki/Other', 'Other'],
    ['/wiki/Other%20%20page?x=1', '/wiki/Other%20page?x=1', 'Other page'],
    ['Č', '/wiki/%C4%8C', 'Č'],
    ['../changes', '/changes'],
    ['/', '/'],
    ['#x', '#x'],
    ['/wiki/stevec', '/wiki/stevec'],
    ['https://example.org/wiki/Other', 'https://example.org/wiki/Other'],
    ['mailto:me@example.org', 'mailto:me@example.org']
  ])) {
    const { html, links } = render(`[a](${href})`)
    const rel = expected.startsWith('https:') ? ' rel="nofollow ugc"' : ''
    assert.equal(html, `<p><a href="${expected}"${rel}>a</a></p>\n`)
    assert.deepEqual(links, name === undefined ? [] : [name])
  }
  assert.match(
    render('[a](https://example.org/?a=1&b=2 "t")').html,
    /<a href="https:\/\/example\.org\/\?a=1&amp;b=2" rel="nofollow ugc" title="t">a<\/a>/
  )
})

test('a page records at most 500 links, each once', () => {
  const { links } = render(Array.from({ length: 1_200 }, (_, i) => `[[p${i >> 1}]]`).join(' '))
  assert.equal(links.length, 500)
  assert.equal(new Set(links).size, 500)
})

test('a link to a missing page leads to its editor, with a class and a title, until the page is there', () => {
  const { html } = render(
    '[[a]] [[a#x|y]] [[b]] [z](a "so") [[it\'s]] [n](/edit/new/a) <a href="/wiki/a"> `<a href="/wiki/a">` ' +
      '[q](/x "<a href=\\"/wiki/a\\"")'
  )
  const missing = String(withMissing(html, new Set(['a', 'it\'s'])))
  assert.equal(missing.match(/class="missing"/g)?.length, 4)
  assert.match(
    missing,
    /<a href="\/edit\/new\/a#x" class="missing" rel="nofollow" title="not written yet">y<\/a> <a href="\/wiki\/b">b<\/a> <a href="\/edit\/new\/a" class="missing" rel="nofollow" title="so – not written yet">z<\/a>/
  )
  assert.match(missing, /<a href="\/edit\/new\/a">n<\/a>/, 'an author’s own link to an editor stays as it is')
  assert.equal(String(withMissing(missing, new Set())), html, 'the mark can be taken back')
  assert.equal(String(withMissing(missing, new Set(['a', 'it\'s']))), missing)

  const ofEarlierVersion = missing.replaceAll('/edit/new/', '/wiki/').replaceAll(' rel="nofollow"', '')
    .replace('<a href="/wiki/a">n</a>', '<a href="/edit/new/a">n</a>')
  assert.equal(String(withMissing(ofEarlierVersion, new Set())), html)
  assert.equal(String(withMissing(ofEarlierVersion, new Set(['a', 'it\'s']))), missing)
  assert.equal(String(withMissing(html, new Set())), html)
})

test('every page name without characters of the link syntax can be linked and marked as missing', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
    .filter((text) => !/[[\]|#\n]/.test(text) && isName(text))
  fc.assert(fc.property(name, (text) => {
    const { html, links } = render(`x [[${text}]]`)
    assertHarmless(html)
    if (canonicalName(text) === 'stevec') return
    assert.deepEqual(links, [canonicalName(text)])
    assert.ok(html.includes(`href="${viewUrl(links[0]).replaceAll('&', '&amp;')}"`), html)
    assert.match(String(withMissing(html, new Set(links))), /class="missing"/)
  }), { examples: [['$&'], ["'"], ['`'], ['*'], ['javascript:alert(1)'], ['<b>']] })
})

/** @param {string} text */
function isName (text) {
  try {
    return Boolean(canonicalName(text))
  } catch {
    return false
  }
}
