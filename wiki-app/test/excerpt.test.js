import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { excerpt } from '../src/search/excerpt.js'
import { plainText } from '../src/search/plain-text.js'

/** @param {{text: string, hit: boolean}[]} pieces  hits in ‹…› */
const marked = (pieces) => pieces.map(({ text, hit }) => hit ? `‹${text}›` : text).join('')

test('an excerpt has the text of Markdown and HTML without their marks', () => {
  for (const [markdown, text] of [
    ['# Bees #\n\nThey *make* **honey**, __often__ ~~never~~.', 'Bees They make honey, often never.'],
    ['[text](/a "t") and ![a picture](/p.png), [[Bee|bees]] in [[Hive]], [ref][1]\n\n[1]: http://a.example',
      'text and a picture, bees in Hive, ref'],
    ['[![alt](/i.png)](/wiki/(a))', 'alt'],
    ['<https://a.example/x> and https://b.example/y_z_', 'https://a.example/x and https://b.example/y_z'],
    ['| a | b |\n|:--|--:|\n| 1 | 2 |', 'a b 1 2'],
    ['> [!NOTE]\n> Mind it.\n> > deeper', 'Mind it. deeper'],
    ['- [ ] one\n- [x] two\n* three\n12. four', 'one two three four'],
    ['```js\nlet a_b = `1`\n```\n\n---\n\nTitle\n=====', 'let a_b = 1 Title'],
    ['Press <kbd>Ctrl</kbd>,<br>or<!-- not\nthis --> so.', 'Press Ctrl, or so.'],
    ['A note[^1].\n\n[^1]: At the foot.', 'A note. At the foot.'],
    ['snake_case, 2*3*4, 2 * 3, a \\*star\\*, AT&amp;T &lt;b&gt;', 'snake_case, 2*3*4, 2 * 3, a *star*, AT&T <b>'],
    ['Of $a_i * b_i$, $x^{*}_{1}$ and *em*.', 'Of $a_i * b_i$, $x^{*}_{1}$ and em.'],
    ['$$\n\\sum_{i}[a](b) \\{<c>\\}\n$$\n\n*x*', '$$ \\sum_{i}[a](b) \\{<c>\\} $$ x'],
    ['# A\n\n```math\n*a* _b_ | c\n```\n\n*x*', 'A *a* _b_ | c x'],
    ['It costs $5, *not* $6 or \\$7 *and* 8$.', 'It costs $5, not $6 or $7 and 8$.'],
    ['…half](http://a.example/long', '…half']
  ]) assert.equal(plainText(markdown), text)
})

test('an excerpt marks hits with and without accents, and shows where text is left out', () => {
  assert.equal(marked(excerpt('one **two** three', 'TWO')), 'one ‹two› three')
  assert.equal(marked(excerpt('Med delajo čebele, Čebele!', 'cebele')), 'Med delajo ‹čebele›, ‹Čebele›!')
  const long = `${'before '.repeat(100)}needle ${'after '.repeat(300)}`
  assert.match(marked(excerpt(long, 'needle')), /^… (before ){8}‹needle› (after ){20,29}…$/)
  assert.equal(marked(excerpt('nothing of it', 'zebra')), 'nothing of it')
  assert.equal(marked(excerpt('', 'zebra')), '')
  for (const [content, q, hits] of [
    ['配置nginx的缓**存**。缓\n存', '缓存 nginx', '配置‹nginx›的‹缓存›。‹缓 存›'],
    ['用nginx 缓存, nginxx缓存', 'nginx缓存', '用‹nginx 缓存›, nginxx缓存'],
    ['缓存，缓', '缓 缓存', '‹缓存›，‹缓›'],
    ['第１章 １１章', '第1章 11', '‹第１章› ‹１１›章'],
    ['กี่ ก กา', 'ก', 'กี่ ‹ก› ‹ก›า'],
    ['हिन्दी हिन्द', 'हिन्दी', '‹हिन्दी› हिन्द']
  ]) assert.equal(marked(excerpt(content, q)), hits)
})

test('a hit that no reader sees, in an address, gives way to one that is seen', () => {
  const far = `[see](http://honey.example)\n\n${'x '.repeat(900)}\n\nReal honey.`
  assert.match(marked(excerpt(far, 'honey')), /^… (x ){25,30}Real ‹honey›\.$/)
  assert.equal(marked(excerpt('[see](http://honey.example) only', 'honey')), 'see only')
})

const HOSTILE = ['[', '![', '](', '<', '<!--', '*', '_', '`', '|', '\\', '[^', '[[', '> ', '#', ' ', '\t', '\n- ',
  'a\u0301\u0301', '😀', '<a ', '((', '$', '$$', '```math\n', '$a$']

test('an excerpt is short and on one line for every text and query, and hostile texts take no longer', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3_000 }),
    fc.array(fc.constantFrom('word', '\n', ...HOSTILE), { maxLength: 800 }).map((parts) => parts.join(''))
  )
  fc.assert(fc.property(texts, fc.string({ unit: 'grapheme', maxLength: 20 }), (content, q) => {
    const text = excerpt(content, q).map((piece) => piece.text).join('')
    assert.ok(text.length <= 260 && !/[\n\t]/.test(text), text)
    assert.ok(!/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/.test(text) || /\p{Cs}/u.test(content))
  }))
  for (const q of ['\u094D'.repeat(99), 'กี'.repeat(100), '㌖'.repeat(200), 'a\u0316'.repeat(99)]) {
    assert.ok(excerpt(`${'क\u094D\u094D\u0E35'.repeat(8_000)} x`, q).length > 0)
  }
  for (const part of HOSTILE) {
    const content = `${part.repeat(Math.ceil(600 / part.length))} needle ${part.repeat(Math.ceil(32_768 / part.length))}`
    assert.match(marked(excerpt(content, 'needle')), /‹needle›|^(?!.*needle)/)
  }
})
