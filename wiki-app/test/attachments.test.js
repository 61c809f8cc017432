// Files that are no pictures: downloads, which never run or show in the wiki's origin.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import test from 'node:test'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { asDownload, attachmentName } from '../src/files/attachment-name.js'
import { exported, filesIn, imported, zipOf } from './archives.js'
import { BROWSER, get, save, untilIndexed, useWiki } from './helper.js'
import { largePng, png } from './images.js'

const WAIT_MAX_MS = 60_000
const PDF = Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj')

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * Through the form, as a browser without JavaScript sends it.
 * @param {App} app @param {Buffer | string} content @param {string} name @param {Record<string, string>} [headers]
 */
function upload (app, content, name, headers = {}) {
  const form = new FormData()
  form.append('alt', '')
  form.append('file', new Blob([new Uint8Array(Buffer.from(content))], { type: 'text/html' }), name)
  return app.inject({ method: 'POST', url: '/edit/upload', headers, payload: form })
}

/** @param {App} app @param {Buffer | string} content @param {string} name @returns {Promise<any>} the item */
async function uploaded (app, content, name) {
  const answer = await upload(app, content, name)
  assert.ok([200, 201].includes(answer.statusCode), answer.body)
  return answer.json()
}

/**
 * As programs send it, with its length.
 * @param {App} app @param {Buffer} payload @param {string} name
 */
const sent = (app, payload, name) => app.inject({
  method: 'POST',
  url: `/api/v1/files?name=${name}`,
  headers: { 'content-type': 'application/octet-stream' },
  payload
})

/** @param {Buffer | string} content */
const hashOf = (content) => createHash('sha256').update(content).digest('hex').slice(0, 32)

const database = () => /** @type {import('mongodb').Db} */ (mongoose.connections[mongoose.connections.length - 1].db)
const counts = () => Promise.all(
  ['files.files', 'files.chunks'].map((name) => database().collection(name).countDocuments())
)

test('the name of a file is one part of a path, reads as it is, and fits into every file system', () => {
  for (const [given, name] of [
    ['report.pdf', 'report.pdf'], ['../../x', 'x'], ['..\\..\\x.exe', 'x.exe'], ['a/b/c.txt', 'c.txt'],
    ['a\r\nSet-Cookie: x', 'aSet-Cookie_ x'], ['a\0b.pdf', 'ab.pdf'], ['a\u202efdp.exe', 'afdp.exe'],
    ['z\u200bero\u00ad.pdf', 'zero.pdf'], ['\ud800x.pdf', 'x.pdf'], ['', 'file'], ['..', 'file'], ['. . .', 'file'],
    ['.htaccess', 'htaccess'], ['a. ', 'a'], ['a"b<c>:|?*%41.pdf', 'a_b_c______41.pdf'], ['con.txt', '_con.txt'],
    ['e\u0301.pdf', 'é.pdf'], ['Poročilo  čebele.ods', 'Poročilo čebele.ods'], ['日本語.zip', '日本語.zip'],
    ['می‌خواهم.pdf', 'می‌خواهم.pdf'], ['👩‍🚀.zip', '👩‍🚀.zip']
  ]) {
    assert.equal(attachmentName(given), name, JSON.stringify(given))
    assert.equal(attachmentName(name), name, 'a name of its own stays')
  }
  for (const long of ['x'.repeat(300), '😀'.repeat(300), 'č'.repeat(300), `${'. '.repeat(300)}a`]) {
    for (const extension of ['', '.pdf', `.${'y'.repeat(300)}`]) {
      const name = attachmentName(long + extension)
      assert.ok([...name].length <= 100 && Buffer.byteLength(name) <= 200, name)
      if (extension === '.pdf') assert.match(name, /\.pdf$/)
      assert.equal(attachmentName(name), name)
      assert.match(asDownload(name), /^[\x20-\x7e]+$/)
    }
  }
})

