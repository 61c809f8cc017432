import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
function render (markdown) {
  const { html } = toHtml({ markdown, maxBytes: 10_000_000 })
  assertHarmless(html)
  return html
}
/** @param {string} text */
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
const asText = (/** @type {string} */ markdown) => assert.equal(render(markdown), `<p>${escaped(markdown)}</p>\n`)

test('tags of the list, without attributes, are elements', () => {
  for (const tag of ['b', 'del', 'i', 'ins', 'kbd', 'mark', 'small', 'sub', 'sup', 'u']) {
    assert.equal(render(`x<${tag}>*y*</${tag}>`), `<p>x<${tag}><em>y</em></${tag}></p>\n`)
    assert.equal(render(`<${tag.toUpperCase()}>y</${tag}>`), `<p><${tag}>y</${tag}></p>\n`)
  }
  assert.equal(render('a<br>b<br/>c<br />d'), '<p>a<br />\nb<br />\nc<br />\nd</p>\n')
  assert.match(render('|a|\n|-|\n|b<br><kbd>c</kbd>|'), /<td>b<br \/>\n<kbd>c<\/kbd><\/td>/)
  assert.equal(render('[a <kbd>b</kbd>](/c)'), '<p><a href="/c">a <kbd>b</kbd></a></p>\n')
  assert.match(render('## H<sub>2</sub>O'), /<h2 id="h2o">H<sub>2<\/sub>O<\/h2>.*“H2O”/)
})

test('any other tag, and any other spelling, stays text', () => {
  for (const text of [
    '<script>x</script>', '<kbd class="x">y', '<kbd onclick=alert(1)>', '<kbd/>', '<kbd >y', '< kbd>y', '<kbd\u0001>y',
    '<kbd\u00A0>', '<ｋbd>y', '<\u212Abd>', '<ſub>x', '</br>', '<br x>', '<abbr>x', '<span>x', '<a>x', '<sub<sub>>'
  ]) asText(text)
  assert.equal(
    render('`<kbd>`\n\n    <kbd>'),
    '<p><code>&lt;kbd&gt;</code></p>\n<pre><code>&lt;kbd&gt;\n</code></pre>\n'
  )
  assert.equal(render('\\<kbd>x &lt;kbd>'), '<p>&lt;kbd&gt;x &lt;kbd&gt;</p>\n')
})

test('a tag without a partner at its level of nesting is text', () => {
  for (const text of ['<kbd>x', 'x</kbd>', '<kbd>x</sub>', '</kbd>x<kbd>']) asText(text)
  assert.equal(render('<sub>a<sup>b</sub>c</sup>'), '<p><sub>a&lt;sup&gt;b</sub>c&lt;/sup&gt;</p>\n')
  assert.equal(render('*a <kbd>b* c</kbd>'), '<p><em>a &lt;kbd&gt;b</em> c&lt;/kbd&gt;</p>\n')
  assert.equal(render('<kbd>a\n\nb</kbd>'), '<p>&lt;kbd&gt;a</p>\n<p>b&lt;/kbd&gt;</p>\n')
  assert.equal(render('[<kbd>a](/b)</kbd>'), '<p><a href="/b">&lt;kbd&gt;a</a>&lt;/kbd&gt;</p>\n')
  assert.equal(
    render('<b><b>x</b></b>'.repeat(2)),
    `<p>${'<b><b>x</b></b>'.repeat(2)}</p>\n`
  )
  assert.match(render('<b>'.repeat(1_000) + '</b>'.repeat(1_000)), /^<p>(<b>){40}(&lt;b&gt;){960}(<\/b>){40}/)
})

