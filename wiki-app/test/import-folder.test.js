import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { Folder } from '../src/archive/folder.js'
import { imported, zipOf } from './archives.js'
import { BROWSER, get, useWiki } from './helper.js'
import { gif, jpeg, png, webp } from './images.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @param {string} html */
const unescaped = (html) => html
  .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"')
  .replaceAll('&#39;', "'").replaceAll('&amp;', '&')

/**
 * @param {App} app @param {string} name
 * @returns {Promise<{html: string, links: Map<string, string>, images: Map<string, string>}>} addresses by text
 */
async function shown (app, name) {
  const answer = await get(app, `/wiki/${encodeURIComponent(name)}`, BROWSER)
  assert.ok([200, 301, 308].includes(answer.statusCode), `${name}: ${answer.statusCode}`)
  const html = answer.statusCode === 200
    ? answer.body
    : (await get(app, String(answer.headers.location), BROWSER)).body
  const article = html.slice(html.indexOf('<article'), html.indexOf('</article>'))
  const links = new Map([...article.matchAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/g)]
    .map(([, href, text]) => [text.replace(/<[^>]*>/g, ''), unescaped(href)]))
  const images = new Map([...article.matchAll(/<img src="([^"]*)"[^>]*? alt="([^"]*)"/g)]
    .map(([, src, alt]) => [alt, unescaped(src)]))
  return { html: article, links, images }
}

/** @param {App} app @param {string} name @returns {Promise<string>} */
const raw = async (app, name) => (await get(app, `/api/v1/pages/${encodeURIComponent(name)}`)).json().content

const FOLDERS = ['', 'guide/', 'guide/Advanced Topics/', 'ref_api/', 'čebele/', 'notes/2024/', 'notes/2024/a(b)/',
  'c++ & co/']
const FILES = [
  'setup', 'Getting Started', 'snake_case', 'Čebela', 'a&copy;b', "it's", 'c++', '100%', 'x (draft)', 'v1.2',
  'Ünï cödé', '日本語',
  ...Array.from({ length: 14 }, (_, index) => `chapter ${index}`)
]
/** @type {Record<string, Buffer>} */
const PICTURES = {
  'img/a.png': png(2, 3),
  'img/bee (1).jpg': jpeg(8, 8),
  'guide/čebela 2.GIF': gif(4, 4),
  'guide/Advanced Topics/_x_.webp': webp('VP8L', 5, 5),
  'notes/2024/a(b)/100%.png': png(4, 4, 9)
}

/** @param {string} path @returns {string} as most editors write it in a link */
const encoded = (path) => path.split('/').map((part) => encodeURIComponent(part).replace(/[()]/g, '\\$&')).join('/')

/** @type {{path: string, name: string}[]} */
const PAGES = [
  ...FOLDERS.flatMap((folder) => FILES.map((file) => ({ path: `${folder}${file}.md`, name: folder + file }))),
  { path: 'index.md', name: 'index' },
  { path: 'guide/README.md', name: 'guide' },
  { path: 'čebele/index.md', name: 'čebele' },
  { path: 'notes/2024/titled.md', name: 'Notes: the “title”/2024' }
]

const SECTION = { heading: 'Step 1: a_b & c', github: 'step-1-a_b--c', id: 'step-1-a-b-c' }

/** Each way to write a link to a page: Markdown, and whether the link has a fragment. */
const WAYS = [
  (/** @type {Way} */ { text, relative }) => `[${text}](${encoded(relative)})`,
  (/** @type {Way} */ { text, relative }) =>
    `[${text}](<${relative.replaceAll('&', '&amp;').replaceAll('%', '%25')}> "a title")`,
  (/** @type {Way} */ { text, relative }) =>
    `*[${text}][ref ${text}]*\n\n[ref ${text}]: ${encoded(relative)}\n  'on the next line'\n`,
  (/** @type {Way} */ { text, relative }) => `> - [${text}](${encoded(relative)}#${SECTION.github})`,
  (/** @type {Way} */ { text, root }) => `[[${root}|${text}]]`,
  (/** @type {Way} */ { text, root }) => `| a | b |\n|---|---|\n| x | [[${root}\\|${text}]] |`,
  (/** @type {Way} */ { text, relative }) => `[${text}](${encoded(relative.replace(/\.md$/, ''))})`,
  (/** @type {Way} */ { text, root }) => `## Heading [${text}](/${encoded(root)}.md)`,
  (/** @type {Way} */ { text, relative }) => `[${text}](./${encoded(relative).replaceAll('%20', '_')})`
]
/** @typedef {{text: string, relative: string, root: string}} Way */
const WITH_FRAGMENT = 3

