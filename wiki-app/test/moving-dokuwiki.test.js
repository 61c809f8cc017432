import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { requireTool } from '@stevec/harness/tools/locate'
import toHtml from '../src/markdown/html.js'
import { read } from '../src/moving/dokuwiki/reader.js'
import { createPandoc } from '../src/moving/pandoc/pandoc.js'
import { assertHarmless } from './harmless.js'

/** @import {ReaderOptions} from '../src/moving/content.js' */

const PICTURE = `/files/${'a'.repeat(32)}.png`

/**
 * A folder `data` with these files; old texts (`attic`) are zipped.
 * @param {import('node:test').TestContext} t @param {Record<string, string>} files
 */
function wikiOf (t, files) {
  const data = mkdtempSync(path.join(tmpdir(), 'stevec-dokuwiki-'))
  t.after(() => rmSync(data, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(data, name)), { recursive: true })
    writeFileSync(path.join(data, name), name.endsWith('.gz') ? gzipSync(text) : text)
    utimesSync(path.join(data, name), 1_000, 1_000)
  }
  return data
}

/**
 * Everything that the reader yields, pages with their revisions.
 * @param {import('node:test').TestContext} t @param {string} folder @param {Partial<ReaderOptions>} [options]
 */
async function moved (t, folder, options = {}) {
  const pandoc = createPandoc({ from: 'dokuwiki', command: requireTool('pandoc').path, processes: 1 })
  t.after(pandoc.close)
  /** @type {Record<string, any>} */
  const pages = {}
  /** @type {Record<string, string>} */
  const untaken = {}
  /** @type {Record<string, string>} */
  const leftOut = {}
  /** @type {string[]} */
  const pictures = []
  /** @type {string[]} */
  const lost = []
  for await (const thing of read(folder, { convert: pandoc.convert, ...options })) {
    if (thing.kind === 'untaken') untaken[thing.source] = thing.reason
    if (thing.kind === 'left-out') leftOut[thing.source] = thing.reason
    if (thing.kind === 'picture') {
      pictures.push(`${thing.source} ${(await thing.read()).toString()}`)
      thing.stored(PICTURE)
    }
    if (thing.kind !== 'page') continue
    const revisions = []
    for await (const each of thing.revisions) {
      if ('isLost' in each) {
        lost.push(each.id)
        continue
      }
      const { createdAt, ...rest } = each
      revisions.push({ ...rest, time: createdAt.getTime() / 1000 })
      assertHarmless(toHtml({ markdown: rest.content, maxBytes: 1_000_000 }).html)
    }
    assert.equal(pages[thing.name], undefined)
    pages[thing.name] = revisions
  }
  return { pages, untaken, leftOut, pictures, lost }
}

/** @param {Record<string, any>} pages @param {string} name */
const newest = (pages, name) => pages[name].at(-1).content

test('a page has its history, in order, with authors and summaries', async (t) => {
  const { pages, untaken } = await moved(t, wikiOf(t, {
    'pages/wiki/bees.txt': '//third//',
    'meta/wiki/bees.changes': '300\t10.0.0.1\tE\twiki:bees\tana\tbetter <b>\t\t3\n' +
      '100\t10.0.0.2\tC\twiki:bees\t\tcreated\t\n' +
      '200\t10.0.0.1\te\twiki:bees\tbo\t\t\nrubbish\n150\t10.0.0.2\tE\twiki:bees\tana\tlost\t\n',
    'meta/_dokuwiki.changes': '300\t10.0.0.1\tE\twiki:bees\tana\t\t\n',
    'attic/wiki/bees.100.txt.gz': '**first**',
    'attic/wiki/bees.200.txt': 'second'
  }))
  assert.deepEqual(pages, {
    'wiki/bees': [
      { id: '100', content: '**first**\n', tags: [], author: '', summary: 'created', time: 100 },
      { id: '200', content: 'second\n', tags: [], author: 'bo', summary: '', time: 200 },
      { id: '300', content: '*third*\n', tags: [], author: 'ana', summary: 'better <b>', time: 300 }
    ]
  })
  assert.deepEqual(untaken, { 'wiki/bees.txt': 'Not to be found in “attic”: one revision.' })
})

