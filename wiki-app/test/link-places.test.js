import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { linkPlaces } from '../src/archive/link-places.js'

/** @param {string} text @returns {string[]} what the places say about themselves, with the text that they replace */
const found = (text) => linkPlaces(text).map((place) => {
  const replaced = text.slice(place.start, place.end)
  return 'page' in place
    ? `${replaced} = ${place.embeds ? '!' : ''}${place.page}#${place.section ?? ''}|${place.label ?? ''}`
    : `${replaced} = ${place.destination}`
})

test('links, pictures, definitions and wiki links are found where they stand, without their escapes', () => {
  assert.deepEqual(found('\ufeff# T [a](x.md)\r\n\r\n> q [b](<a b.md> "t") ![i](img/a%20b.png \'t\')\r\n'), [
    'x.md = x.md', '<a b.md> = a b.md', 'img/a%20b.png = img/a%20b.png'
  ])
  assert.deepEqual(found('[a](t\\_1.md) [b](a&amp;b.md) [c](a(b).md) [![p](p.png)](q.md#z)'), [
    't\\_1.md = t_1.md', 'a&amp;b.md = a&b.md', 'a(b).md = a(b).md', 'p.png = p.png', 'q.md#z = q.md#z'
  ])
  assert.deepEqual(found('- [x][r]\n\n  [r]:\n  ../r.md\n\n[^1]: note [n](n.md)\n\n    more [m](m.md)'), [
    '../r.md = ../r.md', 'n.md = n.md', 'm.md = m.md'
  ])
  assert.deepEqual(found('[[Page One#S|lab]] ![[p.png|300]] [[#s]]\n\n|a|\n|-|\n|[[x\\|y]]|'), [
    '[[Page One#S|lab]] = Page One#S|lab', '![[p.png|300]] = !p.png#|300', '[[#s]] = #s|', '[[x\\|y]] = x#|y'
  ])
  assert.deepEqual(found('<div>[a](a.md)</div>\n\n<p align="center">\n![b](b.png)\n</p>'), [
    'a.md = a.md', 'b.png = b.png'
  ], 'the wiki shows HTML as text')
  assert.deepEqual(found('[a](Setup_guide "wikilink") [b](<Setup guide> "wikilink")'), [
    'Setup_guide "wikilink" = Setup_guide', '<Setup guide> "wikilink" = Setup guide'
  ], 'pandoc’s title goes with the destination')
})

test('code, escaped brackets and what is no link are left out', () => {
  for (const text of [
    '`[a](a.md)` ``[[b]]``', '```\n[a](a.md)\n[[b]]\n```', '~~~md\n[r]: a.md\n~~~', '    [a](a.md)', '\t[[a]]',
    '- x\n\n      [a](a.md)',
    '\\[a](a.md) \\[[b]]', '[a] (a.md)', '[a](a b.md)', '[a]()', '[[a', '[a][b]', '<https://a.example/x.md>', ''
  ]) {
    assert.deepEqual(found(text), [], text)
  }
})

test('places are exact within any nesting of quotes, lists, tabs and ends of lines', () => {
  const link = fc.constantFrom('[a](DEST)', '![a](DEST "t")', '*[a](DEST)*', 'x `[no](no.md)` [a](DEST) é 👩‍🚀',
    '[![a](DEST)](DEST)', '[[DEST]]')
  const prefix = fc.array(fc.constantFrom('> ', '- ', '1. ', '>\t', '-\t'), { maxLength: 4 })
    .map((parts) => parts.join(''))
  const end = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(fc.property(fc.array(fc.tuple(prefix, link, end), { maxLength: 8 }), (blocks) => {
    let [text, count] = ['', 0]
    for (const [before, block, newline] of blocks) {
      text += `${before}${block.replaceAll('DEST', () => `f${count++}.md`)}${newline}${newline}`
    }
    const places = linkPlaces(text)
    assert.deepEqual(
      places.map(({ start, end: until }) => /f\d+\.md/.exec(text.slice(start, until))?.[0]),
      Array.from({ length: count }, (_, index) => `f${index}.md`)
    )
    for (const place of places) {
      const whole = 'page' in place ? `[[${place.page}]]` : place.destination
      assert.equal(text.slice(place.start, place.end), whole)
    }
  }), { seed: 7, numRuns: 300 })
})
