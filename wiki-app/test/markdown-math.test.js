import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import fc from 'fast-check'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'

const MIB = 1_048_576
/** CPU time, so that other load on the machine does not count. */
const WORK_MAX_S = 10

/** @param {string} markdown */
function render (markdown) {
  const { html } = toHtml({ markdown, maxBytes: 4 * MIB })
  assertHarmless(html)
  return html
}
/** @param {string} text */
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
/** @param {string} mathMl @param {string} tex */
const formula = (mathMl, tex, display = '') => `<math${display}><semantics>${mathMl}` +
  `<annotation encoding="application/x-tex">${escaped(tex)}</annotation></semantics></math>`
/** @param {string} mathMl @param {string} tex */
const block = (mathMl, tex) => `<div class="math">${formula(mathMl, tex, ' display="block"')}</div>\n`
/** The TeX of all formulas in a text. @param {string} markdown */
const formulasIn = (markdown) => [...render(markdown).matchAll(/<annotation [^>]*>([^<]*)</g)].map(([, tex]) => tex)

const X = '<mrow><mi>x</mi></mrow>'

test('$…$ is a formula in a line, as MathML with its source', () => {
  assert.equal(render('a $x$ b'), `<p>a ${formula(X, 'x')} b</p>\n`)
  const half = formula('<mrow><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>', '\\frac{1}{2}')
  assert.equal(render('$\\frac{1}{2}$'), `<p>${half}</p>\n`)
  assert.deepEqual(formulasIn('$a$, H$_2$O ($b$) *$c*d$* [$e$](/f) and $g\nh$'), ['a', '_2', 'b', 'c*d', 'e', 'g\nh'])
  assert.deepEqual(formulasIn('|$a$|\n|-|\n|$b$|\n\n# $c$\n\n[^1]\n\n[^1]: $d$'), ['c', 'd', 'a', 'b'].sort())
  assert.deepEqual(formulasIn('$a \\$ b$'), ['a \\$ b'], 'a dollar within a formula has a backslash')
})

test('$$…$$ is a block on lines of its own, also in lists and quotes, and interrupts a paragraph', () => {
  for (const markdown of ['$$x$$', '$$ x $$', '$$\nx\n$$', '   $$x\n  $$  ', '```math\nx\n```', '~~~ math\nx\n~~~']) {
    assert.equal(render(markdown).replace('x\n<', 'x<'), block(X, 'x'), markdown)
  }
  assert.equal(render('a\n$$\nx\n$$\nb'), `<p>a</p>\n${block(X, 'x')}<p>b</p>\n`)
  assert.equal(render('> $$\n> x\n> $$'), `<blockquote>\n${block(X, 'x')}</blockquote>\n`)
  assert.equal(render('- $$\n  x\n  $$'), `<ul>\n<li>\n${block(X, 'x')}</li>\n</ul>\n`)
  assert.equal(render('a $$x$$ b'), `<p>a <span class="math">${formula(X, 'x', ' display="block"')}</span> b</p>\n`)
})

test('lines that look like the start of a block stay text', () => {
  for (const text of ['$$', '$$\n$$', '$$ $$', '$$$$', '$$\nx', '$$$x$$$']) {
    assert.equal(render(text), `<p>${text}</p>\n`, text)
  }
  assert.equal(render('$$\nx\n\ny\n$$'), '<p>$$\nx</p>\n<p>y\n$$</p>\n', 'no formula has an empty line')
  assert.equal(render('> $$\n> x\n\n$$'), '<blockquote>\n<p>$$\nx</p>\n</blockquote>\n<p>$$</p>\n')
  assert.match(render('    $$x$$'), /^<pre><code>\$\$x\$\$/)
})

test('a dollar is money: pages with prices stay as they are', () => {
  for (const text of [
    'It costs $5 and $6', 'It costs $5.', '$5, $6 or $7', '$5-$6', '$5/$6', '5$-10$', '5$, 6$', '5 $ and 6 $', '$ 5$',
    '$', '$$', '$5 million ($6 before)', 'between $1,000 and $2,000.', 'US$5 and US$6'
  ]) assert.equal(render(text), `<p>${text}</p>\n`)
  assert.equal(render('\\$5 and x\\$'), '<p>$5 and x$</p>\n')
  assert.equal(render('\\$x$ and $y\\$'), '<p>$x$ and $y$</p>\n')
  assert.equal(
    render('`$x$` and $5; set `PATH=$HOME`'),
    '<p><code>$x$</code> and $5; set <code>PATH=$HOME</code></p>\n'
  )
  assert.match(
    render('https://a.example/?a=$x&b=y$'),
    /^<p><a href="[^"]*" rel="nofollow ugc">https:[^<]*<\/a><\/p>\n$/
  )
  assert.match(render('[a](/b?c=$d$)'), /^<p><a href="\/b\?c=\$d\$">a<\/a><\/p>\n$/)
  assert.match(render('```sh\necho $HOME$\n```'), /\$HOME\$/)
  assert.deepEqual(formulasIn('It costs $5, then $x$'), ['x'])
})