/** @param {number} index */
function fileOf (index) {
  const { path, name } = PAGES[index]
  const folder = posix.dirname(path)
  /** @type {Map<string, string>} */
  const links = new Map()
  /** @type {Map<string, Buffer>} */
  const images = new Map()
  const relativeTo = (/** @type {string} */ to) => posix.relative(folder, to)
  const lines = [`# ${SECTION.heading}\n`]
  for (const [way, write] of WAYS.entries()) {
    const target = PAGES[(index * 7 + way * 31 + 1) % PAGES.length]
    const text = `L${way}`
    lines.push(write({ text, relative: relativeTo(target.path), root: target.path.replace(/\.md$/, '') }))
    links.set(text, `${target.name}${way === WITH_FRAGMENT ? `#${SECTION.id}` : ''}`)
  }
  for (const [number, [picture, bytes]] of Object.entries(PICTURES).entries()) {
    lines.push(number % 2 === 0
      ? `![P${number}](${encoded(relativeTo(picture))} "t")`
      : `[![P${number}](<${relativeTo(picture).replaceAll('%', '%25')}>)](${encoded(relativeTo('index.md'))})`)
    images.set(`P${number}`, bytes)
  }
  lines.push('![[bee (1).jpg|P9]]', '[same page](#' + SECTION.github + ')')
  images.set('P9', PICTURES['img/bee (1).jpg'])
  const untouched = [
    '`[a](setup.md)` and `` [[setup]] ``', '```md\n[a](setup.md) ![](img/a.png)\n```', '    [a](setup.md)',
    '[gone](missing/file.md) ![gone](gone.png)',
    '[out](../../../../../../out.md) [web](https://example.org/setup.md) <https://a.example/x.md>',
    '[mail](mailto:ana@example.org) \\[[setup]] [[No such page]]'
  ]
  const front = name.startsWith('Notes')
    ? `---\ntitle: "${name}"\ntags: [year/2024, bees]\ndate: 2024-01-01\n---\n`
    : ''
  return { path, name, links, images, untouched, text: `${front}${[...lines, ...untouched].join('\n\n')}\n` }
}

test('a folder of 200 files: every link leads to its page, and every picture is shown', async (t) => {
  const app = await wiki.build(t)
  const files = PAGES.map((_, index) => fileOf(index))
  assert.ok(files.length > 200)
  const zip = await zipOf([
    ...files.map(({ path, text }) => /** @type {[string, string]} */ ([path, text])),
    ...Object.entries(PICTURES),
    ['mkdocs.yml', 'site_name: x']
  ])
  const { lines, totals } = await imported(app, zip)
  const byPath = new Map(lines.map((line) => [line.path, line]))
  const stored = files.length + Object.keys(PICTURES).length
  assert.deepEqual([totals.done, totals.created, totals.refused], [true, stored, 1])
  assert.match(byPath.get('mkdocs.yml').reason, /Only Markdown/)

  // Files share their targets: each address is asked for once.
  /** @type {Map<string, Promise<import('./helper.js').Response>>} */
  const answers = new Map()
  /** @param {string} address */
  const answerOf = (address) => {
    const answer = answers.get(address) ?? get(app, address)
    answers.set(address, answer)
    return answer
  }
  for (const { path, name, links, images, untouched } of files) {
    const line = byPath.get(path)
    assert.equal(line.name, name)
    assert.deepEqual(line.missing, ['missing/file.md', 'gone.png', '../../../../../../out.md'], path)
    const page = await shown(app, name)
    for (const [text, target] of links) {
      const href = page.links.get(text)
      assert.equal(href && decodeURIComponent(href), `/wiki/${target}`, `${path}: ${text}`)
      const [address] = String(href).split('#')
      assert.equal((await answerOf(address)).statusCode, 200, `${path}: ${address}`)
    }
    assert.ok(page.html.includes(`id="${SECTION.id}"`))
    assert.equal(page.links.get('same page'), `#${SECTION.id}`)
    for (const [alt, bytes] of images) {
      const src = String(page.images.get(alt))
      assert.deepEqual((await answerOf(src)).rawPayload, bytes, `${path}: ${alt} ${src}`)
    }
    const text = await raw(app, name)
    for (const part of untouched) assert.ok(text.includes(part), `${path} keeps ${part}`)
  }
  const titled = (await get(app, `/api/v1/pages/${encodeURIComponent('Notes: the “title”/2024')}`)).json()
  assert.deepEqual(titled.tags, ['bees', 'year-2024'])
  assert.ok(titled.content.startsWith('# Step 1'), 'front matter is no text')

  const again = await imported(app, zip)
  assert.equal(again.totals.unchanged, stored, 'sent again, it changes nothing')
})

test('pages are called after name, title, path or folder; of two files with one name one keeps its path', async (t) => {
  const app = await wiki.build(t)
  const { lines } = await imported(app, await zipOf([
    ['docs/README.md', 'both'],
    ['docs/index.md', 'both'],
    ['README.md', 'at the top'],
    ['guide.md', 'beside its folder'],
    ['guide/README.md', 'has a file beside'],
    ['a/intro.md', '---\ntitle: Overview\n---\none'],
    ['b/intro.md', '---\ntitle: Overview\n---\ntwo'],
    ['c/intro.md', '---\ntitle: " A  title "\n---\nthree'],
    ['d/intro.md', '---\ntitle: stevec\n---\nfour'],
    ['e/intro.md', '---\ntitle: {x: y}\n---\nfive'],
    ['f/own.md', '---\nname: Named\ntitle: not this\n---\n[one](../a/intro.md) [[Overview]] [[intro]]']
  ]))
  assert.deepEqual(lines.map(({ path, name }) => `${path}: ${name}`), [
    'docs/README.md: docs/README',
    'docs/index.md: docs',
    'README.md: README',
    'guide.md: guide',
    'guide/README.md: guide/README',
    'a/intro.md: a/intro',
    'b/intro.md: b/intro',
    'c/intro.md: A title',
    'd/intro.md: d/intro',
    'e/intro.md: e/intro',
    'f/own.md: Named'
  ])
  assert.equal(await raw(app, 'Named'), '[one](/wiki/a/intro) [[Overview]] [[intro]]', 'ambiguous names stay')
})

test('a name belongs to the file that has it in its front matter, wherever that file stands in the zip', async (t) => {
  const app = await wiki.build(t)
  const { lines } = await imported(app, await zipOf([
    ['Named.md', 'plain'], ['other.md', '---\nname: Named\n---\n[here](other.md)']
  ]))
  assert.deepEqual(lines.map(({ result }) => result), ['refused', 'created'])
  assert.match(lines[0].reason, /Another of the files is the page “Named”, too\./)
  assert.equal(await raw(app, 'Named'), '[here](/wiki/Named)')
})

test('a folder as Obsidian writes it: links by name from anywhere, embedded pictures and notes', async (t) => {
  const app = await wiki.build(t)
  await imported(app, await zipOf([
    ['vault/Daily/2024-05-01.md',
      '[[Bees]], [[bees|the bees]], [[Bees#How they fly]], ![[hive.png|300]] ![[Bees]]\n\n| a |\n|-|\n| [[Bees]] |'],
    ['vault/Topics/Bees.md', 'bees'],
    ['vault/Topics/deep/Hive.md', '[up](../Bees.md) [[../Bees]] [[Bees.md]] [old](Bees) [[#here]]'],
    ['vault/attachments/hive.png', png(2, 2)],
    ['vault/.obsidian/workspace.json', '{}']
  ]))
  const hive = (await get(app, '/api/v1/files')).json().items[0].url
  assert.equal(
    await raw(app, 'vault/Daily/2024-05-01'),
    '[[vault/Topics/Bees|Bees]], [[vault/Topics/Bees|the bees]], [[vault/Topics/Bees#How they fly|Bees#How they ' +
      'fly]], ' +
      `![hive.png](${hive}) [[vault/Topics/Bees|Bees]]\n\n| a |\n|-|\n| [[vault/Topics/Bees\\|Bees]] |`
  )
  assert.equal(
    await raw(app, 'vault/Topics/deep/Hive'),
    '[up](/wiki/vault/Topics/Bees) [[vault/Topics/Bees|../Bees]] [[vault/Topics/Bees|Bees.md]] ' +
      '[old](/wiki/vault/Topics/Bees) [[#here]]'
  )
  const { html } = await shown(app, 'vault/Daily/2024-05-01')
  assert.match(html, /<td><a href="\/wiki\/vault\/Topics\/Bees">Bees<\/a><\/td>/)
})

test('pandoc’s Markdown (gfm) comes in: links by title, with underscores and colons; media elsewhere', async (t) => {
  const app = await wiki.build(t)
  const fixtures = fileURLToPath(new URL('fixtures/pandoc/', import.meta.url))
  const { lines, totals } = await imported(app, await zipOf([
    ...readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).sort().filter((path) => path.endsWith('.md'))
      .map((path) => /** @type {[string, Buffer]} */ ([path, readFileSync(posix.join(fixtures, path))])),
    ['mediawiki/Bee_photo.png', png(6, 6)],
    ['dokuwiki/bees/hive.png', png(7, 7)]
  ]))
  assert.equal(totals.refused, 0)
  assert.deepEqual(lines.filter(({ missing }) => missing !== undefined), [])
  const main = await shown(app, 'Main Page')
  assert.deepEqual(Object.fromEntries([...main.links].filter(([, href]) => href.startsWith('/wiki/'))), {
    'Setup guide': '/wiki/Setup%20guide',
    'how to begin': '/wiki/Setup%20guide#first-steps',
    'Help:Links': '/wiki/Help:Links',
    Čebela: '/wiki/%C4%8Cebela/Leto'
  })
  assert.equal([...main.images.keys()].join(), 'A bee')
  const text = await raw(app, 'Main Page')
  assert.match(text, /\[Not written yet\]\(\/wiki\/Not%20written%20yet\)/)
  assert.deepEqual(text.match(/.*"wikilink".*/g), ['    pandoc leaves code [alone](Setup_guide "wikilink")'])
  const start = await shown(app, 'dokuwiki/start')
  assert.deepEqual([...start.links], [
    ['bees', '/wiki/dokuwiki/bees/start'],
    ['The hive', '/wiki/dokuwiki/bees/the_hive'],
    ['čebela', '/wiki/dokuwiki/bees/%C4%8Debela'],
    ['elsewhere', 'https://www.dokuwiki.org/syntax']
  ])
  assert.equal(start.images.size, 1)
  const hive = await shown(app, 'dokuwiki/bees/the_hive')
  assert.deepEqual([...hive.links], [['back', '/wiki/dokuwiki/start'], ['Čebela', '/wiki/dokuwiki/bees/%C4%8Debela']])
})

