import assert from 'node:assert/strict'
import test from 'node:test'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'
import { pandocFor } from './pandoc.js'

const PICTURE = `/files/${'a'.repeat(32)}.png`

/** @param {string} markdown */
function shown (markdown) {
  const { html, links } = toHtml({ markdown, maxBytes: 10_000_000 })
  assertHarmless(html)
  return { html, links }
}

/** @param {string} html */
const textOf = (html) => html.replace(/<[^>]+>/g, '')
  .replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&').trim()

test('links lead to the pages of the wiki, under their names, and labels stay', async (t) => {
  const { one } = pandocFor(t)
  const text = `[[bees and_honey]] [[Bee/Wings#Flight path|how it ''flies'']] [[bee]]s [[:help:red bee|x]] [[Über uns]]
[[#Top|up]] [[/Sub]] [[../Other|o]] [[Talk:Bees]] [[wikipedia:Bee]] [[de:Biene|b]] [[A&amp;B]] [[Foo%20bar]]
[[Special:Version|v]] [[élan]]`
  const { content } = await one(text, { page: 'Bees/Red' })
  assert.equal(content, '[[Bees and honey|bees and_honey]] [how it *flies*](/wiki/Bee/Wings#flight-path) ' +
    '[[Bee|bees]] [[Help:Red bee|x]] [[Über uns]] [[#Top|up]] [[Bees/Red/Sub|/Sub]] [[Bees/Other|o]] [[Talk:Bees]] ' +
    '[wikipedia:Bee](https://en.wikipedia.org/wiki/Bee) [b](https://de.wikipedia.org/wiki/Biene) [[A&B]] ' +
    '[[Foo bar|Foo%20bar]] v (Special:Version) [[Élan|élan]]\n')
  assert.deepEqual(shown(content).links, ['Bees and honey', 'Bee/Wings', 'Bee', 'Help:Red bee', 'Über uns',
    'Bees/Red/Sub', 'Bees/Other', 'Talk:Bees', 'A&B', 'Foo bar', 'Élan'])
})

test('a wiki has its own namespaces, and may give pages other names', async (t) => {
  const { one } = pandocFor(t)
  const about = {
    namespaces: { 6: ['Datei'], 12: ['Hilfe'], 14: ['Kategorie'], 100: ['De'] },
    pageName: (/** @type {string} */ title) => title.startsWith('Hilfe:') ? title.replace(':', '/') : undefined,
    pictureUrl: (/** @type {string} */ name) => name === 'Rote Biene.png' ? PICTURE : undefined
  }
  const { content, tags } = await one('[[help:bienen]] [[datei:rote_Biene.png|rechts]] [[de:x]]\n' +
    '[[kategorie:Tiere|b]]', about)
  assert.equal(content, `[[Hilfe/Bienen|help:bienen]] ![](${PICTURE}) [[De:X|de:x]]\n`)
  assert.deepEqual(tags, ['Tiere'])
  assert.equal((await one('[[bee]]', { caseSensitive: true })).content, '[[bee]]\n')
})

test('pictures show what their options and captions say; a missing one stays as its name', async (t) => {
  const { one } = pandocFor(t, { pictureUrl: (name) => name.startsWith('Bee') ? PICTURE : undefined })
  const thumb = 'Text [[File:bee.png|thumb|upright=1.2|200x100px|alt=An insect|' +
    'A \'\'red\'\' bee, see [[Wing|its {{w}}]]]] goes on.'
  assert.equal((await one(thumb)).content,
    `![An insect](${PICTURE})\n\nA *red* bee, see [its \`{{w}}\`](/wiki/Wing)\n\nText goes on.\n`)
  assert.equal((await one('A [[Image:Bee 2.png|20px|bee]] flies, [[File:Gone.png|thumb|gone]].')).content,
    `A ![bee](${PICTURE}) flies, \`[[File:Gone.png]]\` gone.\n`)
  const gallery = await one("<gallery mode='packed'>\nFile:Bee1.png|The ''first'' one\nBee2.png\n</gallery>")
  assert.equal(gallery.content, `![The first one](${PICTURE})\n\n![](${PICTURE})\n`)
  assert.equal((shown(gallery.content).html.match(/<img /g) ?? []).length, 2)
})

