import assert from 'node:assert/strict'
import test from 'node:test'
import toHtml from '../src/markdown/html.js'
import { withoutTitle } from '../src/markdown/title.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} markdown @param {string} name */
const shown = (markdown, name) =>
  String(withoutTitle(Buffer.from(toHtml({ markdown, maxBytes: 10_000_000 }).html), name))
/** @param {string} html */
const levels = (html) => [...html.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))

test('a first heading that repeats the name of the page is not shown', () => {
  for (const [name, title] of [
    ['Guide', '# Guide'], ['Guide', '#  guide #'], ['Install guide', '# Install_guide'],
    ['Install_Guide', 'install guide\n==='], ['Guide/Install', '# Install'], ['Guide/Install', '# Guide/Install'],
    ['Č & <b>', '# č &amp; \\<b>'],
    ['Café', '# Cafe\u0301'], ['Guide', '<!-- made by hand -->\n\n# Guide']
  ]) assert.equal(shown(`${title}\n\ntext`, name), '<p>text</p>\n', `${title} in ${name}`)
  for (const [name, title] of [
    ['Guide', '# Guides'], ['Guide', '## Guide'], ['Guide', 'text\n\n# Guide'], ['Guide', '> # Guide'],
    ['Guide/Install', '# Guide'], ['Guide', '# **Guide**'], ['Guide', '# [[Guide]]'], ['Guide', '- # Guide'],
    ['Guide', '# Guide[^1]\n\n[^1]: x'], ['Guide', '#']
  ]) assert.match(shown(`${title}\n\ntext`, name), /<h2|\[\^/, `${title} in ${name}`)
  const spaced = (/** @type {number} */ spaces) => shown(`# A${' '.repeat(spaces)}guide`, 'A guide')
  assert.equal(spaced(100), '')
  assert.match(spaced(5_000), /<h2/, 'each view compares: a line longer than any name stays')
  assert.equal(shown('', 'Guide'), '')
  assert.equal(shown('# Guide', 'Guide'), '')
})

test('no level of heading is left out, with the title shown or not', () => {
  for (const [markdown, expected] of /** @type {[string, number[]][]} */ ([
    ['# T\n## a\n### b\n## c', [2, 2, 3, 2]],
    ['# T\n#### a\n## b\n# c', [2, 2, 2, 2]],
    ['## a\n#### b\n##### c\n## d', [2, 3, 4, 2]],
    ['### a\n# b\n### c', [2, 2, 3]],
    ['text\n\n# a\n## b', [2, 3]],
    ['> ### a\n\n- #### b', [2, 3]],
    ['# `T`\n## a', [2, 3]]
  ])) {
    assert.deepEqual(levels(shown(markdown, 'other')), expected, markdown)
    for (const html of [shown(markdown, 'other'), shown(markdown, 'T')]) {
      const around = [1, ...levels(html)]
      assert.ok(around.every((level, index) => index === 0 || level <= around[index - 1] + 1), markdown)
    }
  }
})

test('the title of a text is not in its contents, which follow it', () => {
  const html = shown('# T\n## a\n## b\n## c', 'other')
  assert.match(html, /^<div class="heading text-title"><h2 id="t">T<\/h2>.*<\/div>\n<nav class="contents"/)
  assert.deepEqual([...html.matchAll(/<li><a href="#(.)"/g)].map(([, id]) => id), ['a', 'b', 'c'])
  assert.match(shown('# T\n## a\n## b\n## c', 'T'), /^<nav class="contents"/)
  assert.doesNotMatch(shown('# T\n## a\n## b', 'T'), /<nav/)
})

test('a page, its preview and its old revisions show its name once; a rename shows the text’s title again', async (t) => {
  const app = await wiki.build(t)
  const text = '# Guide\n\nfirst'
  const titles = (/** @type {string} */ html) => html.match(/<h2 id="guide">/g)?.length ?? 0
  await save(app, 'guide', text)
  assert.equal(titles((await get(app, '/wiki/guide', BROWSER)).body), 0)
  assert.equal((await get(app, '/raw/guide')).body, text, 'the text itself stays as written')
  const preview = await app.inject({
    method: 'POST', url: '/edit/preview/guide', headers: BROWSER, payload: { content: text }
  })
  assert.equal(titles(preview.body), 0)
  await save(app, 'guide', 'second')
  assert.equal(titles((await get(app, '/revision/guide/1', BROWSER)).body), 0)

  await save(app, 'guide', text)
  const renamed = await app.inject({ method: 'POST', url: '/edit/rename/guide', payload: { to: 'Manual' } })
  assert.equal(renamed.statusCode, 201)
  assert.equal(titles((await get(app, '/wiki/Manual', BROWSER)).body), 1)
})
