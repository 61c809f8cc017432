import assert from 'node:assert/strict'
import test from 'node:test'
import toHtml from '../src/markdown/html.js'
import { encodeName, tagUrl } from '../src/pages/name.js'
import { canonicalTag } from '../src/pages/tags.js'
import { assertHarmless } from './harmless.js'
import { BROWSER, get, save, untilIndexed, useWiki } from './helper.js'

const wiki = useWiki()

/** Texts that try to break out of text, an attribute, a script, a comment, a style, a URL or a template. */
const PAYLOADS = [
  '<script>alert(1)</script>', '</title><script>alert(1)</script>', '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>', '" onmouseover="alert(1)', "' onfocus='alert(1)' autofocus='",
  '--><script>alert(1)</script>', ']]><script>alert(1)</script>', '</textarea><script>alert(1)</script>',
  '</pre><b>x</b>', '&lt;script&gt;alert(1)&lt;', '&#60;script&#62;', 'javascript:alert(1)',
  '<%= process.env %>', '{{constructor.constructor("alert(1)")()}}', '`;alert(1)//',
  '<a href="javascript:alert(1)">x', '<base href="//evil.example">', '<iframe srcdoc="x">',
  '<mark>x</mark>', '<', '"', "'", '&', '=x', '\uFF1Cscript\uFF1E'
]
/** A text without any special character. */
const HARMLESS = 'harmless'
const SEARCHES = /^\/(?:search|pages)\?q/

/**
 * Returns the names of a document's tags and of their attributes, in order. Texts and values do not change them.
 * @param {string} html
 */
const structureOf = (html) =>
  [...html.matchAll(/<([/!?]?[a-z][^\s/>]*)((?:\s+[^\s=>]+(?:="[^"]*")?)*)\s*\/?>|<[^]{0,20}/gi)]
    .map(([whole, name, attributes = '']) => name === undefined
      ? `no tag: ${whole}`
      : [name, ...[...attributes.matchAll(/([^\s=]+)(?:="[^"]*")?/g)].map(([, each]) => each)].join(' '))

/**
 * Reads every document about a page that has the words in its name, tags, author and summary.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} words
 */
async function documentsOf (app, words) {
  const name = words.replaceAll('/', '|')
  const tag = name.replaceAll(',', ';')
  const [page, query] = [encodeName(name), encodeURIComponent(words)]
  for (const content of ['first\n', 'second\n']) {
    const { statusCode, body } = await app.inject({
      method: 'PUT',
      url: `/api/v1/pages/${encodeURIComponent(name)}`,
      payload: { content, tags: [tag], author: words, summary: words }
    })
    assert.ok(statusCode < 300, body)
  }
  await untilIndexed(app)
  const addresses = [
    `/wiki/${page}`, `/history/${page}`, `/revision/${page}/1`, `/difference/${page}?from=1&to=2`,
    `/links/${page}`, `/tree/${page}`, `/edit/text/${page}`, `/changes?author=${query}`,
    `/changes.atom?author=${query}`,
    tagUrl(canonicalTag(tag)), `/search?q=${query}`, `/pages?q=${query}`,
    `/edit/rename/${page}`, `/edit/delete/${page}`, `/wiki/none${page}`, `/history/none${page}`, `/nowhere/${page}`
  ]
  // One by one: many costly reads at once would be a sweep, which the wiki makes wait.
  const answers = []
  for (const url of addresses) answers.push(await get(app, url, BROWSER))
  const preview = await app.inject({
    method: 'POST',
    url: `/edit/preview/${page}`,
    headers: { ...BROWSER, 'content-type': 'application/json' },
    payload: { content: 'x', tags: words, author: words, summary: words }
  })
  const conflict = await app.inject({
    method: 'POST',
    url: `/edit/text/${page}`,
    headers: { ...BROWSER, 'content-type': 'application/json' },
    payload: { content: 'x', author: words, summary: words, base_revision: 1 }
  })
  return [
    ...answers.map((answer, index) => ({ where: addresses[index].replace(page, '…'), answer })),
    { where: 'preview', answer: preview },
    { where: 'conflict', answer: conflict }
  ]
}

test('markup in a name, tag, author, summary or search never changes a document’s structure', async (t) => {
  const app = await wiki.build(t)
  const harmless = await documentsOf(app, HARMLESS)
  const nothingFound = await Promise.all(['/search?q=nothing', '/pages?q=nothing'].map((url) => get(app, url, BROWSER)))
  assert.ok(structureOf('<p title="<b>">a<i x>').join() === 'p title,i x', 'structureOf reads tags as browsers do')
  assert.notDeepEqual(structureOf('<p>a</p>'), structureOf('<p>a<b></p>'))
  const known = new Set([...nothingFound, ...harmless.map(({ answer }) => answer)]
    .flatMap(({ body }) => structureOf(body)))
  const attacked = await wiki.build(t)
  for (const payload of PAYLOADS) {
    const documents = await documentsOf(attacked, payload)
    for (const [index, { where, answer }] of documents.entries()) {
      const expected = harmless[index].answer
      const label = `${payload} at ${where}`
      assert.equal(answer.statusCode, expected.statusCode, label)
      assert.match(String(answer.headers['content-security-policy']), /default-src 'none'; script-src 'self'/, label)
      // How many words a search finds and marks depends on the payload.
      if (SEARCHES.test(where)) assert.deepEqual(structureOf(answer.body).filter((tag) => !known.has(tag)), [], label)
      else assert.deepEqual(structureOf(answer.body), structureOf(expected.body), label)
      assert.doesNotMatch(answer.body, /href="\s*javascript:/i, label)
    }
  }
})

/** Where an author's words stand in what Markdown and the allowed tags make. */
const PLACES = (/** @type {string} */ words) => [
  `<kbd>${words}</kbd>`, `<details><summary>${words}</summary>\n\n${words}\n\n</details>`, `<details>\n${words}`,
  `</details>${words}`, `<!-- ${words}`, `<!-- ${words} -->`, `<kb<!-- ${words} -->d>`, `> [!NOTE]\n> ${words}`,
  `> [!${words}]\n> x`, `# ${words}`, `- [ ] ${words}`, `https://a.b/${words}`, `https://a.b${words}`,
  `www.a.b/${words}`, `${words}@a.b`, `a@b.c${words}`, `[<sub>${words}](/x)</sub>`, `<sub>[${words}</sub>](/x)`,
  `|<br>${words}|\n|-|\n|<del>${words}|`, `a[^1]\n\n[^1]: <mark>${words}</mark>`, `<mark ${words}>x</mark>`,
  `<mark>x</mark ${words}>`, `<${words}>`, `<b><i><u>${words}</b></i></u>`
]

test('a text with markup in any place of Markdown stays harmless within its document', async (t) => {
  const app = await wiki.build(t)
  for (const payload of PAYLOADS) {
    const places = PLACES(payload)
    for (const text of places) assertHarmless(toHtml({ markdown: text, maxBytes: 100_000 }).html)
    for (const text of [places.join('\n\n'), places.reverse().join('\n\n')]) {
      const { statusCode } = await save(app, 'text', text)
      assert.ok(statusCode < 300, text)
      const { body } = await get(app, '/wiki/text', BROWSER)
      const [before, article, after, ...more] = body.split(/<article dir="auto">|<\/article>/)
      assert.deepEqual(more, [], text)
      assert.ok(before.includes('<h1') && after.includes('<footer>'), text)
      assertHarmless(article)
    }
  }
})
