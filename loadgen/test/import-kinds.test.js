import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { get, untilCounted, useWiki } from '@stevec/wiki-app/test/helper'
import { png } from '@stevec/wiki-app/test/images'
import { dump, page, redirect } from '@stevec/wiki-app/test/mediawiki-dump'
import { contents } from '@stevec/wiki-app/test/moving'
import { useShell } from './shell.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const wiki = useWiki()
const { run } = useShell()

/**
 * A folder with these files.
 * @param {TestContext} t @param {Record<string, string | Buffer>} files
 */
function folderOf (t, files) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-import-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(directory, name)), { recursive: true })
    writeFileSync(path.join(directory, name), bytes)
  }
  return directory
}

/** @param {string[]} args @returns {Promise<string>} what it says at the end */
async function imported (...args) {
  const { exitCode, stdout, stderr } = await run(['import', ...args])
  assert.equal(exitCode, 0, stdout + stderr)
  return stdout
}

/** @param {App} app @param {string} name @returns {Promise<any[]>} the newest first */
const historyOf = async (app, name) =>
  (await get(app, `/api/v1/pages/${encodeURIComponent(name)}/revisions`)).json().items

/** @param {App} app @param {string} name @returns {Promise<string[]>} */
const tagsOf = async (app, name) => (await get(app, `/api/v1/pages/${encodeURIComponent(name)}`)).json().tags

/** A second run of the same. @param {App} app @param {string} uri @param {string[]} args */
async function changesNothing (app, uri, args) {
  await untilCounted(app)
  const before = await contents(uri)
  assert.match(await imported(...args), /^0 revisions written, \d+ unchanged/)
  assert.deepEqual(await contents(uri), before)
}

/** @param {App} app @param {string} html  that shows one picture */
async function assertShown (app, html) {
  const [, url = ''] = /<img[^>]+src="(\/files\/[^"]+)"/.exec(html) ?? []
  const shown = await get(app, url)
  assert.deepEqual([shown.statusCode, shown.rawPayload.equals(png(2, 2))], [200, true], html)
}

test('a dump of MediaWiki: links, categories, templates, history, redirects and pictures', async (t) => {
  const folder = folderOf(t, {
    'images/a/ab/Red_bee.png': png(2, 2),
    'dump.xml': dump(
      page('Bees', [
        { text: "'''Old''' text", timestamp: '2011-01-01T00:00:00Z', comment: '<comment>begin</comment>' },
        {
          text: "'''Bees''' live in [[hive|hives]], see [[Apis]].\n\n[[File:Red_bee.png|A red bee]] {{Cite|7}}\n" +
            '[[Category:Flying insects]]',
          contributor: '<username>Bo</username><id>8</id>'
        }
      ]),
      page('Hive', [{ text: '== Wax ==\nSee [[Bees#x]].' }]),
      redirect('Apis', 'Bees')
    )
  })
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const args = ['mediawiki', path.join(folder, 'dump.xml'), '--pictures', path.join(folder, 'images'), '--uri', uri]
  assert.equal(await imported(...args), '3 revisions written, 2 pages created, 1 redirect, 1 picture\n')

  const { body } = await get(app, '/wiki/Bees')
  assert.match(body, /<strong>Bees<\/strong> live in <a href="\/wiki\/Hive"[^>]*>hives<\/a>/)
  assert.match(body, /<code>\{\{Cite\|7\}\}<\/code>/)
  await assertShown(app, body)
  assert.deepEqual(await tagsOf(app, 'Bees'), ['flying insects'])
  assert.equal((await get(app, '/wiki/Hive')).statusCode, 200)
  assert.equal((await get(app, '/wiki/Apis')).headers.location, '/wiki/Bees')
  assert.deepEqual((await historyOf(app, 'Bees')).map(({ author, summary, created_at: at }) => [author, summary, at]), [
    ['Bo', 'tidied', '2012-03-04T05:06:07.000Z'], ['Ana', 'begin', '2011-01-01T00:00:00.000Z']
  ])
  await changesNothing(app, uri, args)
})

