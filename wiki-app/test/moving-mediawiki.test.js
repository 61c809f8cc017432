import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { readMediaWiki } from '../src/moving/mediawiki/reader.js'
import { get, untilCounted, useWiki } from './helper.js'
import { png } from './images.js'
import { dump, escaped, FOOT, generatedDump, head, page } from './mediawiki-dump.js'
import { contents, moveIn } from './moving.js'

/** @import {Moved, MovedPage, MovedRevision, ReaderOptions} from '../src/moving/content.js' */

const wiki = useWiki()

/** @param {import('node:test').TestContext} t @param {string | Buffer} content @param {string} [name] */
function fileWith (t, content, name = 'dump.xml') {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-dump-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, name)
  writeFileSync(file, content)
  return file
}

/**
 * @param {string} file @param {ReaderOptions} [options]
 * @returns {Promise<(Exclude<Moved, MovedPage> | {kind: 'page', name: string, revisions: MovedRevision[]})[]>}
 */
async function allOf (file, options = {}) {
  const things = []
  for await (const thing of readMediaWiki(file, options)) {
    if (thing.kind !== 'page') {
      things.push(thing)
      continue
    }
    const revisions = []
    for await (const each of thing.revisions) if (!('isLost' in each)) revisions.push(each)
    things.push({ kind: thing.kind, name: thing.name, revisions })
  }
  return things
}

/** @param {Awaited<ReturnType<typeof allOf>>} things @returns {Record<string, MovedRevision[]>} */
const pagesIn = (things) =>
  Object.fromEntries(things.flatMap((thing) => thing.kind === 'page' ? [[thing.name, thing.revisions]] : []))

test('a dump comes into a wiki: pages, history, redirects; what is not wanted is counted', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const file = fileWith(t, dump(
    page('Main Page', [
      { id: 11, timestamp: '2008-01-02T03:04:05Z', text: 'Old & <b>bold</b>' },
      {
        id: 12,
        timestamp: '2009-01-02T03:04:05Z',
        contributor: '<ip>192.0.2.7</ip>',
        comment: '',
        text: '[[Bees]] “new”'
      }
    ]),
    page('Home page', [{ text: 'home' }, { text: '#REDIRECT [[Main Page#Top]]' }], {
      more: '<redirect title="Main Page#Top" />'
    }),
    page('Talk:Main Page', [{ text: 'chat' }], { ns: 1 }),
    page('Category:Insects', [{ text: 'list' }], { ns: 14 })
  ))
  /** @type {string[][]} */
  const asked = []
  const { totals, outcomes } = await moveIn(uri, readMediaWiki(file, {
    async convert (texts, about) {
      asked.push([String(about?.page), ...texts])
      return texts.map((content) => ({ content: content.replace("'''", '**'), tags: ['Insects'] }))
    }
  }))
  assert.deepEqual([totals.created, totals.redirect, totals['left-out'], totals.untaken], [1, 1, 3, 0])
  assert.deepEqual(asked, [['Main Page', 'Old & <b>bold</b>', '[[Bees]] “new”']], 'in one call')
  assert.match(JSON.stringify(outcomes), /pages of the namespace Talk/)
  assert.match(JSON.stringify(outcomes), /older revisions of pages that redirect now.*"count":1/)
  const { items } = (await get(app, '/api/v1/pages/Main%20Page/revisions')).json()
  assert.deepEqual(items.map((/** @type {any} */ item) => [item.author, item.summary, item.created_at, item.tags]), [
    ['192.0.2.7', '', '2009-01-02T03:04:05.000Z', ['insects']],
    ['Ana', 'tidied', '2008-01-02T03:04:05.000Z', ['insects']]
  ])
  assert.equal((await get(app, '/raw/Main%20Page')).body, '[[Bees]] “new”')
  assert.equal((await get(app, '/wiki/Home%20page')).headers.location, '/wiki/Main%20Page')

  const talk = await moveIn(uri, readMediaWiki(file, { namespaces: ['main', 'talk', 'Category'] }))
  assert.deepEqual(talk.outcomes.map(({ source, result }) => [source, result]), [
    ['Main Page', 'unchanged'], ['Talk:Main Page', 'created'], ['Category:Insects', 'created'],
    [file, 'left-out'],
    ['Home page', 'unchanged']
  ])
  await assert.rejects(allOf(file, { namespaces: ['Gadgets'] }), /no namespace "Gadgets"; it has main, .*Talk/)
})

