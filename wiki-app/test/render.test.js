import assert from 'node:assert/strict'
import test from 'node:test'
import { renderPage } from '../src/pages/render.js'

const MIB = 1_048_576
const SIZE = MIB / 4
/** @param {string} markdown */
const render = (markdown) => renderPage(markdown, MIB).html.toString()

test('CommonMark and tables become HTML, alignment without style attributes', () => {
  assert.equal(render('# Hi\n\n*a* **b** `c`\n\n3. x\n\n```js\n1 < 2\n```\n'),
    '<h1>Hi</h1>\n<p><em>a</em> <strong>b</strong> <code>c</code></p>\n<ol start="3">\n<li>x</li>\n</ol>\n<pre><code class="language-js">1 &lt; 2\n</code></pre>\n')
  assert.match(render('|a|b|\n|-|-:|\n|1|2|\n'), /<th>a<\/th>\n<th class="right">b<\/th>[^]*<td class="right">2<\/td>/)
})

test('links go to web and mail addresses and to other pages', () => {
  assert.match(render('[a](https://example.org/?a=1&b=2 "t")'), /<a href="https:\/\/example\.org\/\?a=1&amp;b=2" title="t">a<\/a>/)
  assert.match(render('[a](Other%20page#x) <mailto:me@example.org>'), /<a href="Other%20page#x">a<\/a> <a href="mailto:me@example.org">/)
})

const TAG = /^<(?:\/?(?:h[1-6]|p|br|hr|blockquote|pre|code|em|strong|a|ul|ol|li|table|thead|tbody|tr|th|td)|br \/|hr \/|ol start="\d+"|code class="language-[^"]*"|t[hd] class="(?:left|center|right)"|a(?: href="(?<href>[^"]*)")?(?: title="[^"]*")?)>$/

/**
 * Everything that a browser would take for a tag is one of ours, with our attributes only, and leads to a safe place.
 * @param {string} html
 */
function assertHarmless (html) {
  for (const tag of html.match(/<[^>]*>?/g) ?? []) {
    const match = TAG.exec(tag)
    assert.ok(match, `unexpected tag ${tag}`)
    const { href } = match.groups ?? {}
    if (href === undefined) continue
    assert.ok(!href.startsWith('//'), href)
    // As a browser understands it.
    const { protocol } = new URL(href.replaceAll('&amp;', '&'), 'https://wiki.example/wiki/page')
    assert.ok(['http:', 'https:', 'mailto:'].includes(protocol), href)
  }
}

for (const hostile of [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  '<style>@import "//evil"</style><base href="//evil/"><form action="//evil"><meta http-equiv=refresh content="0;url=//evil">',
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
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>'
]) {
  test(`harmless: ${JSON.stringify(hostile)}`, () => assertHarmless(render(hostile)))
}

// The worst known take a few microseconds a byte, in proportion to the length; a quarter of the usual limit shows it quickly.
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
  escapes: '\\'.repeat(SIZE)
})) {
  test(`ends in bounded time: ${name}`, { timeout: 10_000 }, () => {
    try {
      assertHarmless(render(hostile))
    } catch (error) {
      assert.equal(/** @type {{statusCode?: number}} */ (error).statusCode, 413)
    }
  })
}

test('what is too large, as Markdown or as HTML, is refused', () => {
  assert.equal(renderPage('é'.repeat(500), 1000).contentBytes, 1000)
  assert.throws(() => renderPage('é'.repeat(501), 1000), { statusCode: 413, message: /1002 bytes of Markdown; at most 1000/ })
  assert.throws(() => renderPage(`${'>'.repeat(57)}a\n\n`.repeat(16), 1000), { statusCode: 413, message: /bytes of HTML; at most 4000/ })
  assert.throws(() => renderPage('&'.repeat(1000), 1000), { statusCode: 413, message: /bytes of HTML/ })
})