test('the name of a name is itself, whatever is in it', () => {
  const parts = [
    'e', 'a', '\u0301', '\u0323', '\u0338', '\u00ad', '\u200b', '\u200c', '\u200d', '\u202e', '\ufe0f', '\u20e3', '1',
    '\u0645', '\u0915', '\u094d', '\u1100', '\u1161', '\u11a8', '👩', '🚀', '葛', '\u{e0100}', '\ud800',
    '\udc00', '<', '=',
    ' ', '.', '\u00a0', '\u2028', '\0', '/', '\\', '%', 'con', 'x'.repeat(97), '.pdf', '\ue000', '\u0378',
    'ﬁ', '\u212b'
  ]
  // https://en.wikipedia.org/wiki/Lehmer_random_number_generator
  let seed = 20_260_101
  const below = (/** @type {number} */ count) => {
    seed = seed * 48_271 % 2_147_483_647
    return seed % count
  }
  const given = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 1 + below(9) }, () => parts[below(parts.length)].repeat(below(50) === 0 ? 60 : 1)).join(''))
  for (const each of ['e\u00ad\u0301.pdf', `${'x'.repeat(93)}\u0645\u200d\u0645\u0645.pdf`, ...given]) {
    const name = attachmentName(each)
    assert.equal(attachmentName(name), name, JSON.stringify(each))
    assert.ok(name !== '' && [...name].length <= 100 && Buffer.byteLength(name) <= 200, JSON.stringify(each))
    assert.equal(name, name.normalize('NFC'))
  }
})

test('the header names the file for old and new clients, and nothing in a name ends it', () => {
  assert.equal(asDownload('report.pdf'), 'attachment; filename="report.pdf"; filename*=UTF-8\'\'report.pdf')
  assert.equal(asDownload('Čebela’s (1); x.pdf'),
    'attachment; filename="Cebela_s (1)_ x.pdf"; filename*=UTF-8\'\'%C4%8Cebela%E2%80%99s%20%281%29%3B%20x.pdf')
})

