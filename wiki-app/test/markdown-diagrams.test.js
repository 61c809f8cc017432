import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createDiagrams } from '../src/markdown/draw-diagrams.js'
import toHtml from '../src/markdown/html.js'
import { createRenderer } from '../src/markdown/renderer.js'
import { createPool, TooCostly } from '../src/threads/pool.js'
import { assertHarmless } from './harmless.js'

const fence = (/** @type {string} */ source) => `\`\`\`mermaid\n${source}\n\`\`\`\n`
const escaped = (/** @type {string} */ text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

/** @param {import('node:test').TestContext} t @param {Parameters<typeof createDiagrams>[0]} [options] */
function start (t, options) {
  const diagrams = createDiagrams(options)
  t.after(() => diagrams.close())
  /** @param {string} markdown */
  return async function render (markdown, maxBytes = 4_000_000) {
    const { html } = await diagrams.drawn(async (drawings) => toHtml({ markdown, maxBytes, drawings }))
    assertHarmless(html)
    return html
  }
}
const count = (/** @type {string} */ html, /** @type {string} */ part) => html.split(part).length - 1
const labelOf = (/** @type {string} */ html) => /role="img" aria-label="([^"]*)"/.exec(html)?.[1]
const textsIn = (/** @type {string} */ html) => [...html.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text]) => text)
const reasonIn = (/** @type {string} */ html) => /\(no diagram: ([^<]*)\)<\/small>/.exec(html)?.[1]

/** @type {Record<string, {source: string, label: string, texts: string[]}>} */
const KINDS = {
  flowchart: {
    source: 'flowchart LR\n  A[Reader]-->|asks|B{Cached?}\n  B -- no --> C[(Database)]\n  B ==> D((Page)); ' +
      '\n  subgraph s [Origin]\n    C -.-> E\n  end',
    label: 'Flowchart: Origin, asks, no, Reader, Cached?, Database, Page, E',
    texts: ['Reader', 'Cached?', 'Database', 'Page', 'E', 'Origin', 'asks', 'no']
  },
  state: {
    source: 'stateDiagram-v2\n  [*] --> Draft\n  Draft --> Published : review\n  Published --> [*]',
    label: 'State diagram: review, Draft, Published',
    texts: ['Draft', 'Published', 'review']
  },
  sequence: {
    source: 'sequenceDiagram\n  autonumber\n  participant B as Browser\n' +
      '  B->>+Wiki: GET\n  Note over B,Wiki: a miss\n' +
      '  alt hit\n  Wiki-->>-B: 200\n  else\n  Wiki-xB: 503\n  end',
    label: 'Sequence diagram: alt [hit], GET, 200, 503, a miss, Browser, Wiki',
    texts: ['Browser', 'Wiki', 'GET', '200', '503', 'a miss']
  },
  class: {
    source: 'classDiagram\n  class Page {\n    +String name\n    +save(text) void\n  }\n' +
      '  Page "1" --> "*" Revision : has\n' +
      '  Page <|-- Talk',
    label: 'Class diagram: Page, + name : String, + save(text) : void, Revision, Talk, has, 1, *',
    texts: ['Page', 'Revision', 'Talk', 'has']
  },
  entities: {
    source: '---\ntitle: "Pages & revisions"\n---\nerDiagram\n' +
      '  PAGE ||--o{ REVISION : has\n  PAGE {\n    string name PK\n  }',
    label: 'Pages &amp; revisions',
    texts: ['PAGE', 'REVISION', 'has']
  }
}

