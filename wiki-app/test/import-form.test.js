import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import test from 'node:test'
import { useTemporary, zipOf } from './archives.js'
import { BROWSER, get, save, useWiki } from './helper.js'
import { jpeg, png } from './images.js'
import { cookieOf, peopleOnly } from './people.js'

const wiki = useWiki()
const uploads = useTemporary()

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * Sends the form as a browser does: fields first, and a file of no name for an input that is left empty.
 * @param {App} app
 * @param {Record<string, string>} fields
 * @param {[path: string, content: string | Buffer][]} files
 * @param {Record<string, string>} [headers]
 */
function submitImport (app, fields, files, headers = {}) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('zip', new Blob([]), '')
  for (const [path, content] of files) {
    form.append(/^\w+\.zip$/.test(path) ? 'zip' : 'folder', new Blob([new Uint8Array(Buffer.from(content))]), path)
  }
  return app.inject({
    method: 'POST',
    url: '/edit/import',
    headers: { ...BROWSER, 'sec-fetch-site': 'same-origin', ...headers },
    payload: form
  })
}

/** @param {import('./helper.js').Response} answer @returns {string} the words of a page */
const words = ({ body }) => body.slice(body.indexOf('<main')).replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

test('a folder comes in by the form; the report links to the pages and gives reasons for refused files', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'docs/kept', 'older')
  const files = /** @type {[string, string | Buffer][]} */ ([
    ['docs/README.md', '[setup](guide/setup.md#x) ![p](img/p.jpg) [gone](gone.md)'],
    ['docs/guide/setup.md', '[back](../README.md)'],
    ['docs/kept.md', 'newer'],
    ['docs/img/p.jpg', jpeg(8, 8)],
    ['docs/notes.txt', 'text'],
    ['docs/old.zip', await zipOf([['x.md', 'x']])],
    ['docs/<b>.md', ''],
    ['docs/.git/HEAD.md', 'x'],
    ['../evil.md', 'x'],
    ['/abs.md', 'x'],
    ['a\\b.md', 'x']
  ])
  const answer = await submitImport(app, { author: 'Ana', summary: 'from my disk', on_conflict: 'keep' }, files)
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['cache-control'], 'private, no-store')
  assert.match(words(answer),
    /2 pages made, 1 page kept as before, 1 picture stored, 1 other file stored, 6 files not taken\./)
  for (const link of ['href="/wiki/docs"', 'href="/wiki/docs/guide/setup"', 'href="/wiki/docs/kept"']) {
    assert.ok(answer.body.includes(link), link)
  }
  assert.match(words(answer), /docs gone\.md/)
  assert.match(words(answer), /docs\/notes\.txt Only Markdown/)
  assert.match(words(answer), /&lt;b&gt;\.md It has no text/)
  assert.doesNotMatch(answer.body, /docs\/<b>/)

  const text = (await get(app, '/raw/docs')).body
  assert.match(text, /^\[setup\]\(\/wiki\/docs\/guide\/setup#x\) !\[p\]\(\/files\/[0-9a-f]{32}\.jpg\) \[gone\]\(gone\.md\)$/)
  assert.equal((await get(app, '/raw/docs/kept')).body, 'older')
  const [change] = (await get(app, '/api/v1/changes?limit=1')).json().items
  assert.deepEqual([change.author, change.summary], ['Ana', 'from my disk'])

  assert.match(words(await submitImport(app, {}, files)), /2 pages already the same, 1 page kept as before/)
  const again = await submitImport(app, { on_conflict: 'replace' }, files)
  assert.match(words(again), /1 page replaced, 2 pages already the same, 1 picture already there, 1 other file already/)
  assert.deepEqual(uploads(), [])
})

test('a zip comes in by the form, such as an export of the whole wiki', async (t) => {
  const [from, to] = [await wiki.build(t), await wiki.build(t)]
  await save(from, 'a/b', '[[c]]')
  const form = await get(from, '/edit/import', BROWSER)
  const [, exportUrl] = /href="([^"]*)"[^>]*>Export everything</.exec(form.body) ?? []
  const zip = (await get(from, exportUrl)).rawPayload
  const answer = await submitImport(to, { author: '', summary: '' }, [['wiki.zip', zip]])
  assert.match(words(answer), /1 page made\./)
  assert.equal((await get(to, '/raw/a/b')).body, '[[c]]')
})

test('an import that stops at the write limit says what is left and when to go on', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '1' })
  const files = Array.from({ length: 14 }, (_, index) => /** @type {[string, string]} */ ([`${index}.md`, 'text']))
  const answer = await submitImport(app, {}, files)
  assert.match(words(answer),
    /10 pages made\. The import stopped before its end\. .*at most 10 pages.*4 files are left\./)
})