test('a folder of DokuWiki: links, tags, history and pictures; what it no longer has is left out', async (t) => {
  const folder = folderOf(t, {
    'data/pages/wiki/bees.txt': '**Bees** live in [[.:hive|hives]].\n\n{{wiki:bee.png|A bee}} {{tag>insects}}',
    'data/pages/wiki/hive.txt': '====== Hive ======',
    'data/meta/wiki/bees.changes': '100\t::1\tC\twiki:bees\tana\tbegin\t\n200\t::1\tE\twiki:bees\tbo\t\t\n',
    'data/attic/wiki/bees.100.txt.gz': gzipSync('old'),
    'data/meta/gone.changes': '100\t::1\tC\tgone\tana\t\t\n200\t::1\tD\tgone\tana\t\t\n',
    'data/media/wiki/bee.png': png(2, 2),
    'data/media/wiki/manual.pdf': 'pdf'
  })
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const args = ['dokuwiki', folder, '--uri', uri]
  assert.equal(await imported(...args), '3 revisions written, 2 pages created, 1 picture, 2 left out\n')
  const { body } = await get(app, '/wiki/wiki/bees')
  assert.match(body, /<strong>Bees<\/strong> live in <a href="\/wiki\/wiki\/hive"[^>]*>hives<\/a>/)
  await assertShown(app, body)
  assert.deepEqual(await tagsOf(app, 'wiki/bees'), ['insects'])
  assert.deepEqual(
    (await historyOf(app, 'wiki/bees')).map(({ author, summary, created_at: at }) => [author, summary, at]),
    [['bo', '', '1970-01-01T00:03:20.000Z'], ['ana', 'begin', '1970-01-01T00:01:40.000Z']])
  await changesNothing(app, uri, args)
})

test('a folder of Markdown: names, links and pictures; a changed file is another revision', async (t) => {
  const folder = folderOf(t, {
    'Home.md': '---\ntags: [one]\naliases: Start\n---\n[bees](notes/Bees.md) ![a bee](bee.png)',
    'notes/Bees.md': '# Bees\n\n[[Home]]',
    'bee.png': png(2, 2),
    'notes.canvas': '{}'
  })
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const args = ['markdown', folder, '--uri', uri]
  assert.equal(await imported(...args),
    '2 revisions written, 2 pages created, 1 redirect, 1 picture, 1 left out\n')
  const { body } = await get(app, '/wiki/Home')
  assert.match(body, /<a href="\/wiki\/notes\/Bees"[^>]*>bees<\/a>/)
  await assertShown(app, body)
  assert.deepEqual(await tagsOf(app, 'Home'), ['one'])
  assert.equal((await get(app, '/wiki/Start')).headers.location, '/wiki/Home')
  await changesNothing(app, uri, args)

  const bees = path.join(folder, 'notes/Bees.md')
  for (const [text, count] of /** @type {[string, number][]} */ ([['# Wasps', 2], ['# Bees\n\n[[Home]]', 3]])) {
    writeFileSync(bees, text)
    utimesSync(bees, new Date(), new Date())
    assert.match(await imported(...args), /^1 revision written, 1 page continued/)
    assert.deepEqual((await historyOf(app, 'notes/Bees')).length, count)
    assert.equal((await get(app, '/api/v1/pages/notes%2FBees')).json().content, text)
  }
  await changesNothing(app, uri, args)
})

/** What people see of a wiki, without the ids of its documents. @param {string} uri */
async function seenIn (uri) {
  const client = await MongoClient.connect(uri)
  try {
    const db = client.db()
    const pages = /** @type {any[]} */ (await db.collection('pages').find().sort({ _id: 1 }).toArray())
    const seen = []
    for (const { _id, history = _id, redirect_to: to, revision, content, tags, html, deleted_at: deletedAt } of pages) {
      if (to) {
        seen.push([_id, to])
        continue
      }
      const revisions = await db.collection('revisions').find({ page: history }).sort({ revision: 1 }).toArray()
      seen.push([
        _id, { revision, content, tags, html, isDeleted: Boolean(deletedAt) },
        revisions.map(({ revision, content, tags, author, summary, created_at: at, deleted = false }) =>
          ({ revision, content, tags, author, summary, at, deleted }))
      ])
    }
    const files = /** @type {any[]} */ (await db.collection('files.files').find().sort({ filename: 1 }).toArray())
    return { seen, files: files.map(({ filename, length, metadata }) => [filename, length, metadata?.alt]) }
  } finally {
    await client.close()
  }
}