test('dollars of programs, names and other marks are no formulas', () => {
  for (const text of [
    'set $HOME/bin:$PATH', 'key=$(cat x) val=$(cat y)', '$MY_VAR/x:$OTHER_VAR', '($foo,$bar)', 'a=$(b)/$(c)',
    '^foo$|^bar$',
    '10 PRINT A$;B$', 'kill $$; echo $$', 'A$AP and A$AP', 'Micro$oft and Window$', 'US$/l and US$/km', 'US$5, not A$',
    '$5-10k or A$', 'costs $5 (US$)', 'Price: $–$$', 'rated $-$$$', '($) or (US$)', 'It costs $5 now, in US$.'
  ]) assert.equal(render(text), `<p>${text}</p>\n`)
  for (const [text, shown] of [
    ['[A$AP](https://a.example/A$AP_Rocky)', /<a href="[^"]*A\$AP_Rocky"[^>]*>A\$AP<\/a>/],
    ['see $A [[Home]] B$', /see \$A <a href="\/wiki\/Home">Home<\/a> B\$/],
    ['[US$](/wiki/Dollar) and [$](/wiki/Canadian)', /Dollar">US\$<.*Canadian">\$</],
    ['$a_1 www.e.example/x/$b', /<a href="http:\/\/www\.e\.example\/x\/\$b"/],
    ['<kbd>$</kbd> and <kbd>$</kbd>', /^<p><kbd>\$<\/kbd> and <kbd>\$<\/kbd><\/p>/],
    ['Price $a_1 <!-- soon in US$ --> end', /^<p>Price \$a_1\s+end<\/p>/]
  ]) assert.match(render(String(text)), /** @type {RegExp} */ (shown))
  assert.deepEqual(formulasIn('$AB = CD$, $ab = cd$, $(a,b]$, 2$\\pi$, $\\alpha$s, $n$-th'), [
    'AB = CD', 'ab = cd', '(a,b]', '\\pi', '\\alpha', 'n'
  ])
})