test('the form refuses what it cannot take, with a sentence, and keeps nothing', async (t) => {
  const app = await wiki.build(t)
  const zip = await zipOf([['a.md', 'text']])
  /** @type {[Record<string, string>, [string, string | Buffer][], number, RegExp][]} */
  const cases = [
    [{}, [], 400, /Choose a zip file or a folder first/],
    [{}, [['wiki.zip', 'no zip']], 400, /not a whole zip file/],
    [{}, [['wiki.zip', zip.subarray(0, -10)]], 400, /not a whole zip file/],
    [{}, [['wiki.zip', zip], ['b.md', 'x']], 400, /not both/],
    [{ on_conflict: 'x' }, [['wiki.zip', zip]], 400, /one of keep, replace, fail/],
    [{ author: 'x'.repeat(81) }, [['wiki.zip', zip]], 400, /at most 80 characters/],
    [{ author: 'a\u200bb' }, [['wiki.zip', zip]], 400, /name of an author/],
    [{ summary: 'a\nb' }, [['wiki.zip', zip]], 400, /on one line/],
    [{}, Array.from({ length: 5_001 }, (_, index) => /** @type {[string, string]} */ ([`${index}.md`, 'x'])), 413,
      /at most 5000 files/]
  ]
  for (const [fields, files, status, sentence] of cases) {
    const answer = await submitImport(app, fields, files)
    assert.deepEqual([answer.statusCode, answer.headers['content-type']], [status, 'text/html; charset=utf-8'],
      String(sentence))
    assert.match(words(answer), sentence)
  }
  const plain = await app.inject({
    method: 'POST',
    url: '/edit/import',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'a=b'
  })
  assert.equal(plain.statusCode, 415)
  assert.equal((await submitImport(app, {}, [['wiki.zip', zip]], { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  assert.deepEqual((await get(app, '/api/v1/pages')).json().items, [])
  assert.deepEqual(uploads(), [])
})

test('an upload that is too long, breaks off or is the third at once is refused, and its file is gone', async (t) => {
  const app = await wiki.build(t)
  const url = await app.listen({ port: 0 })
  const type = 'multipart/form-data; boundary=x'
  const start = async (/** @type {number} */ bytes) => {
    const outgoing = request(`${url}/edit/import`, {
      method: 'POST', headers: { 'content-type': type, 'content-length': bytes }
    })
    outgoing.on('error', () => {})
    const arrived = once(app.server, 'request')
    outgoing.write('--x\r\ncontent-disposition: form-data; name="zip"; filename="a.zip"\r\n\r\nPK')
    const [incoming] = await arrived
    return { outgoing, closed: new Promise((resolve) => incoming.once('close', resolve)) }
  }
  const long = await start(300_000_000)
  const [answer] = await once(long.outgoing, 'response')
  assert.deepEqual([answer.statusCode, answer.headers.connection], [413, 'close'])
  long.outgoing.destroy()

  const started = [await start(1_000_000), await start(1_000_000)]
  assert.equal((await submitImport(app, {}, [['a.md', 'x']])).statusCode, 429)
  for (const { outgoing, closed } of started) {
    outgoing.destroy()
    await closed
  }
  const last = await submitImport(app, {}, [['a.md', 'x'], ['p.png', png(2, 2)]])
  assert.match(words(last), /1 page made, 1 picture stored\./)
  assert.deepEqual(uploads(), [])
})

test('only those who may write can import, in their own name; everybody may export', async (t) => {
  const named = await wiki.build(t, peopleOnly(t))
  assert.equal((await get(named, '/edit/import', BROWSER)).statusCode, 303, 'to the sign-in')
  assert.equal((await get(named, '/edit/import', { ...BROWSER, ...await cookieOf(named, 'reader') })).statusCode, 403)
  const cookie = await cookieOf(named, 'editor')
  const form = await get(named, '/edit/import', { ...BROWSER, ...cookie })
  assert.equal(form.statusCode, 200)
  assert.doesNotMatch(form.body, /name="author"/)
  assert.equal((await submitImport(named, { author: 'Someone' }, [['a.md', 'x']], cookie)).statusCode, 200)
  assert.equal((await get(named, '/api/v1/changes')).json().items[0].author, 'editor')

  const closed = await wiki.build(t, { ACCESS: 'read-only' })
  assert.equal((await get(closed, '/edit/import', BROWSER)).statusCode, 403)
  const lists = (await get(closed, '/pages', BROWSER)).body
  assert.match(lists, /href="\/api\/v1\/export"/)
  assert.doesNotMatch(lists, /\/edit\/import/)
})