test('revisions come in the order of their dates; texts that are deleted or suppressed are left out', async (t) => {
  const file = fileWith(t, dump(
    page('Order', [
      { id: 30, timestamp: '2012-01-01T00:00:00Z', text: 'third' },
      { id: 10, timestamp: '2010-01-01T00:00:00Z', text: 'first' },
      { id: 21, timestamp: '2011-01-01T00:00:00Z', text: 'second b' },
      { id: 20, timestamp: '2011-01-01T00:00:00Z', text: 'second a' }
    ]),
    page('Hidden', [
      { id: 40, textElement: '<text bytes="9" deleted="deleted" />' },
      { id: 41, contributor: '', comment: '<comment deleted="deleted" />', text: 'seen' },
      { id: 42, textElement: '<text bytes="800" id="7" />' },
      { id: 43, textElement: '<text bytes="0" />' }
    ])
  ).replace('<contributor></contributor>', '<contributor deleted="deleted" />'))
  const things = await allOf(file)
  const { Order, Hidden } = pagesIn(things)
  assert.deepEqual(Order.map(({ content, id }) => [content, id]), [
    ['first', 'gardenwiki:10'], ['second a', 'gardenwiki:20'], ['second b', 'gardenwiki:21'], ['third', 'gardenwiki:30']
  ])
  assert.deepEqual(Hidden.map(({ content, author, summary }) => [content, author, summary]),
    [['seen', '', ''], ['', 'Ana', 'tidied']])
  assert.deepEqual(things.filter(({ kind }) => kind === 'left-out').map((each) => [
    'count' in each && each.count, 'reason' in each && each.reason
  ]), [
    [1, 'revisions whose texts are deleted there'],
    [1, 'revisions of which the dump has no text (it may be one of stubs)']
  ])
})

test('a page goes on when a text that is here was deleted there', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const moved = (/** @type {import('./mediawiki-dump.js').DumpedRevision[]} */ ...revisions) =>
    moveIn(uri, readMediaWiki(fileWith(t, dump(page('Bees', revisions, { id: 1 }))), {}))
  const [first, second, third] = [50, 51, 52].map((id) => ({ id, text: `text ${id}` }))
  const hidden = { id: 51, textElement: '<text bytes="7" deleted="deleted" />' }
  await moved(first, second)
  const same = await moved(first, hidden)
  assert.deepEqual(same.outcomes.map(({ result }) => result), ['unchanged', 'left-out'])
  const { outcomes: [bees] } = await moved(first, hidden, third)
  assert.deepEqual([bees.result, bees.revisions, bees.problem], ['appended', 1, undefined])
  assert.match((await get(app, '/wiki/Bees')).body, /text 52/)
  assert.match((await get(app, '/revision/Bees/2')).body, /text 51/, 'what is here stays')
  const { totals } = await moved({ ...hidden, id: 53 }, first, hidden, third)
  assert.deepEqual([totals.unchanged, totals.missing], [1, 0], 'a hidden text that never came is none')
})

test('what is no wikitext becomes a code block', async (t) => {
  const code = 'a { b: "```" }'
  const file = fileWith(t, dump(
    page('Style.css', [{ model: 'css', text: code }]), page('Data.json', [{ model: 'json', text: '{}\n' }]),
    page('Board', [{ model: 'flow-board', text: 'x' }])
  ))
  const convert = async () => { throw new Error('not asked') }
  const found = pagesIn(await allOf(file, { convert }))
  assert.deepEqual(Object.values(found).map(([{ content }]) => content),
    [`\`\`\`\`css\n${code}\n\`\`\`\`\n`, '```json\n{}\n```\n', '```\nx\n```\n'])
})

test('texts that are here already are not converted again', async (t) => {
  const uri = wiki.freshUri()
  const pages = (/** @type {number} */ last) => dump(page('Bees', Array.from({ length: last }, (_, index) =>
    ({
      id: 100 + index,
      timestamp: `2012-01-${String(index + 1).padStart(2, '0')}T00:00:00Z`,
      text: `text ${index + 1}`
    }))))
  /** @type {string[]} */
  const converted = []
  const { openWiki } = await import('../src/moving/open-wiki.js')
  const { createMoving } = await import('../src/moving/import.js')
  const { readConfig } = await import('../src/config.js')
  const open = await openWiki(readConfig({ MONGODB_URI: uri }), { mayWrite: true })
  t.after(() => open.close())
  /** @param {number} last */
  async function moved (last) {
    const moving = createMoving({ ...open, kind: 'mediawiki' })
    const { newestStored } = moving
    converted.length = 0
    return moving.run(readMediaWiki(fileWith(t, pages(last)), {
      newestStored,
      async convert (texts) {
        converted.push(...texts)
        return texts.map((content) => ({ content: `${content}!` }))
      }
    }))
  }
  assert.equal((await moved(3)).revisions, 3)
  assert.equal((await moved(3)).unchanged, 1)
  assert.deepEqual(converted, [])
  assert.equal((await moved(5)).appended, 1)
  assert.deepEqual(converted, ['text 4', 'text 5'])
})