test('templates and parser functions stay as they are, as code; those that show nothing go', async (t) => {
  const { one } = pandocFor(t)
  const box = '{{Infobox\n| name = [[Bee]]\n| x = {{{1|{{lc:A}}}}}\n}}'
  const { content, tags } = await one(`__NOTOC__\n${box}\nA {{lang|de|''Biene''}} {{#if: a | [[b]] }}.\n` +
    '<!-- {{no}} -->\n' +
    '* {{item}}\n[[Category:Insects|bee]]\n[[category: Honey_bees ]]\n{{reflist|2}}\n<references />')
  assert.equal(content, `\`\`\`wikitext\n${box}\n\`\`\`\n\nA \`{{lang|de|''Biene''}}\` \`{{#if: a | [[b]] }}\`.\n\n` +
    '- ```wikitext\n  {{item}}\n  ```\n'.replace('```wikitext\n  {{item}}\n  ```', '`{{item}}`'))
  assert.deepEqual(tags, ['Insects', 'Honey bees'])
  assert.deepEqual(shown(content).links, [])
})

test('notes: one text for those with a name, wherever it is defined', async (t) => {
  const { one } = pandocFor(t)
  const { content } = await one('A<ref name="a" /> b<ref>Own [[x]] {{cite|http://a.b}}</ref> ' +
    'c<ref name=a/> d<ref name="gone"/>\n' +
    '<references><ref name="a">Named\n\ntwo</ref></references>')
  assert.equal(content, 'A[^1] b[^2] c[^1] d`<ref name="gone" />`\n\n[^1]: Named\n\n    two\n\n' +
    '[^2]: Own [[X|x]] `{{cite|http://a.b}}`\n')
  assert.match(shown(content).html, /fnref:1:2.*<section class="footnotes"/s)
})

test('tables keep each cell: spans, lists, code and formulas within a row, the caption above', async (t) => {
  const { one } = pandocFor(t)
  const { content, problem } = await one(`{| class="wikitable"
|+ Bees ''of'' {{here}}
! rowspan=2 | Name !! colspan=2 | Size
|-
! a !! b
|-
| rowspan="2" | [[Red bee|red]] || x<br>y || <code>p|q</code>
|-
|
* one
* two
| <math>a|b</math>
{|
| inner || cell
|}
|}`)
  assert.equal(problem, undefined)
  const { html, links } = shown(content)
  const cells = [...html.matchAll(/<t[hd](?: [^>]*)?>(.*?)<\/t[hd]>/gs)]
    .map(([, cell]) => cell.replace(/<math>.*<\/math>/, 'M'))
  assert.deepEqual(cells, ['Name', 'Size', '', '', 'a', 'b', '<a href="/wiki/Red%20bee">red</a>', 'x<br />\ny',
    '<code>p|q</code>', '', '• one<br />\n• two', 'M<br />\ninner · cell'])
  assert.match(html, /^<p><strong>Bees <em>of<\/em> <code>\{\{here\}\}<\/code><\/strong><\/p>\n<table>/)
  assert.deepEqual(links, ['Red bee'])
})

test('a table that pandoc cannot read stays as it is, and the rest is converted', async (t) => {
  const { one } = pandocFor(t)
  const table = '{| class="x"\n|-\n{{row|a}}\n|-\n| [[b]]\n|}'
  const { content, problem } = await one(`''Before''\n\n${table}\n\n[[After]]\n<pre>open\n{|\n| c`)
  const before = '*Before*\n\n```wikitext\n{| class="x"\n|-\n{{row|a}}\n|-\n| [[b]]\n|}\n```\n\n[[After]] \\<pre\\>open'
  assert.equal(content.slice(0, before.length), before)
  assert.match(shown(content).html, /<td>c<\/td>/)
  assert.equal(problem, undefined)
})

test('formulas are formulas of the wiki, money is not', async (t) => {
  const { one } = pandocFor(t)
  const { content } = await one(`The <math>k</math>th, <math>a = b \\text{ if } c</math>, f<math>(x] [y)</math>,
<math>an open set</math>.

:<math>
\\sum_i

x</math>

It costs $5 to $6.`)
  const { html } = shown(content)
  assert.equal((html.match(/<math>/g) ?? []).length, 4)
  assert.equal((html.match(/<math display="block">/g) ?? []).length, 1)
  assert.match(html, /It costs \$5 to \$6\./)
})

