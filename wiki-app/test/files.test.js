import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { deflateSync } from 'node:zlib'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { inspectImage } from '../src/files/image.js'
import { bearer, peopleOnly } from './people.js'
import { BROWSER, get, save, untilIndexed, useWiki } from './helper.js'
import { chunk, gif, jpeg, largePng, png, pngChunk, riff, webp } from './images.js'

const WAIT_MAX_MS = 60_000

const wiki = useWiki()

/**
 * Uploads an image through the API.
 * @param {import('fastify').FastifyInstance} app
 * @param {Buffer} payload
 * @param {string} [type]
 */
const post = (app, payload, type = 'image/png') =>
  app.inject({ method: 'POST', url: '/api/v1/files', headers: { 'content-type': type }, payload })

/**
 * Uploads an image through the form.
 * @param {import('fastify').FastifyInstance} app
 * @param {[string, string | Buffer][]} fields  bytes are files
 * @param {Record<string, string>} [headers]
 */
function submitForm (app, fields, headers = {}) {
  const form = new FormData()
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([new Uint8Array(value)], { type: 'text/html' }), '../../<b>.html')
  }
  return app.inject({ method: 'POST', url: '/edit/upload', headers, payload: form })
}

/**
 * Submits a form of a picture's page.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} url
 * @param {Record<string, string>} fields
 */
const submitTo = (app, url, fields) => app.inject({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  payload: new URLSearchParams(fields).toString()
})

/** @param {Buffer} data */
const chunked = (data) => Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])

/** The database of the application that was built last. */
const database = () => /** @type {import('mongodb').Db} */ (mongoose.connections[mongoose.connections.length - 1].db)
const counts = async () => Promise.all(
  ['files.files', 'files.chunks'].map((name) => database().collection(name).countDocuments())
)

/**
 * @param {Buffer} bytes
 * @param {number} [pieceBytes]
 */
async function inspect (bytes, pieceBytes = bytes.length || 1) {
  const inspection = inspectImage()
  const kept = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    kept.push(await inspection.feed(bytes.subarray(at, at + pieceBytes)))
  }
  return { ...await inspection.end(), bytes: Buffer.concat(kept) }
}

/**
 * @param {Buffer} bytes
 * @param {number} [pieceBytes]
 * @returns {Promise<string>} why the bytes are not an image; '' when they are one
 */
const complaint = (bytes, pieceBytes) => inspect(bytes, pieceBytes).then(() => '', (
  /** @type {Error & {statusCode?: number}} */ error
) => {
  assert.ok([413, 415].includes(Number(error.statusCode)), error.stack)
  return error.message
})

/** @type {[Buffer, [string, string, number, number]][]} */
const PICTURES = [
  [png(3, 2), ['image/png', 'png', 3, 2]],
  [largePng(300_000), ['image/png', 'png', 1, 1]],
  [jpeg(640, 480), ['image/jpeg', 'jpg', 640, 480]],
  [jpeg(17, 9, 4), ['image/jpeg', 'jpg', 17, 9]],
  [gif(20, 10), ['image/gif', 'gif', 20, 10]],
  [gif(20, 10, 60_000), ['image/gif', 'gif', 60_000, 10]],
  [webp('VP8 ', 16_383, 1), ['image/webp', 'webp', 16_383, 1]],
  [webp('VP8L', 5_000, 9_999), ['image/webp', 'webp', 5_000, 9_999]],
  [webp('VP8X', 16_384, 2), ['image/webp', 'webp', 16_384, 2]]
]

test('an image’s type, dimensions and end are read from its bytes, whatever the size of the chunks', async () => {
  for (const [bytes, [type, extension, width, height]] of PICTURES) {
    for (const tail of ['', 'PK\x03\x04', '<script>alert(1)</script>', '\x89PNG\r\n\x1a\n']) {
      for (const pieceBytes of [1, 7, 1_000, 1_000_000]) {
        if (bytes.length / pieceBytes > 2_000) continue
        assert.deepEqual(
          await inspect(Buffer.concat([bytes, Buffer.from(tail, 'latin1')]), pieceBytes),
          { type, extension, width, height, bytes },
          `${type} ${tail} ${pieceBytes}`
        )
      }
    }
  }
})

