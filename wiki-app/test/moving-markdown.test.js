import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readMarkdown } from '../src/moving/markdown/read.js'
import { png } from './images.js'
import { takeAll } from './moved.js'

/** @typedef {import('node:test').TestContext} TestContext */

const WRITTEN = new Date('2020-02-03T04:05:06Z')

/** @param {TestContext} t @param {Record<string, string | Buffer>} files */
function vault (t, files) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-vault-'))
  t.after(() => rmSync(directory, { recursive: true }))
  write(directory, files)
  return directory
}

/** @param {string} directory @param {Record<string, string | Buffer>} files */
function write (directory, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, content)
    utimesSync(file, WRITTEN, WRITTEN)
  }
}

test('a vault of Obsidian moves in: names, links, pictures, tags, aliases, and the times of its files', async (t) => {
  const directory = vault(t, {
    'Home.md': '[[Bees#The hive|the hive]] [[Bees]] ![[bee.png|200]] ![[bee.png|A bee]] [[Nowhere]] `[[Bees]]`',
    'Animals/Bees.md': '---\ntags:\n  - animals/insects\n  - "#yellow"\naliases: [Apis, "Home", Apis, 7]\n---\n# Bees',
    'Animals/Wasps.md': '---\ntags: one, two/three\nalias: none\naliases: Vespa\n---\n' +
      '[bees](Bees.md#x) [up](../Home.md)',
    'img/bee.png': png(2, 2),
    'notes.canvas': '{}',
    '.obsidian/app.json': '{}',
    '.trash/Old.md': 'old',
    '.git/config.md': 'x',
    'Animals/.hidden.md': 'x'
  })
  const { pages, redirects, pictures, untaken, leftOut } = await takeAll(readMarkdown(directory, {}),
    { 'bee.png': '/files/bee.png' })
  assert.deepEqual(Object.keys(pages).sort(), ['Animals/Bees', 'Animals/Wasps', 'Home'])
  const [home] = pages.Home
  assert.equal(home.content, '[[Animals/Bees#The hive|the hive]] [[Animals/Bees|Bees]] ![bee.png](/files/bee.png) ' +
    '![A bee](/files/bee.png) [[Nowhere]] `[[Bees]]`')
  assert.deepEqual([home.author, home.summary, home.createdAt], ['', '', WRITTEN])
  assert.deepEqual(pages['Animals/Bees'].map(({ content, tags }) => [content, tags]),
    [['# Bees', ['animals-insects', 'yellow']]])
  assert.deepEqual(pages['Animals/Wasps'].map(({ content, tags }) => [content, tags]),
    [['[bees](/wiki/Animals/Bees#x) [up](/wiki/Home)', ['one', 'two-three']]])
  assert.deepEqual(redirects, { Apis: 'Animals/Bees', 7: 'Animals/Bees', Vespa: 'Animals/Wasps' },
    'an alias that is a page leads nowhere else')
  assert.deepEqual(pictures, { 'img/bee.png': { alt: 'bee', bytes: png(2, 2) } })
  assert.deepEqual([Object.keys(leftOut), untaken], [['notes.canvas'], {}])
})

test('an unchanged file has the same id in each run, a changed one another', async (t) => {
  const directory = vault(t, { 'a.md': 'one', 'b.md': '---\ntags: x\n---\nsame' })
  const idsOf = async () => {
    const { pages } = await takeAll(readMarkdown(directory, {}))
    return Object.fromEntries(Object.entries(pages).map(([name, [{ id }]]) => [name, id]))
  }
  const first = await idsOf()
  utimesSync(path.join(directory, 'b.md'), new Date(), new Date())
  assert.deepEqual(await idsOf(), first)
  write(directory, { 'a.md': 'two', 'b.md': '---\ntags: y\n---\nsame' })
  const second = await idsOf()
  assert.notEqual(second.a, first.a)
  assert.notEqual(second.b, first.b, 'tags count, too')
  write(directory, { 'a.md': 'one' })
  assert.equal((await idsOf()).a, first.a)
})

test('links out of the folder, odd files and long ones are not read, and the report says why', async (t) => {
  const outside = vault(t, { 'secret.md': 'secret', 'below/x.md': 'x' })
  const directory = vault(t, {
    'a.md': 'text',
    'A.MD': 'the same name but for capitals',
    'one.md': '---\nname: Same\n---\n1',
    'two.md': '---\nname: Same\n---\n2',
    'bytes.md': Buffer.from([0xff, 0xfe]),
    'long.md': Buffer.alloc(16_777_217, 'x'),
    'broken.md': '---\nname: [\n---\ntext',
    'back\\slash.md': 'x',
    'tab\there.md': 'x',
    '<script>.md': '<script>alert(1)</script>',
    'real/x.md': 'x'
  })
  for (const [target, name] of [
    [path.join(outside, 'secret.md'), 'secret.md'], [outside, 'folder'], ['/dev/null/x', 'nothing.md'],
    [directory, 'real/loop'], [path.join(directory, 'a.md'), 'inside.md'], ['/dev/zero', 'zero.md']
  ]) symlinkSync(target, path.join(directory, name))
  execFileSync('mkfifo', [path.join(directory, 'pipe.md')])

  const { pages, untaken } = await takeAll(readMarkdown(directory, {}))
  assert.deepEqual(Object.keys(pages).sort(), ['<script>', 'A', 'Same', 'a', 'broken', 'inside', 'real/x'].sort())
  assert.equal(pages.Same[0].content, '1')
  assert.equal(pages.inside[0].content, 'text')
  assert.equal(pages.broken[0].content, '---\nname: [\n---\ntext', 'nothing is lost')
  const reasons = Object.entries({
    'secret.md': /leads out/,
    folder: /leads out/,
    'zero.md': /leads out/,
    'nothing.md': /link to nothing/,
    'real/loop': /link to a folder/,
    'pipe.md': /no file/,
    'two.md': /Another file is the page/,
    'bytes.md': /not UTF-8/,
    'long.md': /longer than 16 MiB/,
    'back\\slash.md': /backslash/,
    'tab\there.md': /cannot be shown/
  })
  for (const [name, reason] of reasons) assert.match(untaken[name], reason, name)
  assert.equal(Object.keys(untaken).length, reasons.length, Object.keys(untaken).join())
  await assert.rejects(takeAll(readMarkdown(path.join(directory, 'a.md'), {})), /there is no folder/)
  const over = new AbortController()
  over.abort()
  await assert.rejects(takeAll(readMarkdown(directory, { signal: over.signal })), { name: 'AbortError' })
})