test('any file is taken, and served as a download of its name alone, whatever it is', async (t) => {
  const app = await wiki.build(t)
  for (const [content, name] of /** @type {[Buffer | string, string][]} */ ([
    [PDF, 'My report (1).pdf'],
    ['<!doctype html><script>alert(1)</script>', 'page.html'],
    ['<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'drawing.svg'],
    ['<script>alert(1)</script>', 'photo.png'],
    ['alert(1)', 'script.js'],
    ['RIFF\x10\0\0\0WAVEfmt ', 'sound.wav'],
    ['a,b\n', 'a.csv'], ['x', 'Poročilo 日本.ods'], ['# Text', 'notes.md'], [Buffer.alloc(2_500_000, 7), 'large.zip']
  ])) {
    const answer = await upload(app, content, name)
    assert.equal(answer.statusCode, 201, answer.body)
    const { url, type, bytes, width } = answer.json()
    assert.match(url, new RegExp(`^/files/${hashOf(content)}/[\\w.%-]+$`))
    assert.equal(decodeURIComponent(url.split('/')[3]), name)
    assert.deepEqual([type, bytes, width], ['application/octet-stream', Buffer.from(content).length, undefined])
    const { statusCode, headers, rawPayload } = await get(app, url, BROWSER)
    assert.equal(statusCode, 200)
    assert.ok(rawPayload.equals(Buffer.from(content)))
    assert.equal(headers['content-disposition'], asDownload(name))
    assert.equal(headers['content-type'], 'application/octet-stream')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox")
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(Number(headers['content-length']), rawPayload.length)
    assert.equal((await get(app, url, { 'if-none-match': String(headers.etag) })).statusCode, 304)
    const head = await app.inject({ method: 'HEAD', url })
    assert.deepEqual([head.body, head.headers['content-disposition']], ['', headers['content-disposition']])
  }
})

test('a file that begins as a picture and is none is refused, a picture is shown whatever its name', async (t) => {
  const app = await wiki.build(t)
  for (const content of ['GIF89a/*<script>alert(1)</script>*/=1', png().subarray(0, 40)]) {
    const answer = await upload(app, content, 'x.html')
    assert.equal(answer.statusCode, 415, answer.body)
    assert.match(answer.json().detail, /is damaged/)
  }
  assert.deepEqual(await counts(), [0, 0])
  const { url, markdown } = await uploaded(app, Buffer.concat([png(), Buffer.from('<script>')]), 'x.html')
  assert.match(url, /^\/files\/[0-9a-f]{32}\.png$/)
  assert.equal(markdown, `![](${url})`)
  assert.deepEqual((await get(app, url)).rawPayload, png())
  for (const other of [url.replace('/files/a', '/files/%61'), url.replace('.', '%2E')]) {
    assert.notEqual(other, url)
    const { statusCode, headers } = await get(app, other)
    assert.deepEqual([statusCode, headers.location], [301, url], `${other}: caches store one spelling`)
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('hostile names end in no header, path or page', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['../../x', 'a\r\nSet-Cookie: x', 'x'.repeat(300), 'a\u202efdp.exe', '"; filename="b.html',
    '<img src=x onerror=alert(1)>.pdf', '[x](javascript:alert(1)).pdf', '`$x$`_*~&amp;.pdf', '^1', '__proto__',
    '%2e%2e%2fx']) {
    const { url, name: kept, markdown } = await uploaded(app, `text of ${name}`, name)
    const { headers, statusCode, body } = await get(app, url)
    assert.deepEqual([statusCode, body], [200, `text of ${name}`])
    assert.equal(headers['set-cookie'], undefined)
    assert.match(String(headers['content-disposition']),
      /^attachment; filename="[^"\r\n]+"; filename\*=UTF-8''[\w.%~-]+$/)
    assert.match(kept, /^[^/\\\p{Cc}\u202e%"<>:]{1,100}$/u)
    await save(app, 'a', `${markdown}\n\n[^1]: a note`)
    const shown = (await get(app, '/wiki/a')).body
    const link = new RegExp(`<a href="${url.replace(/[.]/g, '\\.')}"[^>]*>([^<]+)</a> \\(\\d+ bytes\\)`).exec(shown)
    assert.equal(link?.[1].replaceAll('&amp;', '&'), kept, shown)
  }
  const { body } = await get(app, '/files')
  assert.doesNotMatch(body, /<img src=x|javascript:alert\(1\)"/)
})

test('the same bytes under two names are one file with two addresses; no other name is one', async (t) => {
  const app = await wiki.build(t)
  const first = await uploaded(app, PDF, 'a.pdf')
  const second = await upload(app, PDF, 'b č.pdf')
  assert.deepEqual([second.statusCode, second.json().name, second.json().created], [200, 'b č.pdf', false])
  const { url } = second.json()
  assert.deepEqual(await counts(), [1, 1])
  for (const [address, name] of [[first.url, 'a.pdf'], [url, 'b č.pdf']]) {
    const { headers, rawPayload } = await get(app, address)
    assert.equal(headers['content-disposition'], asDownload(name))
    assert.ok(rawPayload.equals(PDF))
  }
  const folder = `/files/${hashOf(PDF)}`
  for (const wrong of [`${folder}/invoice.exe`, folder, `${folder}/`, `${folder}.png`, `${folder}.png/a.pdf`,
    `${folder}/..%2fa.pdf`, `${folder}/%ff`, `${folder}/a.pdf/b`, `/files/${'0'.repeat(32)}/a.pdf`,
    `${folder}/length`]) {
    const { statusCode, headers } = await get(app, wrong)
    assert.ok([400, 404].includes(statusCode), `${wrong} ${statusCode}`)
    assert.match(String(headers['cache-control']), /no-store/, wrong)
  }
  for (const other of [url.replace('%C4%8D', '%c4%8d'), `${url}?x=1`, `${folder}/%61.pdf`]) {
    const { statusCode, headers } = await get(app, other)
    assert.equal(statusCode, 301, `${other}: caches store one spelling`)
    assert.equal(headers['cache-control'], 'no-store')
    assert.ok([url, first.url].includes(String(headers.location)))
  }
  for (let count = 0; count < 30; count++) await uploaded(app, PDF, `${count}.pdf`)
  const [{ metadata }] = await database().collection('files.files').find().toArray()
  assert.equal(metadata.names.length, 20)
  assert.equal((await uploaded(app, PDF, 'more.pdf')).name, 'a.pdf', 'beyond that it keeps its first name')
})

test('uploads of one file at once, under several names, store it once', async (t) => {
  const app = await wiki.build(t)
  const content = Buffer.alloc(1_500_000, 'x')
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => upload(app, content, `${index}.bin`)))
  assert.equal(answers.filter(({ statusCode }) => statusCode === 201).length, 1)
  for (const answer of answers) assert.ok((await get(app, answer.json().url)).rawPayload.equals(content))
  assert.deepEqual(await counts(), [1, 2])
})

test('nothing is stored of a file that is empty, cut in the middle, or too large', async (t) => {
  const app = await wiki.build(t, { UPLOAD_MAX_BYTES: '100000' })
  assert.equal((await upload(app, '', 'a.pdf')).statusCode, 400)
  const large = await upload(app, Buffer.alloc(100_001, 'x'), 'a.pdf')
  assert.equal(large.statusCode, 413)
  assert.match(large.json().detail, /larger than 97\.7 kB/)
  assert.equal((await upload(app, Buffer.alloc(100_000, 'x'), 'fits.pdf')).statusCode, 201)
  assert.deepEqual(await counts(), [1, 1])

  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF and so on'
  const cut = await app.inject({
    method: 'POST', url: '/edit/upload', headers: { 'content-type': 'multipart/form-data; boundary=x' }, payload: head
  })
  assert.equal(cut.statusCode, 400, cut.body)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  for (const request of [
    'POST /edit/upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n' +
      `Content-Length: 9000\r\n\r\n${head}`,
    'POST /api/v1/files?name=a.pdf HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n' +
      'Content-Length: 9000\r\n\r\n%PDF and so on'
  ]) {
    const socket = connect(port, '127.0.0.1')
    socket.write(request)
    await new Promise((resolve) => { socket.write('more', resolve) })
    await new Promise((resolve) => { setTimeout(resolve, 300) })
    socket.destroy()
  }
  await new Promise((resolve) => { setTimeout(resolve, 500) })
  assert.ok(await waitUntil(async () => String(await counts()) === '1,1', WAIT_MAX_MS), String(await counts()))
})

test('all files together have a limit, and room again after a deletion', async (t) => {
  const app = await wiki.build(t, { UPLOADS_MAX_MIB: '1' })
  const large = Buffer.alloc(1_048_000, 'x')
  const { url } = (await sent(app, large, 'a.zip')).json()
  for (const answer of [await sent(app, Buffer.alloc(1_000), 'b.zip'), await sent(app, largePng(1_000), 'c.png')]) {
    assert.equal(answer.statusCode, 413, answer.body)
    const { detail } = answer.json()
    assert.match(detail, /^The files of this wiki have 1023\.4 kB together, of at most 1 MB:.*UPLOADS_MAX_MIB/)
  }
  assert.equal((await sent(app, Buffer.alloc(500), 'b.zip')).statusCode, 201, 'what fits is taken')
  assert.equal((await sent(app, large, 'same.zip')).json().name, 'same.zip', 'the same bytes need no room')
  assert.equal((await sent(app, Buffer.alloc(100), 'b.zip')).statusCode, 413, 'nor do they make any')
  assert.deepEqual(await counts(), [2, 2])
  assert.equal((await app.inject({ method: 'DELETE', url: `/api/v1/files/${url.split('/')[2]}` })).statusCode, 204)
  assert.equal((await sent(app, Buffer.alloc(1_000), 'b.zip')).statusCode, 201)
})

test('uploads at the same time do not pass the limit together, and what fits is taken', async (t) => {
  const app = await wiki.build(t, { UPLOADS_MAX_MIB: '9' })
  const answers = await Promise.all(Array.from({ length: 16 }, async (_, index) =>
    (await sent(app, Buffer.alloc(4_000_000, `${index} `), `${index}.bin`)).statusCode))
  assert.deepEqual(answers.sort(), [201, 201, ...Array(14).fill(413)])
  const files = await database().collection('files.files').find().toArray()
  assert.equal(files.reduce((sum, { length }) => sum + length, 0), 8_000_000)
  assert.equal((await sent(app, Buffer.alloc(1_400_000), 'rest.bin')).statusCode, 201, 'refused ones keep no room')
})

test('through the API a file needs a name; lists show it; it can be described', async (t) => {
  const app = await wiki.build(t)
  const post = (/** @type {string} */ query) => app.inject({
    method: 'POST',
    url: `/api/v1/files${query}`,
    headers: { 'content-type': 'application/octet-stream' },
    payload: PDF
  })
  assert.equal((await post('')).statusCode, 415)
  const answer = await post('?name=..%2Fa%20b.pdf&author=Ana')
  assert.equal(answer.statusCode, 201, answer.body)
  const { created_at: _, ...item } = answer.json()
  const url = `/files/${hashOf(PDF)}/a%20b.pdf`
  const size = PDF.length
  assert.deepEqual(item, {
    url,
    name: 'a b.pdf',
    alt: '',
    markdown: `[a b.pdf](${url}) (${size} bytes)`,
    type: 'application/octet-stream',
    size_bytes: size,
    author: 'Ana'
  })
  const patched = await app.inject({
    method: 'PATCH', url: `/api/v1/files/${hashOf(PDF)}`, payload: { alt: 'Of <b>the</b> year' }
  })
  assert.equal(patched.statusCode, 200, patched.body)
  const [listed] = (await get(app, '/api/v1/files')).json().items
  assert.deepEqual([listed.alt, listed.name], ['Of <b>the</b> year', 'a b.pdf'])
  const list = (await get(app, '/files')).body
  assert.match(list, /<a class="attachment" href="\/files\/[0-9a-f]{32}\/a%20b\.pdf" dir="auto">a b\.pdf<\/a>/)
  assert.match(list, /<b dir="auto">Of &lt;b&gt;the&lt;\/b&gt; year<\/b>/)
})

test('a deleted file is gone at all its addresses, and pages that link it are named before', async (t) => {
  /** @type {string[]} */
  const purged = []
  const app = await wiki.build(t, {}, {
    purge: async (stale) => { purged.push(...stale.everything ? ['everything'] : stale.urls) }
  })
  const urls = [(await uploaded(app, PDF, 'a.pdf')).url, (await uploaded(app, PDF, 'b.pdf')).url]
  await save(app, 'Links it', `[b](${urls[1]})`)
  await untilIndexed(app)
  const asked = await get(app, `/edit/picture/${hashOf(PDF)}`, BROWSER)
  assert.match(asked.body, /href="\/wiki\/Links%20it"/)
  assert.match(asked.body, /It was also uploaded as:[^]*b\.pdf/)
  const done = await app.inject({
    method: 'POST',
    url: `/edit/delete-picture/${hashOf(PDF)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: ''
  })
  assert.equal(done.statusCode, 303, done.body)
  for (const url of urls) {
    const gone = await get(app, url)
    assert.equal(gone.statusCode, 404)
    assert.match(gone.json().detail, /^The file at this address was deleted on/)
    assert.ok(await waitUntil(() => purged.includes(url), WAIT_MAX_MS), `caches forget ${url}`)
  }
  assert.deepEqual(await counts(), [0, 0])
})

test('an export has all files under all their names, and an import into an empty wiki restores them', async (t) => {
  const app = await wiki.build(t)
  /** @type {[string, string][]} */
  const files = [
    ['# no page', 'notes.md'], ['x', 'a.pdf'], ['x', 'b č.pdf'], ['<script>', 'photo.png'], ['y', 'none'],
    ['z', 'index.html']
  ]
  const items = []
  for (const [content, name] of files) items.push(await uploaded(app, content, name))
  await save(app, `files/${hashOf('# no page')}/notes`, 'a page beside it')
  const below = [
    `files/${hashOf('x')}/a.pdf/b`, `files/${hashOf('y')}/none/b`, `Files/${hashOf('y').toUpperCase()}/NONE/c`,
    `fileſ/${hashOf('y')}/none/b/c`
  ]
  for (const name of below) await save(app, name, `the page ${name}`)
  const zip = await exported(app)
  const paths = [...(await filesIn(zip)).keys()]
  assert.equal(paths.length, 11)
  const folded = paths.map((each) => each.normalize('NFKD').toUpperCase())
  for (const each of folded) assert.ok(!folded.some((other) => other.startsWith(`${each}/`)), each)
  const other = await wiki.build(t)
  const { lines, totals } = await imported(other, zip)
  assert.deepEqual(lines.filter(({ result }) => !['created', 'unchanged'].includes(result)), [])
  assert.deepEqual([totals.created, totals.unchanged], [10, 1], 'bytes are stored once')
  for (const [index, { url }] of items.entries()) {
    const { statusCode, body, headers } = await get(other, url)
    assert.deepEqual([statusCode, body, headers['content-disposition']],
      [200, files[index][0], asDownload(files[index][1])])
  }
  assert.equal((await get(other, `/raw/files/${hashOf('# no page')}/notes`)).body, 'a page beside it')
  for (const name of below) assert.equal((await get(other, `/raw/${encodeURI(name)}`)).body, `the page ${name}`)
  assert.equal((await imported(other, zip)).totals.unchanged, 11)
})

test('documents of a folder from elsewhere come along, with the links to them; programs do not', async (t) => {
  const app = await wiki.build(t)
  const { lines } = await imported(app, await zipOf([
    ['guide/a.md', 'See [the report](../docs/My%20report.pdf), ![[b.svg]] and [code](run.js).'],
    ['docs/My report.pdf', PDF], ['docs/b.svg', '<svg/>'], ['guide/run.js', 'alert(1)']
  ]))
  assert.deepEqual(lines.map(({ path, result }) => `${path} ${result}`).sort(),
    ['docs/My report.pdf created', 'docs/b.svg created', 'guide/a.md created', 'guide/run.js refused'])
  const report = `/files/${hashOf(PDF)}/My%20report.pdf`
  const { body } = await get(app, '/raw/guide/a')
  assert.ok(body.startsWith(`See [the report](${report}), ![b.svg](/files/${hashOf('<svg/>')}/b.svg)`), body)
  const shown = (await get(app, '/wiki/guide/a')).body
  assert.match(shown, new RegExp(`<a href="/files/${hashOf('<svg/>')}/b.svg">b.svg</a>`), 'a link, as it is no picture')
  assert.equal((await get(app, report)).headers['content-disposition'], asDownload('My report.pdf'))
})