test('another wiki has pages of the same names, and other histories', async (t) => {
  const uri = wiki.freshUri()
  const of = (/** @type {string} */ dbname, /** @type {string} */ text) =>
    fileWith(t, head({ dbname }) + page('Main Page', [{ id: 5, text }]) + FOOT)
  await moveIn(uri, readMediaWiki(of('one', 'first'), {}))
  const second = await moveIn(uri, readMediaWiki(of('two', 'second'), {}), { onConflict: 'replace' })
  assert.equal(second.outcomes[0].result, 'untaken')
  assert.match(String(second.outcomes[0].problem), /another page that was moved in has this name here/)
})

test('pictures come before the pages, from a folder or from the dump itself', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const images = mkdtempSync(path.join(tmpdir(), 'stevec-images-'))
  t.after(() => rmSync(images, { recursive: true }))
  for (const [folder, name, content] of /** @type {[string, string, Buffer][]} */ ([
    ['a/ab', 'Red_bee.png', png(2, 2)], ['', 'flat.png', png(3, 3)], ['thumb/a/ab', 'x.png', png(4, 4)],
    ['b/bc', 'Manual.pdf', Buffer.from('%PDF')], ['b/bc', 'Broken.png', Buffer.from('no picture')]
  ])) {
    mkdirSync(path.join(images, folder), { recursive: true })
    writeFileSync(path.join(images, folder, name), content)
  }
  const upload = (/** @type {string} */ name, /** @type {Buffer} */ bytes) => [
    '    <upload>', '<timestamp>2012-01-01T00:00:00Z</timestamp>',
    '<contributor><username>Bor</username></contributor>', '<comment/>', `<filename>${name}</filename>`,
    `<src>x</src><size>1</size><contents encoding="base64">${bytes.toString('base64')}</contents></upload>`
  ].join('')
  const file = fileWith(t, dump(
    page('Bees', [{ text: '[[File:red bee.png]]' }]),
    page('File:Blue.png', [], { ns: 6, more: upload('Blue.png', png(5, 5)) + upload('Blue.png', png(6, 6)) }),
    page('File:Lost.png', [], { ns: 6, more: upload('Lost.png', Buffer.alloc(0)) })
  ))
  /** @type {(string | undefined)[]} */
  const urls = []
  const { outcomes } = await moveIn(uri, readMediaWiki(file, {
    pictures: images,
    includeFiles: true,
    async convert (texts, about) {
      urls.push(...['Red bee.png', 'Flat.png', 'Blue.png', 'X.png'].map((name) => about?.pictureUrl?.(name)))
      return texts.map(() => ({ content: `![](${about?.pictureUrl?.('Red bee.png')})` }))
    }
  }))
  const of = (/** @type {string} */ source) => outcomes.find((outcome) => outcome.source === source)
  assert.equal(urls[3], undefined, 'no thumbnails')
  for (const url of urls.slice(0, 3)) assert.equal((await get(app, String(url))).statusCode, 200, url)
  assert.equal(of('File:Blue.png')?.result, 'picture')
  assert.equal((await get(app, String(of('File:Blue.png')?.name))).rawPayload.equals(png(6, 6)), true, 'the newest')
  assert.equal(of('File:Broken.png')?.result, 'untaken')
  assert.match(String(of('File:Lost.png')?.problem), /does not have its contents/)
  assert.match(JSON.stringify(outcomes), /no pictures that can be shown/)
  assert.match((await get(app, '/wiki/Bees')).body, new RegExp(`<img src="${urls[0]}"`))
})

