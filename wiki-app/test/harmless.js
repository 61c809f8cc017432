import assert from 'node:assert/strict'

const ID = '[^\\s"<>&]+'
const EM = '[+-]?[\\d.]+(?:em|px|pt|width)?'
const MATH_CLASS = 'math-(?:bold|italic|monospace|sans)|box|(?:up|down)diagonalstrike|horizontalstrike|left|right|' +
  'top|bottom|tagged|line-(?:after|below)'
/** Attributes that change the look of a formula, and nothing else. */
const MATH = [
  'display="block"', 'encoding="application/x-tex"', 'mathvariant="normal"', '(?:display|script)(?:style|level)="\\w+"',
  '(?:fence|separator|stretchy|largeop|accent|accentunder)="(?:true|false)"', 'math(?:color|background)="[#\\w]+"',
  `(?:width|height|depth|lspace|rspace|minsize|maxsize|mathsize|linethickness)="${EM}"`,
  `class="(?:${MATH_CLASS})(?: (?:${MATH_CLASS}))*"`
].join('|')
const MATH_TAGS = 'math|semantics|annotation|mrow|mi|mn|mo|mtext|mspace|mstyle|mpadded|mphantom|mfrac|msqrt|mroot|' +
  'msub|msup|msubsup|munder|mover|munderover|mtable|mtr|mtd'
const NUMBERS = '[-+.\\d ,]*'
/** Attributes of a diagram: numbers, words, and the page's colours. */
const DIAGRAM = [
  `(?:viewbox|width|height|[xyr]|[cr][xy]|[xy][12]|d[xy]|points|stroke-width|stroke-dasharray|font-size)="${NUMBERS}"`,
  '(?:fill|stroke)="(?:none|var\\(--(?:ink|soft|line|edge|tint|paper)\\))"', 'd="[-+.\\d ,A-Za-z]*"',
  '(?:text-anchor|text-decoration|font-weight|font-style)="[-\\w ]+"', 'font-family="var\\(--mono\\)"',
  'transform="(?:(?:translate|rotate|scale)\\([-+.\\d ,]*\\) ?)+"'
].join('|')
const DIAGRAM_TAGS = 'g|rect|line|polyline|polygon|path|circle|ellipse|text|tspan'
const SVG = `svg viewbox="${NUMBERS}" width="${NUMBERS}" height="${NUMBERS}" role="img" aria-label="[^"<]*" ` +
  'font-family="system-ui,sans-serif"'
const TAG = new RegExp(`^<(?:${[
  '/?(?:p|blockquote|pre|code|em|strong|s|b|del|i|ins|kbd|mark|small|sub|sup|u|ul|ol|li|label|details|summary|table|thead|tbody|tr|th|td)|' +
    '/(?:h[2-6]|a|span|div|nav|section|button)|[bh]r /',
  `h[2-6] id="(?<id>${ID})"|li id="(?<noteId>fn:\\d+)"|ol start="\\d+"|li class="task"|input type="checkbox" ` +
    'disabled(?: checked)?(?: data-task="[1-9]\\d*")? /',
  'div class="heading(?: text-title)?"|div class="callout callout-(?:note|tip|important|warning|caution)"|p class="callout-title"|nav class="contents" aria-label="Contents"|details open|' +
    'section class="footnotes" aria-label="Notes"',
  `(?:${MATH_TAGS})(?: (?:${MATH}))*|/(?:${MATH_TAGS})|(?:div|span) class="math"`,
  `div class="diagram"|${SVG}|/svg|(?:${DIAGRAM_TAGS})(?: (?:${DIAGRAM}))*|/(?:${DIAGRAM_TAGS})`,
  'button form="_edit" name="section" value="[1-9]\\d*" aria-label="Edit section “[^"]*”"',
  'code class="language-[^"]*"|span class="(?:hljs|language)-[^"]*"|t[hd] class="(?:left|center|right)"',
  'img src="/files/[0-9a-f]{32}\\.(?:png|jpg|webp|gif)"(?: title="[^"]*")? alt="[^"]*" ' +
    'loading="lazy" decoding="async" /',
  'a(?: class="anchor")?(?: id="(?<referenceId>fnref:\\d+(?::\\d+)?)")?' +
    '(?: href="(?<href>[^"]*)"(?<rel> rel="nofollow ugc")?)?(?: title="[^"]*")?(?: aria-label="[^"]*")?'
].join('|')})>$`)
const VOID = new Set(['br', 'hr', 'img', 'input'])

/**
 * Asserts that rendered HTML is harmless. Everything that a browser takes for a tag is an allowed tag with allowed
 * attributes, is closed where it was opened, and links to a safe address. No id occurs twice, no link contains
 * another, and each reference into the page finds its id.
 * @param {string} html
 */
export function assertHarmless (html) {
  const ids = new Set()
  const fragments = []
  /** @type {string[]} */
  const open = []
  for (const tag of html.match(/<[^>]*>?/g) ?? []) {
    const match = TAG.exec(tag)
    assert.ok(match, `unexpected tag ${tag}`)
    const [, slash, name] = /** @type {RegExpExecArray} */ (/^<(\/?)(\w+)/.exec(tag))
    if (slash) assert.equal(open.pop(), name, `${tag} in ${html.slice(0, 1_000)}`)
    else if (!VOID.has(name)) {
      assert.ok(name !== 'a' || !open.includes('a'), `nested links in ${html.slice(0, 1_000)}`)
      open.push(name)
    }

    const { id, noteId, referenceId, href, rel } = match.groups ?? {}
    for (const each of [id, noteId, referenceId]) {
      if (each === undefined) continue
      assert.ok(!ids.has(each), `the id ${each} occurs twice`)
      ids.add(each)
    }
    if (href === undefined) continue
    assert.ok(!href.startsWith('//'), href)
    assert.equal(rel !== undefined, /^https?:/i.test(href), 'a link to another site is no recommendation')
    if (tag.includes('aria-label')) fragments.push(href.slice(1))
    // As a browser resolves it.
    const [address, base] = [href.replaceAll('&amp;', '&'), 'https://wiki.example/wiki/page']
    if (URL.canParse(address, base)) assert.match(new URL(address, base).protocol, /^(?:https?|mailto):$/, href)
  }
  assert.deepEqual(open, [])
  for (const fragment of fragments) assert.ok(ids.has(fragment), `no element has the id ${fragment}`)
}