for (const [kind, { source, label, texts }] of Object.entries(KINDS)) {
  test(`fenced code of the language mermaid is a drawing with a name and its source: ${kind}`, async (t) => {
    const render = start(t)
    const html = await render(fence(source))
    assert.match(html, /^<div class="diagram"><svg [^>]*role="img"/)
    assert.ok(html.endsWith('</svg><details><summary>Source of the diagram</summary><pre>' +
      `<code class="language-mermaid">${escaped(source)}\n</code></pre>\n</details></div>\n`), html.slice(-400))
    assert.equal(labelOf(html), label)
    for (const text of texts) assert.ok(textsIn(html).includes(text), `${text} in ${textsIn(html)}`)
    assert.doesNotMatch(html, /<style| style=| id=|url\(|data-|href/)
  })
}

test('the same source is the same bytes, whatever was drawn before it, also after a failure', async (t) => {
  const sources = Object.values(KINDS).map(({ source }) => source)
  const [one, other] = [start(t), start(t)]
  const first = await one(sources.map(fence).join('\n'))
  const entangled = fence(`graph TD\n${names('a', 8)} --> ${names('b', 8)}`)
  assert.equal(reasonIn(await other(entangled)), 'it is too entangled to be laid out')
  const reversed = [...sources].reverse()
  const htmlOf = new Map()
  for (const source of reversed) htmlOf.set(source, await other(fence(source)))
  assert.equal(first, sources.map((source) => htmlOf.get(source)).join(''))
})

test('a name without a label of its own, in any script, and a label given later', async (t) => {
  const render = start(t)
  const html = await render(fence('graph\nA-->Straße\nStraße---東京\nA["Start: (x)"]\n東京 <--> x-y'))
  assert.deepEqual(textsIn(html).sort(), ['Start: (x)', 'Straße', 'x-y', '東京'].sort())
  assert.equal(count(html, 'rotate('), 3, 'one arrowhead, and two of the last line')
})

test('what is not drawn is shown as code with the reason', async (t) => {
  const render = start(t)
  for (const [source, reason] of [
    ['pie\n"a": 1', /^its first line names none of graph, /],
    ['', /^its first line names none of graph, /],
    ['graph TD', /^nothing in it can be drawn$/],
    ['graph TD\nA --x B', /^this line is not known here: A --x B$/],
    ['graph TD\nA -->', /^this line is not known here: A --&gt;$/],
    ['graph TD\nA[x', /^this line is not known here: A\[x$/],
    ['graph TD\nA["a ] b"]', /^this line is not known here: /],
    ['stateDiagram-v2\nstate x <<choice>>', /^this line is not known here: state x /],
    ['sequenceDiagram\nA->>B', /^this line is not known here: A-&gt;&gt;B$/],
    ['classDiagram\nnote "x"', /^this line is not known here: note "x"$/],
    ['erDiagram\nA has B', /^this line is not known here: A has B$/],
    [`graph TD\nA --x ${'😀'.repeat(100)}`, /^this line is not known here: A --x (?:😀)+…$/u],
    ['x'.repeat(9_000), /^its source has more than 8192 bytes$/]
  ]) {
    const html = await render(fence(source.toString()))
    assert.ok(html.startsWith('<pre><code class="language-mermaid">'), html.slice(0, 100))
    assert.match((reasonIn(html) ?? '').replaceAll('&quot;', '"'), new RegExp(reason), source.toString().slice(0, 80))
  }
})

test('links, scripts, settings and colours of a source have no effect', async (t) => {
  const render = start(t)
  const plain = 'graph TD\nA --> B'
  const html = (/** @type {string} */ text) => text.replace(/<details>[^]*<\/details>/, '')
  const expected = html(await render(fence(plain)))
  for (const source of [
    '%%{init: {"theme": "dark", "securityLevel": "loose"}}%%\ngraph TD\nA --> B',
    'graph TD\nclick A "javascript:alert(1)"\nA --> B\nclick B href "https://example.org" _blank',
    'graph TD\nA --> B\nstyle A fill:red,background:url(//x)\nclassDef c fill:#f00\n' +
      'class A c\nlinkStyle 0 stroke:url(#x)',
    'graph TD\nA:::c --> B\nclassDef c fill:#000', '---\nconfig:\n  theme: forest\n---\ngraph TD\nA --> B'
  ]) assert.equal(html(await render(fence(source))), expected, source)
})

test('hostile labels are text', async (t) => {
  const render = start(t)
  for (const label of [
    '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '&lt;script&gt;', '&#60;svg onload=a()&#62;',
    ']]><script>', '</text></svg><a href=//x>', '<b>x</b><foreignObject>', '\u202Egnp.exe\u202C', '\u0001\u0008',
    '\uD800',
    '" onclick="a()', "' x='", '--%>', '__proto__', 'a\u2028b', '&#0;&#xD800;', '&#10;click A "javascript:a()"'
  ]) {
    const id = label.replaceAll('"', "'")
    for (const source of [
      `graph TD\nA["${id}"] -->|${label.replaceAll('|', '')}| B`, `graph TD\nsubgraph ${label}\nA\nend`,
      `stateDiagram-v2\nA --> B : ${label}`, `sequenceDiagram\nparticipant A as ${label}\nA->>B: ${label}`,
      `classDiagram\nA : ${label}`, `erDiagram\nA ||--|| B : ${label}`, `---\ntitle: ${label}\n---\ngraph TD\nA --> B`
    ]) await render(fence(source))
  }
  const html = await render(fence('graph TD\nA["<script>alert(1)</script>"]'))
  assert.deepEqual(textsIn(html), ['&lt;script&gt;alert(1)&lt;/script&gt;'])
  for (const id of ['__proto__', 'constructor', 'toString']) {
    assert.deepEqual(textsIn(await render(fence(`graph TD\n${id} --> ${id}x`))).sort(), [id, `${id}x`].sort())
  }
})

test('any text between fences is harmless', async (t) => {
  const render = start(t)
  const word = fc.constantFrom(
    'A', 'é', '-->', '---', '-.->', '[', ']', '{', '}', '(', ')', '"', '|', '&', ';', ':', '\n', ' ',
    'end', 'subgraph s',
    'state', '[*]', '->>', 'alt', 'class', '||--o{', '<|--', '<br>', '<b>', '**', '&lt;', '\u202E', '😀',
    '%%', 'click'
  )
  const headers = fc.constantFrom(...Object.values(KINDS).map(({ source }) => source.split('\n')[0]), 'erDiagram')
  await fc.assert(fc.asyncProperty(headers, fc.array(word, { maxLength: 30 }), async (header, words) => {
    const html = await render(fence(`${header}\n${words.join('')}`))
    assert.equal(count(html, '<svg ') + count(html, '(no diagram: '), 1)
  }), { numRuns: 150, seed: 7 })
})

test('a drawing that takes too long is ended and shown as code; the other diagrams and the text stay', async (t) => {
  const renderer = createRenderer({ maxBytes: 100_000 })
  t.after(() => renderer.close())
  const entangled = `graph TD\n${names('a', 25)} --> ${names('b', 25)}`
  const { html } = await renderer.render(`# T\n\n${fence(entangled)}\n${fence('graph TD\nA --> B')}\nThe *end*.`)
  assertHarmless(html)
  assert.match(html, /<\/pre>\n<p><small>\(no diagram: drawing it takes more than 3 s of processor time, or too much/)
  assert.equal(count(html, '<svg '), 1)
  assert.match(html, /<p>The <em>end<\/em>\.<\/p>/)
  assert.equal((await renderer.render(fence('graph TD\nA --> B'))).html, html.slice(
    html.indexOf('<div class="diagram">'), html.indexOf('<p>The')))
})

test('a page has at most 20 diagrams, of a limited size and a limited time together', async (t) => {
  const render = start(t)
  const many = Array.from({ length: 22 }, (_, index) => fence(`graph TD\nA --> B${index}`)).join('\n')
  const html = await render(many)
  assert.equal(count(html, '<svg '), 20)
  assert.equal(count(html, '(no diagram: a page has at most 20 diagrams)'), 2)

  const small = await render(many, 15_000)
  assert.ok(count(small, '<svg ') > 2 && count(small, '<svg ') < 20,
    'three quarters of the bytes of a page are for diagrams')
  assert.match(small, /\(no diagram: the diagrams of this page are too large\)/)

  const run = async () => /** @type {any} */ ({ svg: '', reason: 'x', cpuMs: 60 })
  const pool = { run, close: async () => {}, warm: async () => {} }
  const late = await start(t, { pool, pageCpuMaxMs: 100 })(many)
  assert.equal(count(late, '(no diagram: x)'), 2)
  assert.equal(count(late, '(no diagram: the diagrams of this page take too much processor time)'), 18)
})

test('large and deep sources are drawn or refused within the limits', async (t) => {
  const render = start(t)
  for (const source of [
    `graph TD\n${'subgraph s\n'.repeat(500)}A\n${'end\n'.repeat(500)}`, `graph TD\n${'A-->'.repeat(1_900)}B`,
    `graph TD\nA["${'<br>'.repeat(1_900)}"]`, `graph TD\nA["${'**'.repeat(3_900)}"]`, `graph TD\n${'A['.repeat(4_000)}`,
    `sequenceDiagram\n${'alt x\n'.repeat(600)}${'end\n'.repeat(600)}`, `sequenceDiagram\n${'A->>B: x\n'.repeat(800)}`,
    `stateDiagram-v2\n${'state a {\n'.repeat(500)}${'}\n'.repeat(500)}`, `graph TD\n${names('a', 400)}`
  ]) {
    const html = await render(fence(source))
    assert.ok(html.length < 200_000 && (reasonIn(html) !== undefined || html.includes('<svg ')), source.slice(0, 40))
  }
})

test('other code is not drawn', async (t) => {
  const render = start(t)
  for (const info of ['', 'mermaids', 'Mermaid', 'text mermaid']) {
    assert.doesNotMatch(await render(`\`\`\`${info}\ngraph TD\nA --> B\n\`\`\``), /<svg|no diagram/, info)
  }
  assert.match(await render('- x\n\n  ~~~ mermaid title\n  graph TD\n  A --> B\n  ~~~\n'), /<li>[^]*<svg [^]*<\/li>/)
})

test('a busy machine refuses the save, so that no page without its drawings is stored', async (t) => {
  const filename = new URL('../src/markdown/diagram-work.js', import.meta.url).href
  const pool = createPool({ filename, threads: { min: 0, max: 1 }, cpuMaxMs: 1_000, wallMaxMs: 60_000, waitingMax: 0 })
  const render = start(t, { pool })
  await assert.rejects(render(fence('graph TD\nA --> B')), (/** @type {any} */ error) =>
    error.statusCode === 503 && !(error instanceof TooCostly))
})

/** @param {string} letter @param {number} length */
function names (letter, length) {
  return Array.from({ length }, (_, index) => `${letter}${index}`).join(' & ')
}
