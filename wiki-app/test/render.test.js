import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'

/** CPU time, so that other load on the machine does not count. */
const WORK_MAX_S = 10

const MIB = 1_048_576
const SIZE = MIB / 16
/** @param {string} markdown */
const render = (markdown) => toHtml({ markdown, maxBytes: 4 * MIB }).html

test('CommonMark, tables and strikethrough become HTML; alignment is a class, not a style attribute', () => {
  assert.equal(
    render('*a* **b** ~~d~~ `c`\n\n3. x\n'),
    '<p><em>a</em> <strong>b</strong> <s>d</s> <code>c</code></p>\n<ol start="3">\n<li>x</li>\n</ol>\n'
  )
  assert.match(render('|a|b|\n|-|-:|\n|1|2|\n'), /<th>a<\/th>\n<th class="right">b<\/th>[^]*<td class="right">2<\/td>/)
})

test('code in a known language is highlighted with classes; other code is shown as it is', () => {
  assert.equal(
    render('```js\nlet a = 1 < 2\n```\n'),
    '<pre><code class="language-js"><span class="hljs-keyword">let</span> a = ' +
      '<span class="hljs-number">1</span> &lt; <span class="hljs-number">2</span>\n</code></pre>\n'
  )
  assert.equal(
    render('```nosuch\nlet a = 1 < 2\n```\n'),
    '<pre><code class="language-nosuch">let a = 1 &lt; 2\n</code></pre>\n'
  )
  assert.doesNotMatch(
    render(`\`\`\`js\n${'let a\n'.repeat(9_000)}\`\`\`\n`),
    /<span/,
    'code that is too long is not highlighted'
  )
})

test('a task list item becomes a disabled checkbox with its text as the label and its line as the number', () => {
  assert.equal(render('- [ ] *to* do\n- [x] done\n- [y] text\n'),
    '<ul>\n<li class="task"><label><input type="checkbox" disabled data-task="1" /> <em>to</em> do</label></li>\n' +
    '<li class="task"><label><input type="checkbox" disabled checked data-task="2" /> done</label></li>\n' +
    '<li>[y] text</li>\n</ul>\n')
  assert.doesNotMatch(render('- \\[ ] a\n- &#91; ] b\n- <!-- c -->[ ] d\n'), /<input/)
})

test('only images uploaded to the wiki are shown; others become links', () => {
  const upload = `/files/${'0a'.repeat(16)}.png`
  assert.equal(
    render(`![An *icon*](${upload} "t")`),
    `<p><img src="${upload}" title="t" alt="An icon" loading="lazy" decoding="async" /></p>\n`
  )
  assert.equal(
    render('![A dot](https://example.org/dot.png "t")'),
    '<p><a href="https://example.org/dot.png" rel="nofollow ugc" title="t">A dot</a></p>\n'
  )
  assert.equal(render('![](/wiki/stevec)'), '<p><a href="/wiki/stevec">/wiki/stevec</a></p>\n')
  assert.equal(
    render(`[![a](${upload}) ![b](//x.example/) ![c](https://x.example/)](https://y.example)`).match(/<a /g)?.length,
    1,
    'no link within a link'
  )
  for (const other of [
    `${upload}?x`,
    `${upload}/../../wiki/stevec`,
    `https://example.org${upload}`,
    upload.replace('png', 'svg'),
    upload.toUpperCase()
  ]) assert.doesNotMatch(render(`![x](${other})`), /<img/, other)
})

