import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 * @param {Record<string, string>} fields
 * @param {Record<string, string>} [headers]
 */
const preview = (app, name, fields, headers = BROWSER) => app.inject({
  method: 'POST',
  url: `/edit/preview/${name}`,
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  payload: new URLSearchParams(fields).toString()
})
/** @param {string} html */
const articleIn = (html) => /<article [^>]*>[^]*<\/article>/.exec(html)?.[0]

const TEXT = '# A\r\n\r\n*b* & <i> [self](/wiki/New) [there](/wiki/there) [none](/wiki/none)\r\n\r\n' +
  '| a | b |\r\n|--:|---|\r\n| 1 | 2 |\r\n\r\n```js\r\nlet a\r\n```\r\n\r\n' +
    '$$\r\n\\frac{a}{b}\r\n$$\r\n\r\n$x$ for $5\r\n'

test('the preview equals the article of the saved page byte by byte and keeps all form fields', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'there', 'text')
  const typed = { content: TEXT, tags: 'One, tw', author: 'Ana "A" <b>', summary: 'why & what', base_revision: '0' }
  const shown = await preview(app, 'New', typed)
  assert.equal(shown.statusCode, 200, shown.body)
  assert.equal(shown.headers['cache-control'], 'private, no-store')
  assert.equal((await get(app, '/wiki/New')).statusCode, 404, 'nothing is saved')
  assert.match(shown.body, /<form class="editor" method="post" action="\/edit\/text\/New" data-unsaved>/)
  for (const part of [
    'name="base_revision" value="0"',
    'name="tags" maxlength="2000" value="One, tw"',
    'value="Ana &quot;A&quot; &lt;b&gt;"',
    'value="why &amp; what"',
    '\n# A\n\n*b* &amp; &lt;i&gt;'
  ]) {
    assert.ok(shown.body.includes(part), part)
  }

  const saved = await app.inject({
    method: 'POST',
    url: '/edit/text/New',
    headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(typed).toString()
  })
  assert.equal(saved.statusCode, 303)
  const article = articleIn((await get(app, '/wiki/New')).body)
  assert.ok(article?.includes('class="missing"'))
  assert.equal(articleIn(shown.body), article)
  const program = await preview(app, 'New', typed, { accept: 'application/json' })
  assert.equal(`<article dir="auto">\n${program.json().html}</article>`, article)
})

test('the preview of a text that is too large gets 413 with the reason and the text as typed', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '1000' })
  const shown = await preview(app, 'a', { content: 'x'.repeat(1001), tags: 'one', base_revision: '3' })
  assert.equal(shown.statusCode, 413)
  assert.match(shown.body, /role="alert">The text is longer than 1000 bytes/)
  assert.match(shown.body, /<textarea [^>]*>\nx{1001}<\/textarea>[^]*value="one"/)
  assert.match(shown.body, /name="base_revision" value="3"/)
  const program = await preview(app, 'a', { content: 'x'.repeat(1001) }, {})
  assert.equal(program.statusCode, 413)
  assert.equal(program.json().status, 413)
})