test('what is no formula is shown as it was written, with the reason', () => {
  assert.equal(
    render('a $\\nosuch<b>$ c'),
    '<p>a <code>$\\nosuch&lt;b&gt;$</code> <small>(no formula: Undefined control sequence: \\nosuch)</small> c</p>\n'
  )
  assert.match(render('$$\n\\frac{1\n$$'), /^<pre><code>\$\$\\frac\{1\$\$<\/code><\/pre>\n<p><small>\(no formula: /)
  assert.match(
    render(`$${'x'.repeat(4_001)}$`),
    /<code>\$x{4001}\$<\/code> <small>\(no formula: a formula has at most 4000/
  )
  assert.match(render(`$${'x'.repeat(4_000)}$`), /<math>/)
  assert.match(render('$a_1 % off$'), /<code>\$a_1 % off\$<\/code>/, 'a comment hides nothing')
  assert.match(render('$\\phase{x}$'), /<code>.*no formula: browsers have no sign for “phasorangle”/)
})

test('a page has a limited number of formulas, and the rest is shown as it was written', () => {
  const html = render('a long text $x$ '.repeat(2_010))
  assert.equal(html.match(/<math>/g)?.length, 2_000)
  assert.equal(html.match(/<code>\$x\$<\/code> <small>\(no formula: a page has at most 2000/g)?.length, 10)
})

test('letters, columns and lines that MathML Core lacks are shown in other ways', () => {
  for (const [tex, shown] of [
    ['\\mathbb{R}', '<mi>ℝ</mi>'], ['\\mathbb{A}', '<mi>𝔸</mi>'], ['\\mathcal{L}', '<mi>ℒ</mi>'],
    ['\\mathfrak{g}', '<mi>𝔤</mi>'], ['\\mathbf{x}', '<mi>𝐱</mi>'], ['\\mathbf{1}', '<mn>𝟏</mn>'],
    ['\\boldsymbol{\\alpha}', '<mi>𝜶</mi>'], ['\\mathrm{d}', '<mi mathvariant="normal">d</mi>'],
    ['\\text{\\textbf{as}}', '<mtext class="math-bold">as</mtext>'],
    ['\\begin{matrix}a&b\\end{matrix}', '<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>'],
    ['\\begin{array}{r|l}a&b\\end{array}',
      '<mtable><mtr><mtd class="right line-after"><mi>a</mi></mtd><mtd class="left"><mi>b</mi></mtd></mtr></mtable>'],
    // Elements around others, which hold text alone in Core; widths and heights that would cut off what is inside.
    ['\\overset{!}{=}', '<mover><mrow><mo>=</mo></mrow>'],
    ['\\mathrel{\\frac ab}', '<mrow><mfrac><mi>a</mi><mi>b</mi></mfrac></mrow>'],
    ['\\xrightarrow{\\text{heat}}', '<mpadded lspace="0.3em"><mtext>heat</mtext></mpadded>'],
    ['\\smash{x}', '<mpadded><mi>x</mi></mpadded>'], ['\\mathllap{x}', '<mpadded><mi>x</mi></mpadded>'],
    ['\\rule{1em}{2em}', '<mspace mathbackground="currentcolor" width="1em" height="2em">'],
    ['\\begin{array}{|c|}a\\end{array}', '<mrow class="left right"><mtable>'],
    ['\\Huge\\Huge a', '<mstyle mathsize="2.488em"><mstyle mathsize="1em"><mi>a</mi>'],
    ['\\cancel{x}', '<mrow class="updiagonalstrike"><mi>x</mi></mrow>']
  ]) assert.ok(render(`$${tex}$`).includes(shown), `${tex}: ${render(`$${tex}$`)}`)
})

test('macros are those of one formula', () => {
  assert.match(render('$\\gdef\\a{x}\\a$'), /<mi>x<\/mi>/)
  for (const define of ['\\gdef\\a{x}', '\\global\\def\\a{x}', '\\xdef\\a{x}', '\\newcommand\\a{x}', '\\let\\a=x']) {
    render(`$${define}\\a$`)
    assert.match(render(`$${define}\\a$ $\\a$`), /Undefined control sequence: \\a/)
    assert.match(render('$\\a$'), /Undefined control sequence: \\a/)
  }
})

test('headings, contents and pictures name a formula by its source', () => {
  assert.match(
    render('# Of $e^x$'),
    /<h2 id="of-e-x">Of <math>.*aria-label="Link to “Of e\^x”"/
  )
  assert.match(render('# $a$\n# b\n# c'), /<a href="#a">a<\/a>/)
  assert.match(render(`![of $x$](/files/${'0a'.repeat(16)}.png)`), / alt="of x" /)
})

test('hostile formulas are harmless, and have no links, classes, styles or pictures of their own', () => {
  for (const tex of [
    '\\href{javascript:alert(1)}{x}', '\\url{javascript:alert(1)}', '\\href{https://evil.example/}{x}',
    '\\htmlClass{anchor}{x}', '\\htmlId{fn:1}{x}', '\\htmlStyle{color:red}{x}', '\\htmlData{a=b}{x}',
    '\\includegraphics[height=1em]{https://evil.example/x.png}', '\\text{<script>alert(1)</script>}',
    '</annotation></semantics></math><script>alert(1)</script>', '<img src=x onerror=alert(1)>',
    '\\text{</mtext><img src=x onerror=alert(1)>}', '\\color{red"onclick=alert(1)}x', '\\textcolor{#f00}{x}',
    '\\colorbox{red}{x}', '\\fcolorbox{red}{blue}{x}', '\\unicode{x3c}script', '\\char"3Cscript\\char"3E',
    '\\text{\\char60 img src=x onerror=alert(1)\\char62}', '\\rule{9999em}{9999em}', '\\raisebox{9999em}{x}',
    '\\kern9999em x', '\\hspace{-9999em}x', '\\verb|<script>|', '\\tag{<b>}x', '\\begin{CD}A@>"x>>B\\end{CD}',
    '\\mathchoice{<}{>}{&}{"}', '\\def\\a{<script>}\\a', '\\Huge\\boxed{\\cancel{\\sout{\\angl n}}}\\pmb{x}'
  ]) {
    // In a line, an address is no part of a formula.
    const html = render(`$$\n${tex}\n$$\n\n${tex.includes('://') ? '' : `$${tex}$`} | \`\`\`math`)
    assert.doesNotMatch(
      html,
      /<(?:script|img|a|mglyph)[ >]|="[^"]*javascript:| style=|voffset|="[^"]*(?<![\d.])\d{3,}[\d.]*em/,
      tex
    )
  }
})

// The longest takes 2 s. Without the limits most of them would not end.
for (const [name, hostile] of Object.entries({
  'a macro that calls itself': '\\def\\a{\\a\\a}\\a',
  'macros that double': `${'\\edef\\a{\\a\\a}'.repeat(100)}\\a`,
  'macros of macros': '\\def\\a#1{#1#1#1#1}\\def\\b#1{\\a{\\a{#1}}}\\def\\c#1{\\b{\\b{#1}}}\\c{\\c{\\c{x}}}',
  'a long macro, often': `\\def\\a{${'&'.repeat(1_000)}}\\begin{matrix}${'\\a'.repeat(90)}\\end{matrix}`,
  'a long argument, often': `\\newcommand\\a[1]{${'#1'.repeat(480)}}\\a{${'x'.repeat(1_000)}}`,
  'groups in groups': '{'.repeat(1_900) + '}'.repeat(1_900),
  'roots in roots': `${'\\sqrt{'.repeat(400)}x${'}'.repeat(400)}`,
  'texts in texts': `${'\\text{$'.repeat(300)}${'$}'.repeat(300)}`,
  'many cells': `\\begin{matrix}${'&'.repeat(3_900)}\\end{matrix}`,
  accents: `x${'\u0301'.repeat(3_900)}`
})) {
  test(`a formula is made or refused in bounded time: ${name}`, () => {
    const before = process.cpuUsage()
    const html = render(`before\n\n\`\`\`math\n${hostile}\n\`\`\`\n\nafter`)
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1e6 < WORK_MAX_S)
    assert.match(html, /^<p>before<\/p>\n[^]*<p>after<\/p>\n$|^$/)
  })
}

for (const [name, hostile] of Object.entries({
  'opening dollars': '$a '.repeat(MIB / 48),
  'dollars in a row': '$'.repeat(MIB / 16),
  'escaped dollars': `$a${'\\$'.repeat(MIB / 32)}`,
  'starts of blocks': '$$ a\n'.repeat(MIB / 80),
  'starts of blocks in quotes': '> $$ a\n\n'.repeat(MIB / 128),
  'dollars in brackets': '[$a'.repeat(MIB / 48),
  backslashes: `$${'\\'.repeat(MIB / 16)}$`,
  formulas: '$a$ '.repeat(MIB / 64),
  'formulas that fail': '$\\a$ '.repeat(MIB / 80)
})) {
  test(`ends in bounded time: ${name}`, () => {
    const before = process.cpuUsage()
    render(hostile)
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1e6 < WORK_MAX_S)
  })
}