/* eslint-disable no-template-curly-in-string -- some of these texts look like an expression to a template engine */
for (const hostile of [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  '<style>@import "//evil"</style><base href="//evil/"><form action="//evil">' +
    '<meta http-equiv=refresh content="0;url=//evil">',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\nscript:alert(1))',
  '[x](java&Tab;script:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](&#x6A&#x61&#x76&#x61script:alert(1))',
  '[x](\u0001javascript:alert(1))',
  '[x](<javascript:alert(1)>)',
  '<javascript:alert(1)>',
  '[x](vbscript:msgbox(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](data:image/svg+xml;base64,PHN2Zy8+)',
  '[x](file:///etc/passwd)',
  '[x](//evil.example/)',
  '![x](https://evil.example/pixel.png)',
  '![x](/wiki/stevec)',
  '![x](javascript:alert(1))',
  '[x]: javascript:alert(1)\n\n[x]',
  '[x](https://a "\\" onmouseover=alert(1) x=\\"")',
  '[x](https://a/"onmouseover="alert(1))',
  '```"><script>alert(1)</script>\ncode\n```',
  '```js onload=alert(1) style=x\ncode\n```',
  '`<script>alert(1)</script>`',
  '{{constructor.constructor("alert(1)")()}} <%= process.env %> #{alert(1)}',
  '|a|\n|:-: onclick=alert(1)|\n|<script>alert(1)</script>|',
  '<!--><script>alert(1)</script>-->',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '\u0000<script>alert(1)</script>',
  '[[javascript:alert(1)]]',
  '[[a|<script>alert(1)</script>]] [[a"onclick=alert(1)|x]] [[<b>]] [[a#"><script>]] [[#"onclick=alert(1)]]',
  '[[a|[[b]]]] [[[[a]]]] [x [[a]] y](/z) [[a|[x](javascript:alert(1))]] [[a](b)]] [[[a]](javascript:alert(1))',
  '[[//evil.example/]] [[..]] [[.]] [[\\\\evil]] [[/]] [x](/\\evil.example) [x](\\\\evil.example)',
  '# <script>alert(1)</script> "onclick=alert(1)\n\n## ]]>\n\n### `<%= it %>` ${alert(1)} {{x}}\n',
  '# __proto__\n# constructor\n# __proto__\n# toString\n',
  '[^"onclick=alert(1)] [^<b>] [^__proto__]\n\n[^"onclick=alert(1)]: x\n[^<b>]: <script>\n[^__proto__]: y [^<b>]\n',
  '[a [^1] b](/c) ![a [^1] [[b]]](/d)\n\n[^1]: [^1] <script>\n',
  '[^1]\n\n[^1]: > # a\n    - [x] b\n\n        [^2]: c\n> [^1]: d\n',
  '```js\n`${alert(1)}` <%= process.env %> {{constructor}} </code></pre><script>alert(1)</script>\n```',
  '```html\n<script>alert(1)</script><style>@import "//evil"</style>\n```',
  '```__proto__\nx\n```\n```constructor\nx\n```\n```js"onclick=alert(1)\nx\n```',
  '![x](/files/0123456789abcdef0123456789abcdef.png"onerror=alert(1))',
  '![x](/files/0123456789abcdef0123456789abcdef.png "\\"onerror=alert(1) x=\\"")',
  '![x"onerror=alert(1)<b>](/files/0123456789abcdef0123456789abcdef.png)',
  '![x](//evil.example/x.png) ![x](data:image/png;base64,AAAA) ![x](/files/../wiki/stevec)',
  '[x](ftp://example.org) [x](://evil) [x](ht%74p://x) [x](%6aavascript:alert(1)) ' +
    '[x](/wiki/%) [x](/wiki/%ff) [x](http://[)',
  '- [x] <input onfocus=alert(1) autofocus>\n- [ ] [[a|"><script>]]\n',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<kbd><script>alert(1)</script></kbd> <sub><sup></sub></sup> <mark onclick=alert(1)>x</mark> <br onload=alert(1)>',
  '<details ontoggle=alert(1) open>\n<summary>x</summary>\n<img src=x onerror=alert(1)>\n</details>',
  '<details>\n<summary><svg/onload=alert(1)></summary>\n\n</summary></details></article>\n\n</details>',
  '[<kbd>x](javascript:alert(1))</kbd> [<kbd>](/a)<kbd>](/b) <u>[[a|</u>]] ![<kbd>](/x)</kbd>',
  '|<kbd>|</kbd>|\n|-|-|\n|<details>|</details>|\n\n# <mark>\n</mark>\n\n[^1]\n\n[^1]: <sub>\n\n</sub>\n',
  '<!-- --!><script>alert(1)</script> -->\n<!--><script>alert(1)</script><!--->\n<!-- <kbd> -->\n<kb<!-- -->d>',
  '<scr<!-- -->ipt>alert(1)</script> <<!-- -->script> &lt;<kbd>script</kbd>&gt;',
  '> [!NOTE]<script>\n> x\n\n> [!note]\n> <script>alert(1)</script>\n\n> [!"onclick=alert(1)]\n> x',
  'https://a/"onmouseover="alert(1) www.a.b/<script> "onclick="alert(1)"@a.b https://a/\u0000<kbd>x</kbd>'
]) {
  test(`harmless: ${JSON.stringify(hostile)}`, () => assertHarmless(render(hostile)))
}
/* eslint-enable no-template-curly-in-string */

