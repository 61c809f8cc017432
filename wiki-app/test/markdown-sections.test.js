import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import toHtml, { sectionsOf } from '../src/markdown/html.js'
import { createSlugs, slugOf } from '../src/markdown/slug.js'
import { sectionWork } from '../src/writing/section-work.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
const render = (markdown) => toHtml({ markdown, maxBytes: 10_000_000 }).html
/** @param {string} html */
const idsOf = (html) => [...html.matchAll(/<h([2-6]) id="([^"]*)"/g)].map(([, depth, id]) => `${depth} ${id}`)

test('headings are below the page’s name by their outline, and each has an id and a link to itself', () => {
  assert.equal(
    render('# Big *deal*'),
    '<div class="heading"><h2 id="big-deal">Big <em>deal</em></h2>' +
      '<a class="anchor" href="#big-deal" aria-label="Link to “Big deal”">#</a>' +
      '<button form="_edit" name="section" value="1" aria-label="Edit section “Big deal”">Edit</button></div>\n'
  )
  assert.deepEqual(
    idsOf(render('# Č š!\n\n# Č š\n##### č-š-2\n###### Č Š\n# `a`[^1] ![b](/c)\n#\n# 日本\n\n[^1]: x')),
    ['2 č-š', '2 č-š-2', '3 č-š-2-2', '4 č-š-3', '2 a-b', '2 section', '2 日本']
  )
})

test('a page with three or more headings has a table of contents', () => {
  assert.doesNotMatch(render('# a\n# b\n> # c\n'), /<nav/)
  assert.match(render('text\n# a\n### b & <c>\n# d'), new RegExp(`^${[
    '<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary>', '<ol>',
    '<li><a href="#a">a</a><ol>', '<li><a href="#b-c">b &amp; &lt;c&gt;</a></li>', '</ol>', '</li>',
    '<li><a href="#d">d</a></li>', '</ol>', '</details></nav>', '<p>text</p>'
  ].join('\n')}`))
  assert.match(render(`x\n${'# a\n'.repeat(12)}`), /<details open>/)
  assert.match(render(`x\n${'# a\n'.repeat(13)}`), /<details><summary>/, 'a long one is folded')
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 3, maxLength: 20 }), (depths) => {
    const html = render(`text\n${depths.map((depth, index) => `${'#'.repeat(depth)} h${index}`).join('\n')}`)
    assertHarmless(html)
    assert.deepEqual(
      [...html.matchAll(/<li><a href="#([^"]*)"/g)].map(([, id]) => id),
      depths.map((_, index) => `h${index}`)
    )
  }))
})

test('slugs have only safe characters, do not change when slugged again, and are unique', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => {
    assert.match(slugOf(text), /^[\p{L}\p{N}\p{M}-]{1,80}$/u)
    assert.equal(slugOf(slugOf(text)), slugOf(text))
  }))
  fc.assert(fc.property(
    fc.array(fc.constantFrom('a', 'a-2', 'a-2-2', 'a-3', '__proto__'), { maxLength: 30 }),
    (slugs) => {
      const unique = createSlugs()
      assert.equal(new Set(slugs.map(unique)).size, slugs.length)
    }
  ))
})

test('footnotes are numbered by first reference, come last and link back to each reference', () => {
  assert.equal(render('a[^y] b[^x] c[^y] [^z]\n\n[^x]: X [^y]\n[^y]: Y\n\n    *more*\n[^w]: W\n'), [
    '<p>a<sup><a id="fnref:1" href="#fn:1" aria-label="Note 1">[1]</a></sup> ' +
      'b<sup><a id="fnref:2" href="#fn:2" aria-label="Note 2">[2]</a></sup> ' +
      'c<sup><a id="fnref:1:2" href="#fn:1" aria-label="Note 1">[1]</a></sup> [^z]</p>',
    '<section class="footnotes" aria-label="Notes">', '<ol>',
    '<li id="fn:1">', '<p>Y</p>',
    '<p><em>more</em> <a href="#fnref:1" aria-label="Back to reference 1 to note 1">↩</a> ' +
      '<a href="#fnref:1:2" aria-label="Back to reference 2 to note 1">↩</a> ' +
      '<a href="#fnref:1:3" aria-label="Back to reference 3 to note 1">↩</a></p>',
    '</li>',
    '<li id="fn:2">',
    '<p>X <sup><a id="fnref:1:3" href="#fn:1" aria-label="Note 1">[1]</a></sup> ' +
      '<a href="#fnref:2" aria-label="Back to reference 1 to note 2">↩</a></p>',
    '</li>',
    '</ol>', '</section>', ''
  ].join('\n'))
  assert.equal(render('a\n\n[^x]: X'), '<p>a</p>\n', 'a footnote without a reference is not shown')
  assert.match(render('a[^x]\n\n[^x]: 1\n[^x]: 2'), /<p>1 <a/, 'of two footnotes with the same label the first is used')
  assert.match(render('a[^x]\n\n[^x]: ```\n    code\n    ```'), /<pre><code>code\n<\/code><\/pre>\n <a href="#fnref:1"/)
})