test('formulas of any signs, in any place, become harmless HTML, and the same HTML when rendered again', () => {
  const pieces = [
    '$', '$$', '$$\n', '\n$$', '\\$', '```math\n', '```\n', '\\frac', '\\sqrt', '{', '}', '_', '^', '&', '\\\\', '%',
    '\\text{', '\\left(', '\\right)', '\\begin{matrix}', '\\end{matrix}', '\\begin{array}{|c|r|}', '\\end{array}',
    '\\hline', '\\boxed{', '\\mathbb{', '\\tag{', '\\color{red}', '\\href{javascript:a}{', '\\htmlClass{a}{',
    '\\def\\a{',
    '\\a', '#1', '\\operatorname{', '\\overbrace{', '\\xrightarrow{', '\\cancel{', '\\Huge', '\\kern-1em', 'a', '1',
    '<b>',
    '</math>', '<kbd>', '`', '*', '[', '](/x)', '[[', ']]', '|', '> ', '- ', '\n', '\n\n', ' ', 'č', '😀', '"', '[^1]'
  ]
  fc.assert(fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
    const inside = parts.filter((part) => !/[$`\n]/.test(part)).join('')
    for (const markdown of [parts.join(''), `$$${inside}$$`]) assert.equal(render(markdown), render(markdown))
  }), { numRuns: 2_000 })
})

test('a page without formulas does not load KaTeX', () => {
  const code = `import { createRequire } from 'node:module'
    const toHtml = (await import(${JSON.stringify(new URL('../src/markdown/html.js', import.meta.url).href)})).default
    const { cache } = createRequire(import.meta.url)
    const isLoaded = () => Object.keys(cache).some((file) => file.includes('katex'))
    const seen = [isLoaded()]
    for (const markdown of ['It costs $5 and $6', '$x$']) {
      toHtml({ markdown, maxBytes: 10_000 })
      seen.push(isLoaded())
    }
    process.stdout.write(JSON.stringify(seen))`
  const seen = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(seen), [false, false, true])
})