test('an export to git that is imported elsewhere is the same wiki', async (t) => {
  const from = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: from })
  /** @param {import('light-my-request').InjectOptions} request */
  async function done (request) {
    const answer = await app.inject(request)
    assert.ok(answer.statusCode < 400, answer.body)
    return answer
  }
  const put = (/** @type {string} */ name, /** @type {object} */ payload) =>
    done({ method: 'PUT', url: `/api/v1/pages/${encodeURIComponent(name)}`, payload })
  const { headers } = await done({
    method: 'POST', url: '/api/v1/files?alt=A%20bee', headers: { 'content-type': 'image/png' }, payload: png(2, 2)
  })
  await put('A/Bees', {
    content: `# Bees\n\n![bee](${headers.location}) [[Hive]]`, tags: ['x'], author: 'Ana', summary: '1'
  })
  await put('A/Bees', { content: `![bee](${headers.location})\n`, tags: ['y'], author: 'Bo <b@x.example>' })
  await put('Hives', { content: 'Where bees live' })
  await done({ method: 'POST', url: '/api/v1/pages/Hives/rename', payload: { to: 'Hive' } })
  for (const name of ['Gone', 'Again']) {
    await put(name, { content: 'soon' })
    await done({ method: 'DELETE', url: `/wiki/${name}` })
  }
  await put('Again', { content: 'back', summary: 'here again' })

  // Dates of the last two seconds would be put back, see dateAfter.
  await setTimeout(2_100)
  const folder = path.join(folderOf(t, {}), 'moved')
  const exported = await run(['export', 'git', folder, '--uri', from])
  assert.equal(exported.exitCode, 0, exported.stderr)
  const to = wiki.freshUri()
  const other = await wiki.build(t, { MONGODB_URI: to })
  const args = ['git', folder, '--uri', to]
  assert.equal(await imported(...args), '9 revisions written, 4 pages created, 1 redirect, 1 picture\n')
  const [before, after] = [await seenIn(from), await seenIn(to)]
  assert.deepEqual(after, before)
  assert.equal(before.seen.length, 5)
  assert.equal((await get(other, '/wiki/Hives')).headers.location, '/wiki/Hive')
  assert.equal((await get(other, '/wiki/Gone')).statusCode, 404)
  await assertShown(other, (await get(other, '/wiki/A/Bees')).body)
  await changesNothing(other, to, args)

  await put('Hive', { content: 'Wax', author: 'Cy' })
  assert.equal((await run(['export', 'git', folder, '--uri', from])).exitCode, 0)
  assert.match(await imported(...args), /^1 revision written, 1 page continued/)
  assert.equal(execFileSync('git', ['log', '-1', '--format=%an'], { cwd: folder }).toString(), 'Cy\n')
  assert.deepEqual((await historyOf(other, 'Hive')).map(({ author }) => author), ['Cy', '', ''])
})

test('options, files and folders that a kind has no use for are refused, and so is a lack of pandoc', async (t) => {
  const folder = folderOf(t, { 'a.md': 'a', 'dump.xml': dump() })
  const file = path.join(folder, 'dump.xml')
  for (const [args, exitCode, message, env] of /** @type {[string[], number, RegExp, Record<string, string>?][]} */ ([
    [['git', folder, '--namespaces', 'main'], 2, /--namespaces is not for git; leave it out/],
    [['markdown', folder, '--include-files'], 2, /--include-files is not for markdown/],
    [['dokuwiki', folder, '--pictures', folder], 2, /--pictures is not for dokuwiki/],
    [['dokuwiki', folder, '--redirects', 'x'], 2, /--redirects is not for dokuwiki/],
    [['mediawiki', folder], 2, /is a folder; mediawiki takes an XML dump/],
    [['markdown', file], 2, /is no folder; markdown takes a folder/],
    [['git', '/nowhere'], 2, /there is no folder \/nowhere/],
    [['git', folder, '--uri', wiki.freshUri()], 2, /is no git repository/],
    [['dokuwiki', folder, '--uri', wiki.freshUri()], 2, /has no folder “pages”/],
    [['mediawiki', file], 3, /PANDOC_BIN=\/nowhere is not a pandoc/, { PANDOC_BIN: '/nowhere' }]
  ])) {
    const refused = await run(['import', ...args], env)
    assert.match(refused.stderr, message, args.join(' '))
    assert.equal(refused.exitCode, exitCode, args.join(' '))
  }
})
