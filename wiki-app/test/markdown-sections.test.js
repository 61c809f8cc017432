import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import toHtml from '../src/markdown/html.js'
import { createSlugs, slugOf } from '../src/markdown/slug.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
const render = (markdown) => toHtml({ markdown, maxBytes: 10_000_000 }).html
/** @param {string} html */
const idsOf = (html) => [...html.matchAll(/<h([2-6]) id="([^"]*)"/g)].map(([, depth, id]) => `${depth} ${id}`)

test('headings are below the page’s name by their outline, and each has an id and a link to itself', () => {
  assert.equal(
    render('# Big *deal*'),
    '<div class="heading"><h2 id="big-deal">Big <em>deal</em></h2>' +
      '<a class="anchor" href="#big-deal" aria-label="Link to “Big deal”">#</a></div>\n'
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