test('10 000 links of one text are corrected; a text with over 20 000 is kept, and the report says so', async (t) => {
  const app = await wiki.build(t)
  const { lines: [many, tooMany, long] } = await imported(app, await zipOf([
    ['many.md', '[](long.md)'.repeat(10_000)],
    ['too many.md', '[](long.md)'.repeat(20_001)],
    ['long.md', `[a](${'b'.repeat(500)}.md)`]
  ]))
  assert.deepEqual([many.result, many.reason], ['created', undefined])
  assert.equal(await raw(app, 'many'), '[](/wiki/long)'.repeat(10_000))
  assert.equal(tooMany.result, 'created')
  assert.match(tooMany.reason, /links stay as they are: .* more than 20000/)
  assert.equal(await raw(app, 'too many'), '[](long.md)'.repeat(20_001))
  assert.deepEqual(long.missing, [`${'b'.repeat(200)}…`])
})

test('a picture is named after its file, but not after a hash, as in an export that was unpacked', async (t) => {
  const app = await wiki.build(t)
  await imported(app, await zipOf([
    ['wiki/files/0123456789abcdef0123456789abcdef.png', png(2, 2)], ['bee.png', png(3, 3)],
    ['%C4%8Cebela 100%.png', png(4, 4)],
    ['%C4%8Cebela.png', png(5, 5)]
  ]))
  const { items } = (await get(app, '/api/v1/files')).json()
  assert.deepEqual(items.map((/** @type {{alt: string}} */ { alt }) => alt), ['Čebela', '%C4%8Cebela 100%', 'bee', ''])
})

test('other requests are served while the pages of a large folder get their names', async () => {
  const folder = new Folder()
  for (let page = 0; page < 10_000; page++) folder.addPage(`notes/${page}.md`, {})
  let [turns, settled] = [0, false]
  const turn = () => {
    turns++
    if (!settled) setImmediate(turn)
  }
  turn()
  await folder.settle()
  settled = true
  assert.equal(folder.nameOf('notes/9999.md'), 'notes/9999')
  assert.ok(turns >= 100, `${turns} turns of the event loop`)
})