test('a truncated image is refused, and a damaged one causes no unexpected error', async () => {
  for (const [bytes, [type]] of PICTURES) {
    for (let length = 0; length < bytes.length; length += bytes.length > 1_000 ? 997 : 1) {
      assert.match(
        await complaint(bytes.subarray(0, length)),
        /This file is not a picture|is damaged: it ends too early/,
        `${type} ${length}`
      )
    }
    for (let at = 0; at < Math.min(bytes.length, 120); at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        await complaint(Buffer.concat([bytes.subarray(0, at), Buffer.from([value]), bytes.subarray(at + 1)]))
      }
    }
  }
})

test('a PNG with a flipped bit in its chunks is refused, as each chunk has a checksum', async () => {
  const bytes = png(30, 20)
  for (let at = 8; at < bytes.length; at++) {
    const spoilt = Buffer.from(bytes)
    spoilt[at] ^= 1 << at % 8
    assert.notEqual(await complaint(spoilt), '', String(at))
  }
})

const PNG_START = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/**
 * @param {(string | Buffer)[][]} chunks
 */
const pngOf = (...chunks) => Buffer.concat([
  PNG_START,
  ...chunks.map(([type, data = Buffer.alloc(0)]) => pngChunk(String(type), Buffer.from(data)))
])
const header = (/** @type {number} */ width, /** @type {number} */ height, depth = 8, colour = 0, interlace = 0) => {
  const data = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, colour, 0, 0, interlace])
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  return data
}
const packed = (/** @type {number} */ bytes) => deflateSync(Buffer.alloc(bytes))

test('a PNG needs as many pixels as its header says, and known chunks in a valid order', async () => {
  for (const [bytes, reason] of /** @type {[Buffer, RegExp][]} */ ([
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(110)], ['IEND']), /^$/],
    [
      pngOf(
        ['IHDR', header(10, 10)],
        ['IDAT', packed(110).subarray(0, 5)],
        ['IDAT', packed(110).subarray(5)],
        ['IDAT'],
        ['IEND']
      ),
      /^$/
    ],
    [pngOf(['IHDR', header(1, 1, 8, 0, 1)], ['IDAT', packed(2)], ['IEND']), /^$/],
    [pngOf(['IHDR', header(8, 8, 1, 0, 1)], ['IDAT', packed(2 + 2 + 2 + 4 + 4 + 8 + 8)], ['IEND']), /^$/],
    [pngOf(['IHDR', header(3, 1, 4, 3)], ['PLTE', 'rgb'], ['IDAT', packed(3)], ['tEXt', 'after'], ['IEND']), /^$/],
    [pngOf(['IHDR', header(1, 1, 16, 6)], ['IDAT', packed(9)], ['IEND']), /^$/],
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(109)], ['IEND']), /fewer pixels/],
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(111)], ['IEND']), /more pixels/],
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(100_000_000)], ['IEND']), /more pixels/],
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(110).subarray(0, -4)], ['IEND']), /cannot be unpacked/],
    [
      pngOf(['IHDR', header(10, 10)], ['IDAT', Buffer.from('<script>alert(1)</script>')], ['IEND']),
      /cannot be unpacked/
    ],
    [pngOf(['IHDR', header(10, 10)], ['IDAT'], ['IEND']), /cannot be unpacked/],
    [pngOf(['IHDR', header(10, 10)], ['IEND']), /no pixels/],
    [pngOf(['IHDR', header(10, 10, 8, 3)], ['IDAT', packed(110)], ['IEND']), /no palette/],
    [pngOf(['IHDR', header(10, 10, 8, 3)], ['PLTE', 'rgbr'], ['IDAT', packed(110)], ['IEND']), /palette/],
    [pngOf(['IHDR', header(10, 10)], ['IHDR', header(10, 10)], ['IDAT', packed(110)], ['IEND']), /no order/],
    [pngOf(['IHDR', header(10, 10)], ['IDAT', packed(110)], ['tEXt'], ['IDAT'], ['IEND']), /no order/],
    [pngOf(['IDAT', packed(110)], ['IHDR', header(10, 10)], ['IEND']), /no order/],
    [pngOf(['IHDR', header(10, 10)], ['EVIL'], ['IDAT', packed(110)], ['IEND']), /nobody knows its chunk EVIL/],
    [pngOf(['IHDR', header(10, 10, 3)], ['IDAT', packed(110)], ['IEND']), /header/],
    [pngOf(['IHDR', header(10, 10)], ...Array(20_000).fill(['noTe'])), /too many chunks/],
    [pngOf(['IHDR', header(0, 10)], ['IDAT', packed(110)], ['IEND']), /no size/],
    [pngOf(['IHDR', header(10_000, 10_000)], ['IDAT', packed(110)], ['IEND']), /at most 50 million/]
  ])) assert.match(await complaint(bytes), reason, String(reason))
})