test('lists of terms, indented answers, lines of code, HTML of authors', async (t) => {
  const { one } = pandocFor(t)
  const { content } = await one(`; Bee : an ''insect''
; Honey

: answer
:: another

 let a = 1
 let ''b''
<syntaxhighlight lang="js">let c = '[[d]]'</syntaxhighlight>
<div class="x">'''Note:'''kept <span style="color:red">red</span> H<sub>2</sub>O <u>u</u> <big>b</big><br/>next</div>
# one
## <s>two</s>
<blockquote>q</blockquote>
<poem>
a
b
</poem>`)
  assert.equal(content, `- **Bee**: an *insect*

**Honey**

> answer
>
> > another

\`\`\`
let a = 1
let b
\`\`\`

\`\`\`js
let c = '[[d]]'
\`\`\`

<b>Note:</b>kept red H<sub>2</sub>O <u>u</u> b\\
next

1.  one
    1.  <del>two</del>

> q

a\\
b
`)
  assert.match(shown(content).html, /<b>Note:<\/b>kept red H<sub>2<\/sub>O <u>u<\/u>/)
})

test('text that is not markup there is no markup here', async (t) => {
  const { one } = pandocFor(t)
  for (const text of [
    '[[Bee]] [x](y) ![a](b) [^1] # * _a_ **b** `c` ~~d~~ <b>e</b> &amp; &copy; &#64; $f^2$ \\ | {{g}}',
    '# a', '- b', '+ c', '1. d', '1) e', '> f', '> [!NOTE]', '    g', '```', '~~~', '---', '===',
    '- [ ] h', '[a]: /b', '[^a]: b', '$$', '$$x$$',
    '<!-- i -->', '<details>', '<script>alert(1)</script>', '| a | b |', '\u{F0000}\u{F0001}', '\u{10FFFD}', 'a  b'
  ]) {
    const written = text.replace(/&/g, '&amp;')
    const { content } = await one(`<nowiki>${written}</nowiki>`)
    assert.equal(textOf(shown(content).html), text.trim().replace(/ +/g, ' '), content)
  }
})

test('what begins a line within a paragraph begins nothing else', async (t) => {
  const { one } = pandocFor(t)
  const lines = ['a', '- b', '# b', '1. b', '2) b', '> b', '+ c', '---', '===', '| x |',
    '``` y', '~~~', '* t', '[^1]: n', '$$', '[x]: /y']
  const { content } = await one(lines.map((line) => `<nowiki>${line}</nowiki>`).join('<br>'))
  const { html } = shown(content)
  assert.deepEqual(textOf(html).split('\n'), lines)
  assert.equal((html.match(/<p>/g) ?? []).length, 1)
})

test('code within lists and indented code keep their lines', async (t) => {
  const { one } = pandocFor(t)
  const { content } = await one(`* a <syntaxhighlight lang="bash">
ls -l
cd
</syntaxhighlight> after
* b
:<pre>
x &lt;b&gt;

[[y]]
</pre>
:* c
text {{t|
u}} more`)
  assert.equal(content, `- a
  \`\`\`bash
  ls -l
  cd
  \`\`\`

  after
- b

\`\`\`
x <b>

[[y]]
\`\`\`

- c

text

\`\`\`wikitext
{{t|
u}}
\`\`\`

more
`)
  assert.match(shown(content).html, /<li>\s*<p>a<\/p>\s*<pre>/)
})

test('an old redirect is a link', async (t) => {
  const { one } = pandocFor(t)
  assert.equal((await one('#WEITERLEITUNG [[bees#Red]]')).content, '→ [[Bees#Red|bees#Red]]\n')
})

test('hostile texts become harmless pages', async (t) => {
  const { one } = pandocFor(t)
  for (const text of [
    '[javascript:alert(1) x] [[x|](javascript:alert(1))]] [[javascript:alert(1)]] [data:text/html,x y]',
    '<img src=x onerror=alert(1)> <svg/onload=alert(1)> <a href="javascript:alert(1)">x</a> <style>*{}</style>',
    '<math>a$ <script>alert(1)</script></math> <math>`</math> <code>``</code> <pre>\n```\n<script>\n</pre>',
    '<syntaxhighlight lang="x\n```\n<script>">y</syntaxhighlight>',
    '<ref name="\n\n<script>">x</ref><ref name=a><ref name=a/></ref><ref name=a/>',
    `${'{{'.repeat(2_000)}${'}}'.repeat(2_000)} ${'[[File:a|'.repeat(2_000)}${']]'.repeat(2_000)}`,
    `${'*'.repeat(500)} a\n${':'.repeat(500)} b`, '<div>'.repeat(5_000), '<gallery>\n<script>|<script>\n\n</gallery>'
  ]) shown((await one(text)).content)
})