test('<details> folds the Markdown up to its end', () => {
  const expected = '<details>\n<summary>More *than* this</summary>\n<ul>\n<li>a</li>\n</ul>\n</details>\n<p>b</p>\n'
    .replace('*than*', '<em>than</em>')
  assert.equal(render('<details>\n<summary>More *than* this</summary>\n\n- a\n\n</details>\n\nb'), expected)
  assert.equal(render('<details><summary>More *than* this</summary>\n- a\n</details>\nb'), expected)
  assert.equal(
    render('text\n<details><summary>a</summary>*b*</details>'),
    '<p>text</p>\n<details>\n<summary>a</summary>\n<p><em>b</em></p>\n</details>\n'
  )
  assert.match(
    render('<details>\n<summary>\n\n## A\n\n</summary>\n\n<details>\n\n| a |\n|---|\n| b |\n\n</details>\n</details>'),
    /^<details>\n<summary>\n<div class="heading"><h2[^]*<\/summary>\n<details>\n<table>[^]*<\/details>\n<\/details>\n$/
  )
  assert.equal(
    render('- <details>\n  <summary>a</summary>\n\n  b\n\n  </details>\n- c').replaceAll('\n', ''),
    '<ul><li><details><summary>a</summary><p>b</p></details></li><li><p>c</p></li></ul>'
  )
  const withFence = '<details>\n\n```\n</details>\n```\n\n</details>'
  assert.match(render(withFence), /^<details>\n<pre>[^]*<\/pre>\n<\/details>\n$/)
})

test('<details> and <summary> without a partner at their level are text', () => {
  assert.equal(render('<details>\n\na'), '<p>&lt;details&gt;</p>\n<p>a</p>\n')
  assert.equal(render('a\n</details>'), '<p>a</p>\n<p>&lt;/details&gt;</p>\n')
  assert.equal(
    render('> <details>\n\n</details>'),
    '<blockquote>\n<p>&lt;details&gt;</p>\n</blockquote>\n<p>&lt;/details&gt;</p>\n'
  )
  assert.equal(render('<summary>a'), '<p>&lt;summary&gt;</p>\n<p>a</p>\n')
  assert.doesNotMatch(render('a <details>b</details>'), /<details>/, 'only at the start of a line')
  assert.doesNotMatch(render('<details open>\na\n</details>'), /<details/, 'not with attributes')
  assert.doesNotMatch(render('    <details>\n    </details>'), /<details/, 'not in code')
  assert.match(render('[^1]\n\n[^1]: <details>\n    a\n\n    </details>'), /<li id="fn:1">\n<details>\n<p>a<\/p>/)
})

test('a comment is not shown; without an end it is text', () => {
  assert.equal(render('a<!-- *b* <kbd> -->c'), '<p>ac</p>\n')
  assert.equal(render('a<!-->b<!--->c'), '<p>abc</p>\n')
  assert.equal(render('<!-- a\n\n# b\n\n```\n--> c\n\n# d'), render('c\n\n# d'))
  assert.equal(render('a\n<!-- b -->\nd'), '<p>a</p>\n<p>d</p>\n')
  assert.equal(render('- a\n  <!-- b\n\n  c -->\n- d').replaceAll('\n', ''), '<ul><li>a</li><li>d</li></ul>')
  asText('a <!-- b')
  assert.equal(render('<!-- a\n\nb'), '<p>&lt;!-- a</p>\n<p>b</p>\n')
  assert.equal(render('> <!-- a\n\nb -->'), '<blockquote>\n<p>&lt;!-- a</p>\n</blockquote>\n<p>b --&gt;</p>\n')
  assert.equal(render('`<!-- a -->`'), '<p><code>&lt;!-- a --&gt;</code></p>\n')
  assert.equal(render('<!-- <script>alert(1)</script> -->\n<!-- a --!><b onclick=x>-->'), '')
})

test('tags and comments in any order, in any place, become harmless HTML', () => {
  const pieces = [
    '<kbd>', '</kbd>', '<sub>', '</sub>', '<br>', '<BR/>', '<details>', '</details>', '<summary>', '</summary>',
    '<details><summary>', '</summary></details>', '<!--', '-->', '<!-->', '<mark x>', '<script>', '</script>', '</p>',
    '</article>', '</div>', '\n', '\n\n', '> ', '- ', '    ', '# ', '|', '|-|\n', '[', '](/x)', '[[', ']]', '[^1]',
    '[^1]: ', '*', '**', '`', '```\n', '~~', '<', '>', '"', '&lt;', '\0', 'www.a.b', 'https://a.b/', 'a@b.c', '[!NOTE]',
    '> [!TIP]\n', '- [ ] ', 'x', ' '
  ]
  fc.assert(fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (parts) => {
    render(parts.join(''))
  }), { numRuns: 3_000 })
})
