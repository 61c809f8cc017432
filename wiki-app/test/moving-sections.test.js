import assert from 'node:assert/strict'
import test from 'node:test'
import { requireTool } from '@stevec/harness/tools/locate'
import { createPandoc } from '../src/moving/pandoc/pandoc.js'
import { sectionsOf } from '../src/moving/pandoc/sections.js'
import { generatedDump, numbers } from './mediawiki-dump.js'

/** Each may be followed by any other. */
const PARTS = [
  "'''Bees''' are [[insect]]s.\n\n", '', 'No heading follows this line\n', "''never closed\n\n", '* a\n* b\n\n',
  ': indented\n\n', ' code line\n\n', '== One ==\n\n', '=== Two ===\nIts text.\n\n', '== a = b ==\n\n',
  '== Spaces ==  \n\n', '== no heading\n\n', '== {{t}} ==\n\n', '===== Five =====\n\n', '====== Six ======\n\n',
  '= One sign =\n\n', '======\n\n', '== one == two ==\n\n', '----\n\n', '{{Box\n| a = 1\n\n== inside ==\n\n}}\n\n',
  '{{open\n\n', '}}\n\n', 'close }} open {{\n\n', 'close ]] open [[\n\n',
  '{|\n| a\n\n== in a cell ==\n\n|}\n\n', '[[open\n\n', '[[Category:Insects]]\n\n',
  '[[category:Animals|x]] text\n\n', '[[File:Bee.png|thumb|A [[bee]]]]\n\n', '__NOTOC__\n\n',
  '<nowiki>\n\n== x ==\n\n</nowiki>\n\n', 'A note.<ref>x</ref>\n\n', '<!-- \n\n== x ==\n\n -->\n\n',
  '#REDIRECT [[x]]\n\n', '# one\n# two\n\n', '; term : text\n\n', '\u{F0000} private\n\n',
  '&lt;ref&gt; [https://a.example b] $x$ `code`\n\n', 'Two.<ref>a [[b]]</ref> and<ref>c</ref>: ^1\n\n',
  'Named.<ref name="a">x</ref>\n\n', 'Again.<ref name=a />\n\n', "<ref name='b'>first</ref> <ref name='b'/>\n\n",
  '<ref>at the start</ref>: text\n\n', '* a<ref>in a list</ref>\n', '== Notes ==\n\n<references />\n\n',
  '<references>\n<ref name="a">listed</ref>\n</references>\n\n', '{| class="x"\n! a\n|-\n| b<ref>c</ref>\n|}\n\n',
  '{|\n| a || b\n|}\n\n', '{|\n| never closed\n\n', '{|\n|-\n{{rows}}\n|}\n\n', '{{a|{{b}}|c={{{1|}}}}}\n\n',
  '{{x|url=|}} and {{{1}}}\n\n', '<!-- hidden -->\n', 'a <!-- <ref name="a"> --> b\n\n', '<nowiki>{{</nowiki>\n\n',
  '<nowiki><!--</nowiki> <!-- --></nowiki>\n\n', '{{ --></nowiki>\n\n', '<pre>\ncode\n\n== x ==\n\n</pre>\n\n',
  '<pre>open\n\n', '<div>within</div>\n\n', '<div>in\n\n== a div ==\n\n</div>\n\n', 'a<br>b<br />c 1 < 2\n\n',
  '<math>x^2</math> and H<sub>2</sub>O\n\n', '<gallery>\nFile:Bee.png|A bee\n</gallery>\n\n', '<b>open\n\n',
  '<poem>\na\nb\n</poem>\n\n', '<syntaxhighlight lang="c">\nint x;\n</syntaxhighlight>\n\n', '</ref>\n\n',
  '<ref>open\n\n', '<span title="a>b">x</span>\n\n', '[^1] [^a-1]\n\n',
  '<blockquote>Said.<ref>by x</ref></blockquote>\n\n',
  '<div>plain<ref>z</ref></div>\n\n', '<center>middle</center>\n\n', '{{!}} {{=}}\n\n', 'x\r\n\r\n== y ==\r\n'
]

/** @param {import('node:test').TestContext} t */
function converterFor (t) {
  const pandoc = createPandoc({ from: 'mediawiki', command: requireTool('pandoc').path, processes: 2 })
  t.after(pandoc.close)
  return pandoc.convert
}

test('revisions that are converted together become what each becomes alone', async (t) => {
  const convert = converterFor(t)
  const next = numbers(Number(process.env.SEED ?? 7))
  const texts = Array.from({ length: Number(process.env.TEXTS ?? 400) }, () =>
    Array.from({ length: 2 + next(6) }, () =>
      (next(2) === 0 ? '== Part ==\n\n' : '') + PARTS[next(PARTS.length)]).join(''))
  const together = await convert([...texts, ...texts])
  const cut = texts.filter((text) => sectionsOf(text).length > 1)
  assert.ok(cut.length > 20, `${cut.length} are cut`)
  for (const [index, text] of texts.entries()) {
    const [alone] = await convert([text])
    assert.deepEqual(together[index], alone, JSON.stringify(text))
    assert.deepEqual(together[texts.length + index], together[index])
  }
})

test('texts of a wiki become the same in sections as whole', async (t) => {
  const convert = converterFor(t)
  const dump = [...generatedDump({ pages: 21 })].join('')
  const texts = [...dump.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text)
  assert.ok(texts.some((text) => sectionsOf(text).length > 3))
  const together = await convert(texts)
  for (const [index, text] of texts.entries()) assert.deepEqual(together[index], (await convert([text]))[0])
})