test('a text that another program changed is a revision; a page without a history has one', async (t) => {
  const folder = wikiOf(t, {
    'pages/a.txt': 'new',
    'meta/a.changes': '100\t::1\tC\ta\tana\t\t\n',
    'attic/a.100.txt.gz': 'old',
    'pages/b.txt': 'alone',
    'pages/same.txt': 'same',
    'meta/same.changes': '100\t::1\tC\tsame\tana\t\t\n',
    'attic/same.100.txt.gz': 'same'
  })
  const { pages } = await moved(t, folder)
  assert.deepEqual(pages.a.map((/** @type {any} */ { content, author, time }) => [content, author, time]),
    [['old\n', 'ana', 100], ['new\n', '', 1_000]])
  assert.deepEqual(pages.b.map((/** @type {any} */ { content }) => content), ['alone\n'])
  assert.equal(pages.same.length, 1)
  assert.deepEqual((await moved(t, folder)).pages, pages)
})

test('texts of other programs are new once, also when an older text comes back', async (t) => {
  const folder = wikiOf(t, {
    'pages/a.txt': 'one',
    'meta/a.changes': '100\t::1\tC\ta\tana\t\t\n200\t::1\tE\ta\tana\t\t\n',
    'attic/a.100.txt.gz': 'one',
    'attic/a.200.txt.gz': 'two',
    'pages/b.txt': 'first'
  })
  /** The texts that are new since the last time. @type {Record<string, string | null>} */
  const last = { a: null, b: null }
  const news = async (/** @type {Record<string, string>} */ files = {}) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
    const { pages } = await moved(t, folder, { newestStored: async ({ name }) => last[name] })
    return ['a', 'b'].map((name) => {
      const ids = pages[name].map((/** @type {any} */ { id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'no id comes twice')
      const from = last[name] === null ? 0 : ids.indexOf(last[name]) + 1
      assert.ok(last[name] === null || from > 0, `${last[name]} is there`)
      last[name] = ids.at(-1)
      return pages[name].slice(from).map((/** @type {any} */ { content }) => content.trim()).join()
    })
  }
  assert.deepEqual(await news(), ['one,two,one', 'first'])
  assert.deepEqual(await news(), ['', ''])
  assert.deepEqual(await news({ 'pages/a.txt': 'three', 'pages/b.txt': 'second' }), ['three', 'second'])
  assert.deepEqual(await news({ 'pages/a.txt': 'one', 'pages/b.txt': 'first' }), ['one', 'first'])
  assert.deepEqual(await news(), ['', ''])
  const changes = '100\t::1\tC\ta\tana\t\t\n200\t::1\tE\ta\tana\t\t\n300\t::1\tE\ta\t\t\t\n400\t::1\tE\ta\tana\t\t\n'
  const seen = await news({ 'meta/a.changes': changes, 'attic/a.300.txt': 'one', 'pages/a.txt': 'four' })
  assert.deepEqual(seen, ['four', ''], 'DokuWiki has seen the one of the other program')
})

test('a text that is here, and is no longer in the attic, is still known', async (t) => {
  const folder = wikiOf(t, {
    'pages/a.txt': 'three',
    'meta/a.changes': [100, 200, 300].map((time) => `${time}\t::1\tE\ta\tana\t\t\n`).join(''),
    'attic/a.100.txt.gz': 'one'
  })
  const { pages, lost, untaken } = await moved(t, folder, { newestStored: async () => '200' })
  assert.deepEqual([lost, untaken], [['200'], {}], 'and is not missing here')
  assert.deepEqual(pages.a.map((/** @type {any} */ { id, content }) => [id, content.trim()]),
    [['100', ''], ['300', 'three']])
  const other = await moved(t, folder, { newestStored: async () => '50' })
  assert.deepEqual(other.pages.a.map((/** @type {any} */ { content }) => content.trim()), ['one', 'three'],
    'texts of a history that begins later')
})

test('a deleted page stays away, one that was written again has its texts', async (t) => {
  const { pages, leftOut } = await moved(t, wikiOf(t, {
    'meta/gone.changes': '100\t::1\tC\tgone\tana\t\t\n200\t::1\tD\tgone\tana\tremoved\t\n',
    'attic/gone.100.txt.gz': 'gone',
    'pages/back.txt': 'again',
    'meta/back.changes': '100\t::1\tC\tback\tana\t\t\n200\t::1\tD\tback\tana\t\t\n300\t::1\tC\tback\tana\t\t\n',
    'attic/back.100.txt.gz': 'first'
  }))
  assert.deepEqual(Object.keys(pages), ['back'])
  assert.deepEqual(pages.back.map((/** @type {any} */ { id }) => id), ['100', '300'])
  assert.deepEqual(leftOut, { 'gone.txt': 'It was deleted.' })
})

test('names: namespaces, spaces, other letters, the start page of a namespace', async (t) => {
  const { pages } = await moved(t, wikiOf(t, {
    'pages/start.txt': 'home',
    'pages/my_garden/start.txt': 'garden',
    'pages/my_garden/%C4%8Debele.txt': 'č',
    'pages/both.txt': 'page',
    'pages/both/start.txt': 'start',
    'pages/odd%zz.txt': 'odd'
  }))
  const names = Object.keys(pages).sort()
  assert.deepEqual(names, ['both', 'both/start', 'my garden', 'my garden/čebele', 'odd%zz', 'start'])
})

test('links lead to the pages, wherever they start from, and pictures to their addresses', async (t) => {
  const { pages, pictures, leftOut } = await moved(t, wikiOf(t, {
    'pages/ns/sub/page.txt': '[[other]] [[.:other|a b]] [[..:up]] [[:root#My part|r]] [[ns:]] ' +
      '[[ns:sub:]] [[Čebele]] [[wp>Bee]] ' +
      '[[https://a.b/?c=d&e|out]] [[#here]] [[ana@wiki.example]] [[\\\\server\\share|s]] [[root|{{ns:bee.png}}]]\n\n' +
      '{{ns:bee.png?200|A bee}} {{ :ns:gone.png |gone}} {{..:bee.png}} {{manual.pdf|Manual}} {{https://a.b/c.png}}',
    'pages/ns/sub/other.txt': '',
    'pages/ns/sub/cebele.txt': '',
    'media/ns/bee.png': 'bytes',
    'media/ns/sub/manual.pdf': 'pdf'
  }))
  assert.deepEqual(pictures, ['media/ns/bee.png bytes'])
  assert.equal(newest(pages, 'ns/sub/page'), '[[ns/sub/other|other]] [[ns/sub/other|a b]] [[ns/up|up]] ' +
    '[[root#My part|r]] ' +
    '[[ns]] [[ns/sub|sub]] [[ns/sub/cebele|Čebele]] [Bee](https://en.wikipedia.org/wiki/Bee) ' +
    '[out](https://a.b/?c=d&e) ' +
    '[[#here|here]] <ana@wiki.example> s (\\\\server\\share) [![](' + PICTURE + ')](/wiki/ns/sub/root)\n\n' +
    `![A bee](${PICTURE}) \`{{:ns:gone.png}}\` gone ![](${PICTURE}) \`{{manual.pdf}}\` Manual ` +
    '<https://a.b/c.png>\n')
  assert.deepEqual(leftOut, { 'media/ns/sub/manual.pdf': 'It is no picture (PNG, JPEG, GIF or WebP).' })
})

test('plugins stay as text or code, what is not formatted stays as it is, tags are tags', async (t) => {
  const { pages } = await moved(t, wikiOf(t, {
    'pages/a.txt': `====== A ======
<note warning>Careful **now**</note> %%[[no]] **x**%% <nowiki>//y//</nowiki> ((a note)) ~~NOTOC~~

{{page>b}}
~~DISCUSSION~~ <html><script>alert(1)</script></html> <script>alert(2)</script>
{{tag>red "two words" x_y}}
<code js>
let a = '[[b]]'
</code>
^ Head ^ Other ^
| [[b|c]] | %%|%% |
| :::  | d |`
  }))
  assert.equal(newest(pages, 'a'), `# A

\\<note warning\\>Careful **now**\\</note\\> \\[\\[no\\]\\] \\*\\*x\\*\\* //y// [^1]

\`{{page>b}}\` \`~~DISCUSSION~~\` \`<html><script>alert(1)</script></html>\` \\<script\\>alert(2)\\</script\\>

\`\`\`js
let a = '[[b]]'
\`\`\`

| Head     | Other |
|----------|-------|
| [[b\\|c]] | \\|    |
|          | d     |

[^1]: a note
`)
  assert.deepEqual(pages.a[0].tags, ['two words', 'red', 'x y'])
})

test('a page that is longer than any text may be is not taken', async (t) => {
  const folder = wikiOf(t, { 'pages/wide.txt': 'x'.repeat(16_777_217), 'pages/a.txt': 'a' })
  const { pages, untaken } = await moved(t, folder)
  assert.deepEqual(Object.keys(pages), ['a'])
  assert.deepEqual(untaken, { 'wide.txt': 'It has more than 16777216 bytes.' })
})

test('links out of the folder, odd files and damaged old texts are not taken', async (t) => {
  const folder = wikiOf(t, {
    'pages/a.txt': 'a',
    'meta/a.changes': '100\t::1\tC\ta\tana\t\t\n200\t::1\tE\ta\tana\t\t\n',
    'attic/a.100.txt': 'plain',
    'pages/notes.bak': 'x',
    'media/x.png': 'x'
  })
  const outside = wikiOf(t, { 'secret.txt': 'secret', 'folder/b.txt': 'b' })
  writeFileSync(path.join(folder, 'attic/a.200.txt.gz'), 'no zip')
  symlinkSync(path.join(outside, 'secret.txt'), path.join(folder, 'pages/secret.txt'))
  symlinkSync(path.join(outside, 'folder'), path.join(folder, 'pages/folder'))
  symlinkSync(path.join(folder, 'pages/a.txt'), path.join(folder, 'pages/link.txt'))
  const { pages, untaken } = await moved(t, folder)
  assert.deepEqual(pages.a.map((/** @type {any} */ { content }) => content), ['plain\n', 'a\n'])
  assert.deepEqual(Object.keys(pages), ['a', 'link'])
  assert.deepEqual(untaken, {
    folder: 'It is no page: these are files with names in .txt.',
    'notes.bak': 'It is no page: these are files with names in .txt.',
    'secret.txt': 'It is a symbolic link that leads out of the folder.'
  })
})

test('the folder around `data` will do, another is refused, and reading can be stopped', async (t) => {
  const data = wikiOf(t, { 'data/pages/a.txt': 'a', 'data/pages/b.txt': 'bb' })
  /** @type {number[][]} */
  const progress = []
  const { pages } = await moved(t, data, { onRead: (...now) => progress.push(now) })
  assert.deepEqual(Object.keys(pages), ['a', 'b'])
  assert.deepEqual(progress, [[1, 3], [3, 3]])
  const pagesAlone = path.join(data, 'data/pages')
  await assert.rejects(moved(t, pagesAlone), /has no folder “pages”; give DokuWiki's folder “data”/)
  const stopped = AbortSignal.abort(new Error('stopped'))
  await assert.rejects(moved(t, data, { signal: stopped }), /stopped/)
})