// The worst known texts take about 10 µs a byte, in linear time. Quadratic time would exceed the limit.
for (const [name, hostile] of Object.entries({
  brackets: '['.repeat(SIZE),
  'unclosed links': '[a]('.repeat(SIZE / 4),
  emphasis: '*a_'.repeat(SIZE / 3),
  'mixed emphasis': `a**b${'c* '.repeat(SIZE / 3 - 2)}`,
  'backticks of all lengths': Array.from({ length: 700 }, (_, i) => '`'.repeat(i + 1)).join(' '),
  'nested quotes': '>'.repeat(SIZE),
  'nested lists': Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}- a\n`).join(''),
  'a wide table with short rows': `${'|'.repeat(1000)}\n${'|-'.repeat(1000)}|\n${'|a\n'.repeat(75_000)}`,
  'lazy continuation': `${'>'.repeat(20)}a\n${'a\n'.repeat(SIZE / 2 - 20)}`,
  'reference definitions': Array.from({ length: 15_000 }, (_, i) => `[a${i}]: /x\n`).join(''),
  'link references': `[a]: /x\n${'[a]'.repeat(SIZE / 3 - 4)}`,
  'unclosed tags': '<a '.repeat(SIZE / 3),
  'unclosed code': '`a'.repeat(SIZE / 2),
  escapes: '\\'.repeat(SIZE),
  'wiki links': '[[a'.repeat(SIZE / 3),
  'invalid wiki links': '[[.]]'.repeat(SIZE / 5),
  'wiki links with labels': '[[#a|'.repeat(SIZE / 5),
  'unclosed footnote references': `[^a]: x\n\n${'[^'.repeat(SIZE / 2)}`,
  'many footnotes': Array.from({ length: SIZE / 20 }, (_, i) => `[^${i}]: [^${i + 1}]\n`).join(''),
  'a long footnote': `[^a]\n\n[^a]: x\n\n${'    a\n\n'.repeat(SIZE / 7)}`,
  'footnotes in quotes in lists in footnotes': '[^a]: - > [^b]: x\n'.repeat(SIZE / 18),
  tasks: '- [ ] a\n'.repeat(SIZE / 8),
  'equal headings': '# a\n'.repeat(SIZE / 4),
  'numbered headings': Array.from({ length: SIZE / 8 }, (_, i) => `# a\n# a-${i}\n`).join(''),
  'nested images': `${'!['.repeat(SIZE / 8)}a${'](x)'.repeat(SIZE / 8)}`,
  'strikethrough marks': '~~a ~~~ b '.repeat(SIZE / 10),
  'code fences': '```js\n'.repeat(SIZE / 6),
  'code without punctuation': `\`\`\`java\n${'a\n'.repeat(20_000)}`,
  'code on one line': `\`\`\`js\n${'a'.repeat(45_000)}`,
  'code of punctuation only': `\`\`\`js\n${'/*"`(\n'.repeat(8_000)}`,
  'unclosed inline tags': '<kbd>'.repeat(SIZE / 5),
  'inline tags without a start': `${'<sub>'.repeat(SIZE / 12)}${'</sup>'.repeat(SIZE / 12)}`,
  'crossed inline tags': '<sub>*<sup></sub>*</sup>'.repeat(SIZE / 24),
  'unclosed details': '<details>\n'.repeat(SIZE / 10),
  'details on one line': '<details><summary>'.repeat(SIZE / 18),
  'details in lists': '- <details>\n'.repeat(SIZE / 12),
  'unclosed comments': '<!-- '.repeat(SIZE / 5),
  'unclosed comments on lines of an item': `- a\n${'  <!--\n'.repeat(SIZE / 7)}\nb -->`,
  'comments that end in another quote': '> <!--\n\n'.repeat(SIZE / 8),
  comments: '<!---->'.repeat(SIZE / 7),
  callouts: '> [!NOTE]\n'.repeat(SIZE / 10),
  'nested callouts': Array.from({ length: 350 }, (_, i) => `${'>'.repeat(i)} [!NOTE]\n`).join(''),
  'bare URLs': 'https://a '.repeat(SIZE / 10),
  'a long bare URL': `https://a.b/${'https://a.b/'.repeat(SIZE / 12)}`,
  'unfinished URLs': 'https://'.repeat(SIZE / 8),
  'URLs without a host': 'https://_'.repeat(SIZE / 9),
  'a long host': `https://${'a.'.repeat(SIZE / 2)}_`,
  'a URL with trailing punctuation': `https://a/${')'.repeat(SIZE / 4)}${'&a;'.repeat(SIZE / 6)}${'(;'.repeat(SIZE / 8)}`,
  'www without a host': 'www.'.repeat(SIZE / 4),
  'addresses of many words': `${'a.'.repeat(SIZE / 2)}@`,
  'www in refused hosts': '_www.'.repeat(SIZE),
  'at signs': 'a@'.repeat(SIZE / 2),
  'mail addresses': 'a@b.c '.repeat(SIZE / 6)
})) {
  test(`ends in bounded time: ${name}`, () => {
    const before = process.cpuUsage()
    assertHarmless(render(hostile))
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1e6 < WORK_MAX_S)
  })
}

const PIECES = [
  '[[', ']]', '[', ']', '(', ')', '[^a]', '[^a]: ', '|', '#', '# ', '- [ ] ', '- [x] ', '> ', '1. ', '\n', '\n\n',
  '    ', '`', '```js\n', '```\n', '*', '**', '~~', '_', '!', '![', '](', '<', '>', '"', '\'', '&', '\\', '/wiki/a',
  '/files/0123456789abcdef0123456789abcdef.png', 'javascript:', '//', '|-|\n', 'a', 'é', ' ', '\t', '\0', '<script>',
  'http://a', '[a]: ', '---\n', '<kbd>', '</kbd>', '<br>', '<details>\n', '</details>', '<summary>', '</summary>', '<!--',
  '-->', '> [!TIP]\n', 'www.', '@b.c'
]
const markdownText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme', maxLength: 3 })), { maxLength: 60 })
    .map((pieces) => pieces.join(''))
)

test('any text becomes harmless HTML, and the same HTML when rendered again', () => {
  fc.assert(fc.property(markdownText, (markdown) => {
    const html = render(markdown)
    assertHarmless(html)
    assert.equal(render(markdown), html)
  }), { numRuns: 3_000 })
})
