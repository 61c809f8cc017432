import assert from 'node:assert/strict'
import test from 'node:test'
import { authorship } from '../src/history/authorship.js'
import { get, save, submit, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string[]} texts  the oldest first @returns {string[]} of each line, such as `1:The |2:red |1:bee` */
const written = (...texts) => authorship(texts.map((text, index) => ({ revision: index + 1, text })))
  .map((runs) => runs.map(({ text, revision }) => `${revision}:${text}`).join('|'))

for (const [what, texts, expected] of /** @type {[string, string[], string[]][]} */ ([
  ['a word within a line', ['The bee is small.\n', 'The red bee is small.\n'], ['1:The |2:red |1:bee is small.']],
  ['a line that another one replaces', ['One thing.\n', 'Something else entirely\n'], ['2:Something else entirely']],
  ['lines before and after', ['b\n', 'a\nb\nc\n'], ['2:a', '1:b', '2:c']],
  ['a line break at the end', ['a\nb', 'a\nb\n', 'a\nb\nc'], ['1:a', '1:b', '3:c']],
  ['a text that is brought back', ['good text\n', 'spam\n', 'good text\n', 'good old text\n'],
    ['1:good |4:old |1:text']],
  ['words of three revisions', ['a bee flies\n', 'a red bee flies\n', 'a red bee flies far\n'],
    ['1:a |2:red |1:bee flies|3: far']],
  ['a line that moves', ['a\nb\nc\n', 'b\nc\na\n'], ['1:b', '1:c', '2:a']],
  ['an empty text', ['a\n', ''], []],
  ['letters beyond ASCII', ['čebela leti\n', 'čebela 🐝 leti\n'], ['1:čebela |2:🐝 |1:leti']]
])) {
  test(`a revision brought its own words: ${what}`, () => {
    assert.deepEqual(written(...texts), expected)
  })
}

test('the lines are those of the last text, for any texts', () => {
  let state = 1
  const random = (/** @type {number} */ below) => (state = state * 48_271 % 2_147_483_647) % below
  const word = () => ['bee', 'flies', 'far', ' ', '\n', 'č', '🐝', '.'][random(8)]
  for (let round = 0; round < 200; round++) {
    const texts = [Array.from({ length: 20 }, word)]
    for (let edit = 0; edit < 6; edit++) {
      const next = [...texts[texts.length - 1]]
      for (let change = 0; change < 3; change++) next.splice(random(next.length + 1), random(3), word())
      texts.push(next)
    }
    const versions = texts.map((words, revision) => ({ revision, text: words.join('') }))
    const last = versions[versions.length - 1].text
    const lines = authorship(versions)
    const said = lines.map((runs) => runs.map(({ text }) => text).join('')).join('\n')
    assert.equal(said, last.replace(/\n$/, ''))
    for (const { text, revision } of lines.flat()) {
      const pieces = text.match(/bee|flies|far|\S/gu) ?? []
      for (const piece of pieces) assert.ok(versions[revision].text.includes(piece), piece)
    }
  }
})

test('a page shows which revision brought which words, and each author’s part', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'The bee is <small>.')
  await submit(app, 'a', { content: 'The red bee is <small>.', author: 'Ana', base_revision: '1' })
  const { statusCode, headers, body } = await get(app, '/revision/a/2/authors')
  assert.equal(statusCode, 200)
  assert.equal(headers['cache-control'], 'public, max-age=86400, immutable')
  assert.match(body, /<sup>1<\/sup>The <sup>2<\/sup>red <sup>1<\/sup>bee is &lt;small&gt;\./)
  assert.match(body.replace(/<[^>]*>|\s+/g, ' '), /2 +Ana .* 16 % .* 1 +without a name .* 84 %/)
  assert.doesNotMatch((await get(app, '/revision/a/1/authors')).body, /red/)
  for (const url of ['/history/a', '/revision/a/1']) {
    assert.match((await get(app, url)).body, /href="\/revision\/a\/[12]\/authors" rel="nofollow"/, url)
  }
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  assert.equal((await get(app, '/revision/a/3/authors')).statusCode, 404)
  assert.equal((await get(app, '/revision/a/9/authors')).statusCode, 404)
  assert.equal((await get(app, '/revision/A/2/authors?x=1')).headers.location?.includes('authors'), true)
})
