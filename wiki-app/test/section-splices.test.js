import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { sectionsOf } from '../src/markdown/html.js'
import { sectionWork } from '../src/writing/section-work.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} base @param {number} section @param {string} text @returns {any} */
const spliced = (base, section, text) => sectionWork({ base, section, text })

test('a blank line keeps a text without a heading out of the paragraph above, and a heading out of the text', () => {
  for (const [base, section, text, content] of /** @type {[string, number, string, string][]} */ ([
    ['above\n# a\nx\n', 1, 'lazy', 'above\n\nlazy\n'],
    ['> quote\n# a\nx\n', 1, 'lazy', '> quote\n\nlazy\n'],
    ['above\n# a\nx\n# b\n', 1, '===\nmore', 'above\n\n===\nmore\n# b\n'],
    ['above\r\n# a\r\nx\r\n', 1, '---', 'above\r\n\n---\r\n'],
    ['above\r# a\rx\r', 1, '\n===', 'above\r\n\n\n===\r'],
    ['x\n# a\ny\n\nB\n===\n', 1, '', 'x\n\nB\n===\n'],
    ['# a\nx\n\n# b\n', 1, '# a\n- item', '# a\n- item\n\n# b\n']
  ])) assert.equal(spliced(base, section, text).content, content, JSON.stringify([base, text]))
})

test('a text that would swallow the next heading, or what is above it, is not spliced', () => {
  for (const [base, section, text, lost, title] of /** @type {[string, number, string, string, string][]} */ ([
    ['# a\nx\n# b\ny\n', 1, '# a\n```\nx', 'below', 'b'],
    ['# a\nx\n## c\n# b\ny\n', 1, '# a\n~~~~\n```\n~~~', 'below', 'b'],
    ['# a\nx\n  # b\n', 1, '# a\n- item', 'below', 'b'],
    ['# a\nx\n# b\n\n-->\n', 1, '# a\n<!-- open', 'below', 'b'],
    ['# p\n<!-- no end\n\n# a\nx\n# b\n', 2, '# a\n-->', 'above', 'b'],
    ['- item\n\n# a\nx\n', 1, '  # a\nx', 'above', '']
  ])) assert.deepEqual(spliced(base, section, text), { lost, title }, JSON.stringify([base, text]))
})

const LINES = [
  '# a', '## a', '## b', '  ## c', 'text', 'text', '', '', '===', '---', '```', '~~~', '> quote', '> # a', '- item',
  '- # a', '  more', '    code', '<details>', '</details>', '<!--', '-->', '[^1]: note', '| a |', '|---|', '$$', '\0'
]
/** @param {number} maxLength */
const texts = (maxLength) => fc
  .array(fc.tuple(fc.constantFrom(...LINES), fc.constantFrom('\n', '\n', '\n', '\r\n', '\r')), { maxLength })
  .map((lines) => lines.flat().join(''))

/** Each heading's own text, up to the next heading of any level; the first part is what is above all of them. */
function partsOf (/** @type {string} */ markdown) {
  const starts = [0, ...sectionsOf(markdown).map(({ start }) => start), markdown.length]
  return starts.slice(1).map((end, index) => markdown.slice(starts[index], end).trimEnd())
}

test('whatever a section becomes, all others stay as they are, or nothing is saved', () => {
  const counts = { kept: 0, lost: 0 }
  fc.assert(fc.property(texts(20), texts(8), fc.nat(), (base, text, draw) => {
    const sections = sectionsOf(base)
    if (sections.length === 0) return
    const index = draw % sections.length
    const result = spliced(base, index + 1, text)
    if ('lost' in result) {
      counts.lost++
      return
    }
    counts.kept++
    const [before, now] = [partsOf(base), partsOf(result.content)]
    const below = sections.filter(({ start }) => start >= sections[index].end).length
    assert.deepEqual(now.slice(now.length - below), before.slice(before.length - below), 'below')
    assert.deepEqual(now.slice(0, index), before.slice(0, index), 'above')
    assert.ok(now[index].startsWith(before[index]), 'a text without a heading belongs to the one above')
    const written = /[^]*[^ \t\r\n]|/.exec(text)?.[0] ?? ''
    assert.ok(result.content.startsWith(base.slice(0, sections[index].start)))
    assert.ok(result.content.includes(written) && result.content.endsWith(base.slice(sections[index].end)))
  }), { numRuns: 4_000, seed: 84 })
  assert.ok(counts.kept > 10 * counts.lost && counts.lost > 20, JSON.stringify(counts))
})

test('a text of plain lines below a heading is never refused', () => {
  const plain = fc.array(fc.constantFrom('text', '', '> quote', '---', '    code'), { maxLength: 6 })
  fc.assert(fc.property(texts(20), plain, fc.nat(), (base, lines, draw) => {
    const count = sectionsOf(base).length
    if (count === 0 || /<!--|\$\$|<details>/.test(base)) return
    const result = spliced(base, draw % count + 1, ['## new', ...lines].join('\n'))
    assert.equal(result.lost, undefined)
  }), { numRuns: 2_000, seed: 84 })
})

/** @param {import('fastify').FastifyInstance} app @param {Record<string, string>} fields */
const send = (app, fields) => app.inject({
  method: 'POST',
  url: '/edit/text/a',
  headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  payload: new URLSearchParams({ base_revision: '1', ...fields }).toString()
})

test('the author of a section that stays open gets it back with the reason, and can close it', async (t) => {
  const app = await wiki.build(t)
  const text = '# a\n\nx\n\n# <b> & c\n\ny\n'
  await save(app, 'a', text)
  const open = await send(app, { section: '1', content: '# a\n\n```\nx' })
  assert.equal(open.statusCode, 422, open.body)
  assert.match(open.body, /role="alert">With this text the next heading, “&lt;b&gt; &amp; c”, would become a part/)
  assert.match(open.body, /name="section"[^>]* value="1"[^]*<textarea[^>]*>\n# a\n\n```\nx<\/textarea>/)
  assert.equal((await get(app, '/raw/a')).body, text)
  const above = await send(app, { section: '2', content: '-->' })
  assert.equal(above.statusCode, 303, above.body)
  await save(app, 'a', '<!-- no end\n\n# a\n')
  const begun = await send(app, { base_revision: '3', section: '1', content: '# a\n-->' })
  assert.match(begun.body, /role="alert">With this text, what stands above the section would change\. [^<]* page\. /)
  await save(app, 'a', text)
  const closed = await send(app, { base_revision: '4', section: '1', content: '# a\n\n```\nx\n```' })
  assert.equal(closed.headers.location, '/wiki/a?saved=5#a')
})