test('data that only resembles an image is refused', async () => {
  const [image, extended] = [
    webp('VP8L', 5, 6).subarray(12),
    chunk('VP8X', Buffer.from([0, 0, 0, 0, 8, 0, 0, 8, 0, 0]))
  ]
  const frame = (/** @type {number} */ width) =>
    chunk('ANMF', Buffer.from([0, 0, 0, 0, 0, 0, width, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
  const whole = jpeg(9, 9)
  const without = (/** @type {number} */ marker, bytes = whole) => {
    const at = bytes.indexOf(Buffer.from([0xff, marker]))
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 2 + bytes.readUInt16BE(at + 2))])
  }
  for (const bytes of [
    Buffer.alloc(0), Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    Buffer.from('<!doctype html><script>alert(1)</script>'), Buffer.from('%PDF-1.7\n'),
    Buffer.from('GIF89a/*'.padEnd(200, 'a')), Buffer.from('GIF89a=1;alert(1)//'.padEnd(2_000, ';')),
    Buffer.from('GIF89a'), PNG_START, png(0, 1), jpeg(0, 5), jpeg(5, 0), gif(0, 1),
    Buffer.concat([gif(2, 2).subarray(0, 13), Buffer.from([0, 0, 0, 0, 0, 0, 0x3b])]),
    Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0, 0, 0, 0, 0, 0, 0, 0]),
    Buffer.from([0xff, 0xd8, ...Array(5_000).fill(0xff)]),
    without(0xc0), without(0xda), without(0xdb), without(0xc4, without(0xc4)),
    webp('VP8L', 1, 1).fill(0, 20), Buffer.from('RIFF\0\0\0\0WAVEfmt '.padEnd(100, ' ')),
    riff(), riff(chunk('EVIL', Buffer.alloc(4))), riff(extended), riff(extended, image), riff(image, extended),
    riff(extended, frame(9)), riff(frame(1)),
    riff(chunk('VP8 ', Buffer.alloc(20))), riff(chunk('VP8L', Buffer.alloc(2)))
  ]) assert.notEqual(await complaint(bytes), '', bytes.toString('latin1', 0, 60))
  assert.equal(await complaint(riff(extended, frame(8))), '')
})

test('an image of very many tiny parts is refused without blocking the event loop', async () => {
  const [mib5, gifHead] = [5 * 2 ** 20, gif(2, 2).subarray(0, 13)]
  const parts = (/** @type {number[]} */ part) => Buffer.alloc(mib5, Buffer.from(part))
  const empty = chunk('EXIF', Buffer.alloc(0))
  for (const bytes of [
    Buffer.concat([gifHead, parts([0x21, 0xfe, 0])]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), parts([0xff, 0xe1, 0, 2])]),
    riff(webp('VP8L', 1, 1).subarray(12), Buffer.alloc(empty.length * 200_000, empty))
  ]) {
    let turns = 0
    const others = setInterval(() => { turns++ }, 0)
    assert.match(await complaint(bytes), /it has too many parts/)
    clearInterval(others)
    assert.ok(turns >= 5, `${turns} turns of the event loop`)
  }
})