test('hostile and broken files: what can be read is taken, and the report says where it ended', async (t) => {
  const good = page('Good', [{ text: 'good' }])
  const laughs = '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>\n'
  /** @type {[string, string | Buffer, string[], RegExp][]} */
  const cases = [
    ['cut off within a page', dump(good, page('Half', [{}, {}])).slice(0, -200), ['Good'], /“Half” is cut off/],
    ['not well-formed', dump(good, '<page><title>x</page>'), ['Good'], /no well-formed XML.*line \d+/],
    ['an entity of its own', dump(good, page('E', [{ textElement: '<text>&lol;</text>' }])), ['Good'], /well-formed/],
    ['entities that grow', laughs + dump(good), [], /document type, which no dump has/],
    ['no dump', '<html><body>sign in</body></html>', [], /begins with <html>/],
    ['empty', '', [], /has no elements/],
    ['nested', dump(good, '<page>' + '<a>'.repeat(100_000)), ['Good'], /nested too deeply/]
  ]
  for (const [what, content, names, reason] of cases) {
    const things = await allOf(fileWith(t, content))
    const pages = things.flatMap((thing) => thing.kind === 'page' ? [thing.name] : [])
    assert.deepEqual(pages, names, what)
    const untaken = things.flatMap((thing) => thing.kind === 'untaken' ? [thing.reason] : [])
    assert.match(untaken.join(), reason, what)
  }
  const packed = gzipSync([...generatedDump({ pages: 400 })].join(''))
  const cut = await allOf(fileWith(t, packed.subarray(0, packed.length - 5_000)))
  assert.ok(cut.filter(({ kind }) => kind === 'page').length > 100, 'pages before the damage')
  assert.match(JSON.stringify(cut.filter(({ kind }) => kind === 'untaken')), /compression is damaged/)
  for (const [signature, unpack] of [['BZh91AY', 'bunzip2'], ['PK\u0003\u0004', 'unzip']]) {
    await assert.rejects(allOf(fileWith(t, signature)), new RegExp(`unpack it first: ${unpack}`))
  }
  await assert.rejects(allOf('/nowhere/dump.xml'), { code: 'ENOENT' })
})

test('elements that nobody knows, comments and CDATA are no obstacle; a gzipped dump is read, too', async (t) => {
  const odd = dump(page('Odd', [{ textElement: '<text><![CDATA[a <b> & c]]></text>' }],
    { more: '<!-- x --><discussionthreadinginfo><ThreadSubject>s</ThreadSubject></discussionthreadinginfo>' }),
  page(`<script> & "${'é'.repeat(3)}"`, [{ contributor: `<username>${escaped('<i>"&')}</username>` }]))
    .replace('</siteinfo>', '<future>1</future></siteinfo>')
  const file = fileWith(t, gzipSync(odd), 'dump.xml.gz')
  const found = pagesIn(await allOf(file))
  assert.equal(found.Odd[0].content, 'a <b> & c')
  assert.equal(found['<script> & "ééé"'][0].author, '<i>"&')
})

test('a text of 100 MB is left out, and takes no such memory', async (t) => {
  const file = fileWith(t, '')
  const [before, after] = dump(page('Huge', [{ text: 'small' }, { text: 'HERE' }]), page('Next', [{}])).split('HERE')
  const piece = 'x & y '.repeat(100_000).replaceAll('&', '&amp;')
  writeFileSync(file, before)
  for (let written = 0; written < 100_000_000; written += piece.length) writeFileSync(file, piece, { flag: 'a' })
  writeFileSync(file, after, { flag: 'a' })
  const script = `
    import { readMediaWiki } from ${JSON.stringify(new URL('../src/moving/mediawiki/reader.js', import.meta.url).href)}
    for await (const thing of readMediaWiki(process.argv[1], {})) {
      let revisions = 0
      if (thing.kind === 'page') for await (const each of thing.revisions) revisions += each.content ? 1 : 0
      console.log(thing.kind, thing.source.slice(-4), revisions, thing.reason ?? '')
    }`
  // A heap that could not hold it.
  const { stdout } = await promisify(execFile)(
    process.execPath, ['--max-old-space-size=90', '--input-type=module', '-e', script, file])
  assert.match(stdout, /^page Huge 1 \nuntaken Huge 0 .*longer than any page here may be\npage Next 1 \n$/)
})

test('a history that is longer than memory waits on the disk', async (t) => {
  const text = 'y'.repeat(100_000)
  const file = fileWith(t, dump(page('Long', Array.from({ length: 120 }, (_, index) => ({
    id: 500 - index, timestamp: new Date(Date.UTC(2010, 0, 200 - index)).toISOString(), text: `${text} ${index}`
  })))))
  const { Long } = pagesIn(await allOf(file))
  assert.equal(Long.length, 120)
  assert.ok(Long.every(({ content }, index) => content === `${text} ${119 - index}`))
})

test('a generated wiki comes in, and a second run changes nothing', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const file = fileWith(t, [...generatedDump({ pages: 120 })].join(''))
  const first = await moveIn(uri, readMediaWiki(file, {}))
  assert.deepEqual([first.totals.created, first.totals.redirect, first.totals.untaken], [114, 6, 0])
  await untilCounted(app)
  const before = await contents(uri)
  const second = await moveIn(uri, readMediaWiki(file, {}))
  assert.deepEqual([second.totals.unchanged, second.totals.revisions], [120, 0])
  assert.deepEqual(await contents(uri), before)
})