/** Every place where a heading may stand, or seem to. */
const HEADINGS = `---
title: no heading
---

lead

# One #

text

## A

\`\`\`
# in code
\`\`\`

    # in indented code

> # in a quote

- # in a list

<!--
# in a comment
-->

[^1]: # in a note

<details>

### in details

</details>

Of two
lines
-----

## A

last[^1]
`

test('sections are those of headings that are in nothing else, up to the next of their level or above', () => {
  const sections = sectionsOf(HEADINGS)
  assert.deepEqual(sections.map(({ path }) => JSON.parse(path).join(' / ')),
    ['title: no heading', 'One', 'One / A', 'One / A / in details', 'One / Of two lines', 'One / A'])
  const textOf = (/** @type {number} */ index) => HEADINGS.slice(sections[index].start, sections[index].end)
  assert.match(textOf(1), /^# One #\n[^]*last\[\^1\]\n$/)
  assert.match(textOf(2), /^## A\n\n```[^]*<\/details>\n\n$/)
  assert.equal(textOf(4), 'Of two\nlines\n-----\n\n')
  assert.equal(textOf(5), '## A\n\nlast[^1]\n')
  const buttons = [...render(HEADINGS).matchAll(
    /<h\d id="([^"]*)"(?:(?!<\/div>)[^])*value="(\d+)" aria-label="Edit section “([^”]*)”/g)]
  assert.deepEqual(buttons.map(([, id, number, title]) => [id, Number(number), title]),
    sections.map(({ id, title }, index) => [id, index + 1, title]), 'the page has their numbers')
})

const LINES = [
  '# a', '## a', '## b', '### a', 'text', '', '===', '---', '```', '> # a', '- # a', '<details>', '</details>',
  '<!--', '-->',
  '    # a', '[^1]: # a', 'a[^1]', '\0', '#', '| a |', '|---|', '$$'
]
const texts = fc.array(fc.tuple(fc.constantFrom(...LINES), fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 25 })
  .map((lines) => lines.flat().join(''))

test('whatever the text, a section that is saved as it was shown changes nothing but its last blank lines', () => {
  fc.assert(fc.property(texts, (base) => {
    const sections = sectionsOf(base)
    const numbers = [...render(base).matchAll(/name="section" value="(\d+)"/g)].map(([, number]) => Number(number))
    assert.deepEqual(numbers.sort((a, b) => a - b), sections.map((_, index) => index + 1))
    for (const [index, { start, id, title }] of sections.entries()) {
      const number = index + 1
      const found = sectionWork({ base, section: number, shown: base })
      assert.ok(found !== null && 'text' in found)
      assert.deepEqual([found.number, found.title], [number, title])
      assert.ok(base.startsWith(found.text, start))
      const spliced = sectionWork({ base, section: number, text: found.text })
      assert.ok(spliced !== null && 'content' in spliced)
      assert.equal(spliced.id, id)
      assert.equal(spliced.content.replace(/\s/g, ''), base.replace(/\s/g, ''))
      assert.deepEqual(sectionsOf(spliced.content).map(({ path }) => path), sections.map(({ path }) => path))
    }
    assert.equal(sectionWork({ base, section: sections.length + 1, text: 'x' }), null)
  }), { numRuns: 2_000 })
})

test('a section without its last lines does not become a part of the next heading', () => {
  const spliced = (/** @type {string} */ base, /** @type {number} */ section, /** @type {string} */ text) => {
    const result = sectionWork({ base, section, text })
    return result !== null && 'content' in result ? result.content : null
  }
  assert.equal(spliced('# a\n\nx\n\n# b\n', 1, '# a\n\nmore'), '# a\n\nmore\n\n# b\n')
  assert.equal(spliced('# a\n```\n```\nB\n===\n', 1, '# a\nmore'), '# a\nmore\n\nB\n===\n')
  assert.equal(spliced('# a\nx\n# b\n', 1, '# a\ny\n\n\n'), '# a\ny\n# b\n')
  assert.equal(spliced('x\n# a\n# b\ny\n', 1, ' \n'), 'x\n# b\ny\n', 'an empty one is removed')
  assert.equal(spliced('# a', 1, '# b'), '# b')
})

test('a section is found again in a newer text by the headings above it, or is gone', () => {
  const found = (/** @type {string} */ base, /** @type {number} */ section, /** @type {string} */ shown) => {
    const result = sectionWork({ base, section, shown })
    return result && 'number' in result ? `${result.number} ${result.text}` : null
  }
  const base = '# a\n## x\n1\n# b\n## x\n2\n'
  assert.equal(found(base, 4, `# new\n${base}`), '5 ## x\n2')
  assert.equal(found(base, 4, base.replace('2', 'two')), '4 ## x\ntwo')
  assert.equal(found(base, 4, '# a\n## x\n1\n# c\n## x\n2\n'), null)
  assert.equal(found(base, 9, base), null)
  const twice = '# a\n1\n# a\n2\n'
  assert.equal(found(twice, 2, '# b\n# a\n1\n# a\n2\n'), '3 # a\n2')
  assert.equal(found(twice, 2, '# a\none\n# a\ntwo\n'), '2 # a\ntwo')
  assert.equal(found(twice, 2, '# a\n0\n# a\n1\n# a\n2\n'), '3 # a\n2', 'the one with the same text')
  assert.equal(found(twice, 2, '# a\n0\n# a\none\n# a\ntwo\n'), null, 'none of three is known to be it')
})