test('slow uploads have their own limit (429) and take no slots from edits', async (t) => {
  const app = await wiki.build(t, { QUEUE_WAIT_MAX_MS: '500' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  const head = 'POST /api/v1/files HTTP/1.1\r\nHost: a\r\nContent-Type: image/gif\r\nContent-Length: 1000\r\n\r\nGIF89a'
  let refused = ''
  const sockets = Array.from({ length: 40 }, () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.on('data', (text) => { refused += text })
    socket.write(head)
    return socket
  })
  t.after(() => { for (const socket of sockets) socket.destroy() })
  const refusals = () => refused.match(/HTTP\/1\.1 429 /g)?.length
  assert.ok(await waitUntil(() => refusals() === 24, WAIT_MAX_MS), refused)
  for (let edit = 0; edit < 3; edit++) assert.equal((await save(app, `a${edit}`, 'text')).statusCode, 201)
  for (const socket of sockets) socket.destroy()
  const isTaken = async () => (await post(app, png(1, 1))).statusCode < 300
  assert.ok(await waitUntil(isTaken, WAIT_MAX_MS), 'disconnected uploads free their slots')
})

test('an upload gets a URL derived from its content and is served unchanged, as immutable', async (t) => {
  const app = await wiki.build(t)
  for (const [bytes, type, extension] of /** @type {[Buffer, string, string][]} */ ([
    [png(30, 20), 'image/png', 'png'],
    [jpeg(4, 3, 1), 'image/jpeg', 'jpg'],
    [gif(2, 1), 'image/gif', 'gif'],
    [webp('VP8X', 5, 6), 'image/webp', 'webp']
  ])) {
    // The wiki ignores the declared type.
    const answer = await post(app, bytes, 'image/svg+xml')
    const url = `/files/${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}.${extension}`
    assert.equal(answer.statusCode, 201, answer.body)
    assert.equal(answer.headers.location, url)
    assert.equal(answer.headers['cache-control'], 'private, no-store')
    const { width, height, created_at: createdAt, ...rest } = answer.json()
    assert.ok(width > 0 && height > 0 && Date.now() - Date.parse(createdAt) < 60_000)
    assert.deepEqual(rest, { url, alt: '', markdown: `![](${url})`, type, size_bytes: bytes.length, author: '' })

    const read = await get(app, url)
    assert.equal(read.statusCode, 200)
    assert.deepEqual(read.rawPayload, bytes)
    assert.equal(read.headers['content-type'], type)
    assert.equal(Number(read.headers['content-length']), bytes.length)
    assert.equal(read.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(read.headers['x-content-type-options'], 'nosniff')
    assert.equal(read.headers['content-security-policy'], "default-src 'none'; sandbox")
    assert.equal(read.headers['content-disposition'], 'inline')

    const head = await app.inject({ method: 'HEAD', url })
    assert.equal(head.body, '')
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'last-modified']) {
      assert.equal(String(head.headers[name]), String(read.headers[name]), name)
    }
    const again = await get(app, url, { 'if-none-match': String(read.headers.etag) })
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
    assert.equal((await get(app, url, { 'if-none-match': '"other"' })).statusCode, 200)
  }
})

