import assert from 'node:assert/strict'
import test from 'node:test'
import { exported, filesIn, imported, zipOf } from './archives.js'
import { get, useWiki } from './helper.js'
import { gif, jpeg, largePng, png, webp } from './images.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** More than one part of a list holds. */
const PAGES = 110
/** What file systems, zips, YAML and the rewriting of links could change. */
const NAMES = [
  'a', 'A', 'a.md', 'a.md/b', 'a.png/b', 'files', 'files/x', 'README', 'guide/README', 'index', 'CON', 'aux.txt/nul',
  '.git/config',
  'dots...', 'a*b?c|d"e<f>', 'C:/x', 'Help:Links', 'mailto:ana', '100%', '%41', '- a', '#', '---', '!x', 'true', 'null',
  '2024-01-01',
  'Straße', 'STRASSE', 'Žabe/Čebela', '日本語/ページ', '한국어', '👩‍🚀/🐝', 'ž'.repeat(200),
  `${'😀'.repeat(100)}/${'😀'.repeat(99)}`
]
const TEXTS = [
  'See [b](b.md), [up](../a.md "t"), ![p](p.png), [[a|b]], ![[p.png]] and\n\n[r]: a.md\n',
  '---\nname: not mine\nrevision: 7\n---\ntext', '---\n', '\r\nCRLF\r\n\r\n', '\ttab  \n\n\n', '\ufeffx',
  'e\u0301 is not \u00e9', '\0'
]

/** @param {App} app @param {Buffer} payload @param {Record<string, string>} about */
const upload = async (app, payload, about) => {
  const answer = await app.inject({
    method: 'POST',
    url: `/api/v1/files?${new URLSearchParams(about)}`,
    headers: { 'content-type': 'image/png' },
    payload
  })
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json().url
}

/** @param {App} app @param {string} url @returns {Promise<any[]>} the items of all parts of a list */
async function all (app, url) {
  const items = []
  for (let cursor = ''; ;) {
    const part = (await get(app, `${url}?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)).json()
    items.push(...part.items)
    if (part.next_cursor === null) return items
    cursor = part.next_cursor
  }
}

/** @param {App} app @returns {Promise<Map<string, object>>} name, text, tags and last author of each page */
async function pagesOf (app) {
  const pages = new Map()
  for (const { name } of await all(app, '/api/v1/pages')) {
    const url = `/api/v1/pages/${encodeURIComponent(name)}`
    const { content, tags } = (await get(app, url)).json()
    const { author } = (await get(app, `${url}/revisions?limit=1`)).json().items[0]
    pages.set(name, { content, tags, author })
  }
  return pages
}

/** @param {App} app @returns {Promise<Map<string, any>>} bytes, name and author by address */
async function picturesOf (app) {
  const pictures = new Map()
  for (const { url, alt, author } of await all(app, '/api/v1/files')) {
    pictures.set(url, { bytes: (await get(app, url)).rawPayload, alt, author })
  }
  return pictures
}

test('an export, imported into an empty wiki, is the same wiki: names, tags, authors, texts, pictures', async (t) => {
  const from = await wiki.build(t)
  const pictures = [
    png(3, 2), largePng(300_000), jpeg(640, 480), gif(20, 10), webp('VP8 ', 5, 5), webp('VP8L', 7, 3),
    webp('VP8X', 9, 9)
  ]
  /** @type {string[]} */
  const urls = []
  for (const [index, picture] of pictures.entries()) {
    urls.push(await upload(from, picture, index % 2 === 0 ? { author: 'Ana', alt: `čebela “${index}”` } : {}))
  }
  const names = [...NAMES,
    ...Array.from({ length: PAGES - NAMES.length }, (_, index) => `Page ${index}/č ${index % 7}`)]
  for (const [index, name] of names.entries()) {
    const content = `${TEXTS[index % TEXTS.length]}\n![a picture](${urls[index % urls.length]})`
    const answer = await from.inject({
      method: 'PUT',
      url: `/api/v1/pages/${encodeURIComponent(name)}`,
      payload: { content, tags: [`tag ${index % 5}`, 'čebela'], author: index % 3 === 0 ? '' : `Ana ${index % 3}` }
    })
    assert.equal(answer.statusCode, 201, answer.body)
  }

  const zip = await exported(from)
  const to = await wiki.build(t)
  const { lines, totals } = await imported(to, zip)
  assert.deepEqual(lines.filter(({ result }) => result !== 'created'), [])
  assert.deepEqual([totals.done, totals.created], [true, names.length + pictures.length])
  assert.deepEqual(lines.filter(({ missing }) => missing !== undefined), [], 'an export’s links are not looked at')

  const [pages, stored] = [await pagesOf(from), await picturesOf(from)]
  assert.deepEqual([pages.size, stored.size], [names.length, pictures.length])
  assert.deepEqual(await pagesOf(to), pages)
  assert.deepEqual(await picturesOf(to), stored)
  for (const [index, picture] of pictures.entries()) assert.deepEqual(stored.get(urls[index]).bytes, picture)
  const again = await filesIn(await exported(to))
  assert.deepEqual([...again.keys()], [...(await filesIn(zip)).keys()])

  assert.equal((await imported(to, zip)).totals.unchanged, names.length + pictures.length)
})

test('pictures of an import are checked as uploads are, and count against the write limit', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '1', UPLOAD_MAX_BYTES: '1000' })
  const grey = (/** @type {number} */ shade) => png(2, 2, shade)
  const zip = await zipOf([
    ['page.md', '![a](img/0.png)'],
    ['img/large.png', largePng(1_001)],
    ['img/broken.png', grey(1).subarray(0, 40)],
    ['img/text.gif', 'no picture'],
    ...Array.from({ length: 12 }, (_, shade) => /** @type {[string, Buffer]} */ ([`img/${shade}.png`, grey(shade)])),
    ['img/tail.png', Buffer.concat([grey(0), Buffer.from('<script>')])]
  ])
  const first = await imported(app, zip)
  assert.deepEqual(
    first.lines.slice(0, 3).map(({ path, result }) => `${path} ${result}`),
    ['img/large.png refused', 'img/broken.png refused', 'img/text.gif refused']
  )
  assert.match(first.lines[0].reason, /larger than 1000 bytes/)
  assert.match(first.lines[1].reason, /damaged/)
  assert.match(first.lines[2].reason, /picture/)
  assert.deepEqual([first.totals.done, first.totals.created, first.totals.left], [false, 8, 6],
    'damaged ones count, too')
  assert.match(first.totals.reason, /at most 10 pages at once/)
  assert.equal((await get(app, '/wiki/page')).statusCode, 404, 'pages come after the pictures that they show')
})

test('an import stores a picture once, at its known address, whatever its file is called', async (t) => {
  const app = await wiki.build(t)
  const photo = jpeg(8, 8)
  const { lines } = await imported(app,
    await zipOf([['a.png', photo], ['b/c.JPEG', photo], ['p.md', '![x](a.png) ![y](b/c.JPEG)']]))
  const [{ url }] = lines
  assert.equal((await get(app, '/api/v1/files')).json().items[0].alt, 'a', 'it has the name of its file')
  assert.match(url, /^\/files\/[0-9a-f]{32}\.jpg$/)
  assert.deepEqual(lines.map(({ path, result }) => [path, result]), [
    ['a.png', 'created'], ['b/c.JPEG', 'unchanged'], ['p.md', 'created']
  ])
  assert.equal((await get(app, '/raw/p')).body, `![x](${url}) ![y](${url})`)
  assert.deepEqual((await get(app, url)).rawPayload, photo)
})