test('a preview contains no scripts from the text, and invalid or cross-site requests are refused', async (t) => {
  const app = await wiki.build(t)
  const { body } = await preview(app, '%3Cb%3E', {
    content: '</textarea><script>alert(1)</script> [x](javascript:alert(1))',
    tags: '"><script>',
    base_revision: '0'
  })
  assert.doesNotMatch(body, /<script(?! type=)|href="javascript|<b>/)
  assert.equal((await preview(app, 'a', { content: '' })).statusCode, 200)
  for (const [name, fields] of /** @type {[string, Record<string, string>][]} */ ([
    ['a', {}],
    ['a', { content: 'x', other: 'y' }],
    ['a', { content: 'x', base_revision: '$ne' }],
    ['stevec', { content: 'x' }],
    ['%00', { content: 'x' }],
    ['..%2f', { content: 'x' }]
  ])) {
    assert.equal((await preview(app, name, fields)).statusCode, 400, name)
  }
  assert.equal((await preview(app, 'a', { content: 'x' }, { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  assert.equal((await get(app, '/edit/preview/a')).statusCode, 405)
})

test('a preview after an edit conflict keeps the base revision that the author saw', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'first')
  await save(app, 'a', 'second')
  const merge = await app.inject({
    method: 'POST',
    url: '/edit/text/a',
    headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ content: 'mine', base_revision: '1' }).toString()
  })
  assert.equal(merge.statusCode, 409)
  assert.match(merge.body, /data-unsaved[^]*name="base_revision" value="2"[^]*formaction="\/edit\/preview\/a"/)
  assert.match(
    (await preview(app, 'a', { content: 'mine', base_revision: '2' })).body,
    /name="base_revision" value="2"/
  )
})

test('a page view loads at most 20 kB, 8 kB compressed, the editor 22 kB, CodeMirror 350 kB after it', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'x')
  const page = await get(app, '/wiki/a')
  const bytesOf = async (/** @type {string} */ html) => {
    const urls = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, url]) => url)
    const answers = await Promise.all(urls.map((url) => get(app, url)))
    for (const { statusCode, headers } of answers) {
      assert.deepEqual([statusCode, headers['cache-control']], [200, 'public, max-age=31536000, immutable'])
    }
    compressed = [page, ...answers].reduce((sum, { rawPayload }) => sum + gzipSync(rawPayload).length, 0)
    return Object.fromEntries(urls.map((url, index) =>
      [url.replace(/\.[0-9a-f]{12}/, ''), answers[index].rawPayload.length]))
  }
  let compressed = 0
  const reading = await bytesOf(page.body)
  assert.deepEqual(Object.keys(reading).sort(), ['/assets/icon.svg', '/assets/page.js', '/assets/style.css'])
  assert.ok(reading['/assets/page.js'] <= 5_000, `${reading['/assets/page.js']} bytes`)
  const total = page.rawPayload.length + Object.values(reading).reduce((sum, bytes) => sum + bytes, 0)
  assert.ok(total <= 20_000, `${total} bytes`)
  assert.ok(compressed <= 8_000, `${compressed} bytes`)
  t.diagnostic(`a page view is ${total} bytes, ${compressed} as the edge sends them, compressed`)

  const [, entry] = /"(\/assets\/editor[^"]+js)"/.exec((await get(app, '/edit/text/a')).body) ?? []
  const first = await scriptsFrom(app, [String(entry)], /^import .*'([^']+)'$/gm)
  const editing = bytesIn(first)
  assert.ok(editing <= 22_000, `${editing} bytes`)

  const all = await scriptsFrom(app, [String(entry)], /(?:^import (?:.* from )?|\bimport\()'(\/[^']+)'/gm)
  const later = new Map([...all].filter(([url]) => !first.has(url)))
  const [bundle] = [...later.keys()].filter((url) => /^\/assets\/codemirror\.[0-9a-f]{12}\.js$/.test(url))
  assert.ok(Number(later.get(bundle)) <= 350_000, `${later.get(bundle)} bytes`)
  later.delete(bundle)
  assert.ok(bytesIn(later) <= 19_000, `${bytesIn(later)} bytes`)
})

/** @param {Map<string, number>} scripts */
const bytesIn = (scripts) => [...scripts.values()].reduce((sum, bytes) => sum + bytes, 0)

/**
 * Requests scripts with those that they import.
 * @param {import('fastify').FastifyInstance} app
 * @param {string[]} urls
 * @param {RegExp} imports  finds an import in a script
 */
async function scriptsFrom (app, urls, imports) {
  /** @type {Map<string, number>} */
  const scripts = new Map()
  for (const url of urls) {
    const { statusCode, headers, rawPayload, body } = await get(app, url)
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    scripts.set(url, rawPayload.length)
    const imported = [...body.matchAll(imports)].map(([, each]) => each)
    const part = /^\/assets\/(?:editor-\w+|codemirror|make|settled|name-list)\.[0-9a-f]{12}\.js$/
    assert.ok(imported.every((each) => part.test(each)), String(imported))
    urls.push(...imported.filter((each) => !urls.includes(each)))
  }
  return scripts
}

test('the bundle of CodeMirror is what its packages make', async () => {
  const bin = fileURLToPath(new URL('../bin/codemirror.js', import.meta.url))
  await promisify(execFile)(process.execPath, [bin, '--check'])
})

test('a heading never has the same id as a form field or another element of the wiki', async (t) => {
  const app = await wiki.build(t)
  const content = ['content', 'tags', 'author', 'summary', 'main', '_content', '_main', 'q']
    .map((name) => `# ${name}`)
    .join('\n\n')
  const { body } = await app.inject({
    method: 'POST',
    url: '/edit/preview/a',
    headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ content }).toString()
  })
  const ids = [...body.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
  assert.ok(ids.includes('content') && ids.includes('_content'))
  assert.deepEqual(ids.filter((id, index) => ids.indexOf(id) !== index), [])
})