test('a file URL with another extension or an unknown hash gets 404 with no-store', async (t) => {
  const app = await wiki.build(t)
  const { url } = (await post(app, png())).json()
  for (const wrong of [
    url.replace('.png', '.jpg'), url.replace('.png', '.svg'), url.replace('.png', ''), `${url}x`, url.toUpperCase(),
    `/files/${'0'.repeat(32)}.png`, '/files/', '/files/..%2fsecret', '/files/%00', '/files/$ne',
    url.replace('.png', '.png%00')
  ]) {
    const { statusCode, headers } = await get(app, wrong)
    assert.equal(statusCode, 404, wrong)
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('an upload that is not an image of an allowed size is refused, and nothing is stored', async (t) => {
  const app = await wiki.build(t)
  for (const bytes of [
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    Buffer.from('<!doctype html><script>alert(1)</script>'),
    Buffer.from('%PDF-1.7'),
    Buffer.alloc(2_000_000)
  ]) {
    const answer = await post(app, bytes)
    assert.equal(answer.statusCode, 415, 'a file that has no name has to be a picture')
    assert.match(answer.json().detail, /PNG, JPEG, WebP or GIF/)
  }
  for (const type of ['text/plain', 'application/json', 'application/octet-stream']) {
    assert.equal((await post(app, Buffer.from('{}'), type)).statusCode, 415)
  }
  for (const bytes of [png(60_000, 60_000), webp('VP8X', 16_777_216, 16_777_216), gif(1, 60_000, 60_000)]) {
    const answer = await post(app, bytes)
    assert.equal(answer.statusCode, 413)
    assert.match(answer.json().detail, /pixels; at most 50 million/)
  }
  assert.deepEqual(await counts(), [0, 0])
})

test('an image that is also a valid script is stored and served only as an image', async (t) => {
  const app = await wiki.build(t)
  const picture = gif(0x2f2a, 1)
  const { url, size_bytes: bytes } =
    (await post(app, Buffer.concat([picture, Buffer.from('*/=1;alert(1)//<script>alert(1)</script>')]))).json()
  const { headers, rawPayload } = await get(app, url)
  assert.equal(bytes, picture.length)
  assert.deepEqual(rawPayload, picture, 'bytes after the end of the image are not stored')
  assert.equal(headers['content-type'], 'image/gif')
  assert.equal(headers['x-content-type-options'], 'nosniff', 'a browser runs no script of this type')
  assert.match(String(headers['content-security-policy']), /sandbox/)
})

test('a submitted upload form gets a page with the Markdown to insert, or JSON outside a browser', async (t) => {
  const app = await wiki.build(t)
  const form = await submitForm(app, [['author', 'Ana & <b>'], ['file', png()]], BROWSER)
  assert.equal(form.statusCode, 201, form.body)
  assert.match(form.body, /<code>!\[\]\(\/files\/[0-9a-f]{32}\.png\)<\/code>/)
  assert.match(form.body, /by <span dir="auto">Ana &amp; &lt;b&gt;<\/span>/)
  assert.doesNotMatch(form.body, /<b>|\.html/)
  const program = await submitForm(app, [['file', png()]])
  assert.equal(program.statusCode, 200)
  assert.equal(program.json().created, false)
})

test('a picture can be named when it is uploaded and later; its line says what it shows', async (t) => {
  const app = await wiki.build(t)
  const form = await submitForm(app, [['author', 'Ana'], ['alt', ' A *cat* [grey] & <b> '], ['file', png()]], BROWSER)
  assert.equal(form.statusCode, 201, form.body)
  const { url, alt, markdown } = (await get(app, '/api/v1/files')).json().items[0]
  assert.equal(alt, 'A *cat* [grey] & <b>')
  assert.equal(markdown, `![A \\*cat\\* \\[grey\\] \\& \\<b>](${url})`)
  await save(app, 'a', markdown)
  assert.match((await get(app, '/wiki/a')).body, /alt="A \*cat\* \[grey\] &amp; &lt;b&gt;"/, 'as it was given')
  assert.match((await get(app, '/files')).body, /alt="A \*cat\* \[grey\] &amp; &lt;b&gt;"/)

  assert.equal((await submitForm(app, [['alt', 'other'], ['file', png()]])).json().alt, alt, 'the first name stays')
  const page = `/edit/picture${url.slice('/files'.length)}`
  assert.match((await get(app, page)).body, /name="alt" maxlength="200" value="A \*cat\* \[grey\] &amp; &lt;b&gt;"/)
  const named = await submitTo(app, page, { alt: 'Mačka' })
  assert.equal(named.headers.location, '/files')
  assert.match((await get(app, '/files')).body, /alt="Mačka"/)
  assert.equal((await submitTo(app, page, { alt: 'a\nb' })).statusCode, 400)
  assert.equal((await submitTo(app, page, { alt: 'a\u202eb' })).statusCode, 400)
  assert.equal((await submitTo(app, page, { alt: '' })).statusCode, 303, 'a name can be taken away')
  assert.equal((await get(app, '/api/v1/files')).json().items[0].markdown, `![](${url})`)
  await submitForm(app, [['alt', 'other'], ['file', png()]])
  assert.equal((await get(app, '/api/v1/files')).json().items[0].alt, 'other', 'what has no name gets the next one')
})

test('a picture can be deleted: the pages that show it are named before, its address says so afterwards', async (t) => {
  /** @type {string[]} */
  const purged = []
  const app = await wiki.build(t, {}, {
    purge: async (stale) => { purged.push(...stale.everything ? ['everything'] : stale.urls) }
  })
  const { url, markdown } = (await post(app, largePng(2_500_000))).json()
  const other = (await post(app, png(2))).json()
  await save(app, 'Shows it', `text ${markdown} text`)
  await save(app, 'Shows the other', other.markdown)
  await save(app, 'Showed it', markdown)
  await app.inject({ method: 'DELETE', url: '/wiki/Showed%20it' })
  await untilIndexed(app)

  const file = url.slice('/files'.length)
  const asked = await get(app, `/edit/picture${file}`, BROWSER)
  assert.equal(asked.headers['cache-control'], 'private, no-store')
  const [, named] = asked.body.split('Pages that show it')
  assert.deepEqual([...named.matchAll(/href="\/wiki\/([^"]+)"/g)].map(([, name]) => name), ['Shows%20it'])
  assert.equal((await submitTo(app, `/edit/delete-picture${file.replace('.png', '.gif')}`, {})).statusCode, 404)
  assert.equal((await get(app, url)).statusCode, 200)

  assert.equal((await submitTo(app, `/edit/delete-picture${file}`, {})).headers.location, '/files')
  const gone = await get(app, url)
  assert.equal(gone.statusCode, 404)
  assert.equal(gone.headers['cache-control'], 'no-store')
  assert.match(gone.json().detail, /^The picture at this address was deleted on \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/)
  assert.ok(await waitUntil(() => purged.includes(url), WAIT_MAX_MS), 'caches forget it')
  assert.equal((await submitTo(app, `/edit/delete-picture${file}`, {})).statusCode, 404)
  assert.deepEqual(await counts(), [1, 1], 'only the other picture is left')
  assert.equal((await get(app, other.url)).statusCode, 200)

  assert.equal((await post(app, largePng(2_500_000))).statusCode, 201, 'the same content can be uploaded again')
  assert.equal((await get(app, url)).statusCode, 200)
  assert.equal((await app.inject({ method: 'DELETE', url: `/api/v1${url}` })).statusCode, 204)
  assert.equal((await get(app, url)).statusCode, 404)
})

test('an invalid upload form gets a 4xx and stores nothing', async (t) => {
  const app = await wiki.build(t)
  const raw = (/** @type {string} */ payload, type = 'multipart/form-data; boundary=x') =>
    app.inject({ method: 'POST', url: '/edit/upload', headers: { 'content-type': type }, payload })
  for (const answer of [
    await submitForm(app, []),
    await submitForm(app, [['author', 'Ana']]),
    await submitForm(app, [['other', png()]]),
    await submitForm(app, [['author', 'a'.repeat(81)], ['file', png()]]),
    await submitForm(app, [['author', 'a\nb'], ['file', png()]]),
    await submitForm(app, [['alt', 'a'.repeat(201)], ['file', png()]]),
    await submitForm(app, [['alt', 'a\u202eb'], ['file', png()]]),
    await submitForm(app, [['file', Buffer.alloc(0)]]),
    await raw('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\x89PNG'),
    await raw('nonsense'),
    await raw(''),
    await raw('--x--'),
    await raw('--x', 'multipart/form-data'),
    await raw('a=b', 'application/x-www-form-urlencoded'),
    await raw('{}', 'application/json')
  ]) {
    assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, `${answer.statusCode} ${answer.body}`)
  }
  assert.deepEqual(await counts(), [0, 0])
  // Extra fields do no harm: the first field of a name counts.
  for (const name of ['author', '__proto__']) {
    assert.ok((await submitForm(app, [['author', 'a'], [name, 'b'], ['file', png()], ['file', png(2)]])).statusCode < 500)
  }
  assert.ok((await counts())[0] <= 1)
})

test('UPLOAD_MAX_BYTES applies to Content-Length and to the bytes that arrive', async (t) => {
  const app = await wiki.build(t, { UPLOAD_MAX_BYTES: '100000' })
  const fits = largePng(100_000)
  assert.equal((await post(app, fits)).statusCode, 201)
  const over = Buffer.concat([fits, Buffer.alloc(1)])
  for (const answer of [await post(app, over), await submitForm(app, [['file', over]])]) {
    assert.equal(answer.statusCode, 413)
    assert.match(answer.json().detail, /larger than 97\.7 kB/)
  }
  assert.deepEqual(await counts(), [1, 1])

  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  for (const head of ['Content-Length: 1000000000', 'Transfer-Encoding: chunked']) {
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST /api/v1/files HTTP/1.1\r\nHost: a\r\nContent-Type: image/png\r\n${head}\r\n\r\n`)
    if (head.startsWith('T')) {
      for (let sent = 0; sent < 30; sent++) socket.write(chunked(sent === 0 ? png() : Buffer.alloc(4096)))
    }
    const [answer] = await once(socket, 'data')
    socket.destroy()
    assert.match(answer.toString(), /^HTTP\/1\.1 413 /)
  }
})

test('concurrent uploads of the same content store one file, and one of them gets 201', async (t) => {
  const app = await wiki.build(t)
  const large = largePng(2_500_000)
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(app, large)))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 200, 200, 200, 200, 201])
  assert.equal(new Set(answers.map((answer) => answer.json().url)).size, 1)
  assert.deepEqual(await counts(), [1, 3])
  assert.deepEqual((await get(app, answers[0].json().url)).rawPayload, large)
})

test('an interrupted upload leaves nothing in the database', async (t) => {
  const app = await wiki.build(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  const body = largePng(2_900_000).subarray(0, 2_500_000)
  for (const [url, type, start] of [
    ['/api/v1/files', 'image/png', ''],
    [
      '/edit/upload',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    ]
  ]) {
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 3000000\r\n\r\n${start}`)
    socket.write(body)
    assert.ok(await waitUntil(async () => (await counts())[1] > 0, WAIT_MAX_MS), 'part of the upload is stored')
    socket.destroy()
    assert.ok(await waitUntil(async () => (await counts())[1] === 0, WAIT_MAX_MS), 'the stored part is removed')
  }
  assert.deepEqual(await counts(), [0, 0])
})

test('uploads are listed newest first, with pagination', async (t) => {
  const app = await wiki.build(t)
  assert.match((await get(app, '/files')).body, /There are none yet/)
  /** @type {string[]} */
  const urls = []
  for (let width = 1; width <= 30; width++) urls.unshift((await post(app, png(width))).json().url)
  const first = await get(app, '/files')
  assert.equal(first.headers['cache-control'], 'public, no-cache')
  const listed = (/** @type {string} */ html) => [...html.matchAll(/<code>!\[\]\(([^)]+)\)/g)].map(([, url]) => url)
  const next = /href="(\/files\?before=[0-9a-f]{24})" rel="next"/.exec(first.body)?.[1]
  const second = await get(app, String(next))
  assert.deepEqual([...listed(first.body), ...listed(second.body)], urls)
  assert.doesNotMatch(second.body, /rel="next"/)
  assert.equal((await get(app, '/files', { 'if-none-match': String(first.headers.etag) })).statusCode, 304)
  for (const query of ['before=1', 'before=x', 'before=a&before=b']) {
    assert.equal((await get(app, `/files?${query}`)).statusCode, 400)
  }
})

test('the indexes exist before the first upload', async (t) => {
  await wiki.build(t)
  const keys = async (/** @type {string} */ name) =>
    (await database().collection(name).indexes()).map(({ key, unique = false }) => [Object.keys(key).join(), unique])
  const before = [await keys('files.files'), await keys('files.chunks')]
  assert.deepEqual(before, [
    [['_id', false], ['filename', true], ['metadata.place.store,metadata.place.id', false]],
    [['_id', false], ['files_id,n', false]]
  ])
})

test('a cross-site upload is refused with 403', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await submitForm(app, [['file', png()]], { 'sec-fetch-site': 'cross-site' })).statusCode, 403)
  assert.equal((await submitForm(app, [['file', png()]], { 'sec-fetch-site': 'same-origin' })).statusCode, 201)
})

test('with sign-in, readers cannot upload, and an upload’s author is the signed-in user', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const upload = (/** @type {Record<string, string>} */ headers) => app.inject({
    method: 'POST',
    url: '/api/v1/files?author=admin',
    headers: { 'content-type': 'image/png', ...headers },
    payload: png()
  })
  assert.equal((await upload({})).statusCode, 401)
  assert.equal((await upload(bearer('reader'))).statusCode, 403)
  assert.equal((await upload(bearer('editor'))).statusCode, 201)
  const { body } = await get(app, '/files')
  assert.match(body, />editor</)
  assert.doesNotMatch(body, />admin</)
})
