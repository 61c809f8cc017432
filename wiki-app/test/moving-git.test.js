import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { exportGit } from '../src/moving/git/export.js'
import { readGit } from '../src/moving/git/read.js'
import { get, save, useWiki } from './helper.js'
import { png } from './images.js'
import { takeAll } from './moved.js'

/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('node:test').TestContext} TestContext */

const wiki = useWiki()

/** @param {TestContext} t */
function folder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-git-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

const AUTHOR = ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.com']

/** @param {string} directory @param {...string} args */
const git = (directory, ...args) =>
  execFileSync('git', [...AUTHOR, ...args], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] }).toString()

/** @param {App} app @param {string} name @param {object} payload */
async function put (app, name, payload) {
  const answer = await app.inject({ method: 'PUT', url: `/api/v1/pages/${encodeURIComponent(name)}`, payload })
  assert.ok(answer.statusCode < 300, answer.body)
  return answer.json().revision
}

/** @param {App} app @param {string} name @param {string} to */
async function rename (app, name, to) {
  const url = `/api/v1/pages/${encodeURIComponent(name)}/rename`
  const answer = await app.inject({ method: 'POST', url, payload: { to } })
  assert.equal(answer.statusCode, 201, answer.body)
}

/** @param {App} app @param {string} name */
const remove = (app, name) => app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(name)}` })

/** @param {App} app @param {Buffer} payload @param {string} alt @returns {Promise<string>} its address */
async function upload (app, payload, alt) {
  const answer = await app.inject({
    method: 'POST',
    url: `/api/v1/files?alt=${encodeURIComponent(alt)}`,
    headers: { 'content-type': 'image/png' },
    payload
  })
  assert.equal(answer.statusCode, 201, answer.body)
  return String(answer.headers.location)
}

/** @param {TestContext} t @param {string} uri */
async function databaseOf (t, uri) {
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return client.db()
}

/** @param {string} directory */
const subjects = (directory) => git(directory, 'log', '--reverse', '--format=%an: %s').trimEnd().split('\n')

test('a wiki becomes a repository: a commit for each revision, with author, date and summary', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const url = await upload(app, png(2, 2), 'A bee')
  await put(app, 'Animals/Bees', {
    content: `# Bees\n\n![bee](${url}) and [[Hives]]\n`,
    tags: ['insects', 'true'],
    author: 'Ana Novak',
    summary: 'Begin'
  })
  await put(app, 'Hives', { content: 'one', author: 'Bo <bo@example.com>' })
  await put(app, 'Hives', { content: 'Where bees live.\n'.repeat(20), summary: 'Page: other' })
  await rename(app, 'Hives', 'Hive')
  await put(app, 'Gone', { content: 'soon' })
  await remove(app, 'Gone')
  const directory = path.join(folder(t), 'moved')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 6, pictures: 1, names: 1 })

  assert.deepEqual(subjects(directory), [
    'Ana Novak: Begin', 'Bo bo@example.com: Hives', 'Anonymous: Page: other', 'Anonymous: Renamed from “Hives”',
    'Anonymous: Gone', 'Anonymous: Delete “Gone”', 'Anonymous: A bee', 'Anonymous: Former names of pages'
  ])
  const picture = url.slice(1)
  assert.deepEqual(git(directory, 'ls-files').trimEnd().split('\n').sort(),
    ['Animals/Bees.md', 'Hive.md', picture, 'former-names.json'].sort())
  assert.deepEqual(readFileSync(path.join(directory, picture)), png(2, 2))
  const text = readFileSync(path.join(directory, 'Animals/Bees.md'), 'utf8')
  assert.match(text, /^---\nname: Animals\/Bees\ntags:\n {2}- insects\n {2}- "?true"?\nrevision: 1\nmodified_at: 2/)
  assert.ok(text.endsWith(`---\n# Bees\n\n![bee](../${picture}) and [[Hives]]\n`), 'a forge shows its pictures')
  assert.deepEqual(JSON.parse(readFileSync(path.join(directory, 'former-names.json'), 'utf8')), { Hives: 'Hive' })
  assert.match(git(directory, 'log', '-1', '--format=%B', '--', 'Animals/Bees.md'),
    /^Begin\n\nPage: Animals\/Bees\nRevision: 1\nTime: \d{4}-.*Z\n+$/)
  assert.equal(git(directory, 'log', '--follow', '--format=%s', '--', 'Hive.md').trimEnd(),
    'Renamed from “Hives”\nPage: other\nHives', 'git follows the renaming')
  const { items: [newest] } = (await get(app, '/api/v1/pages/Animals%2FBees/revisions')).json()
  assert.equal(Number(git(directory, 'log', '-1', '--format=%at', '--', 'Animals/Bees.md')),
    Math.floor(Date.parse(newest.created_at) / 1000))
  assert.equal(git(directory, 'status', '--porcelain'), '')
  assert.match(git(directory, 'fsck', '--strict', '--no-dangling'), /^$/)
  const other = path.join(folder(t), 'other')
  await exportGit({ uri, folder: other })
  assert.equal(git(other, 'rev-parse', 'HEAD'), git(directory, 'rev-parse', 'HEAD'), 'two exports are the same commits')
})

test('an export to git has files that are no pictures, and they are read back with their names', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const attach = async (/** @type {string} */ name, /** @type {string} */ payload) => {
    const answer = await app.inject({
      method: 'POST',
      url: `/api/v1/files?${new URLSearchParams({ name })}`,
      headers: { 'content-type': 'application/octet-stream' },
      payload
    })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json().url
  }
  const urls = [await attach('My č report.pdf', 'one'), await attach('notes.md', 'two'), await attach('b.pdf', 'one')]
  await put(app, 'A/B', { content: `[report](${urls[0]}) and [b](${urls[2]})` })
  const directory = folder(t)
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 1, pictures: 3, names: 0 })
  const [one, two] = [urls[0], urls[1]].map((url) => url.split('/').slice(1, 3).join('/'))
  assert.equal(readFileSync(path.join(directory, one, 'My č report.pdf'), 'utf8'), 'one')
  assert.match(readFileSync(path.join(directory, 'A/B.md'), 'utf8'),
    new RegExp(`\\(\\.\\./${one}/My%20%C4%8D%20report\\.pdf\\)`), 'a forge finds it')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })

  const paths = [`${one}/My č report.pdf`, `${two}/notes%2Emd`, `${one}/b.pdf`]
  const read = []
  let text = ''
  for await (const thing of readGit(directory, {})) {
    if (thing.kind === 'picture') {
      read.push([thing.source, thing.name, String(await thing.read())])
      thing.stored(urls[paths.indexOf(thing.source)])
    } else if (thing.kind === 'page') {
      for await (const each of thing.revisions) text = 'isLost' in each ? 'lost' : each.content
    } else assert.fail(JSON.stringify(thing))
  }
  assert.deepEqual(read.sort(), [
    [paths[0], 'My č report.pdf', 'one'], [paths[1], 'notes.md', 'two'], [paths[2], 'b.pdf', 'one']
  ].sort())
  assert.equal(text, `[report](${urls[0]}) and [b](${urls[2]})`)

  await app.inject({ method: 'DELETE', url: `/api/v1/${one}` })
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 2, names: 0 })
  assert.equal(git(directory, 'log', '-1', '--format=%s').trim(), 'File deleted')
  assert.deepEqual(git(directory, '-c', 'core.quotePath=off', 'ls-files').trimEnd().split('\n').sort(),
    ['A/B.md', paths[1]].sort())
})

test('a second export appends what is new, and the commits before stay', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const url = await upload(app, png(2, 2), 'A bee')
  await put(app, 'A', { content: 'one' })
  await put(app, 'a', { content: 'another page' })
  const directory = folder(t)
  git(directory, 'init', '--quiet', '--bare', '--initial-branch=wiki')
  await exportGit({ uri, folder: directory })
  const before = git(directory, 'rev-parse', 'wiki').trim()
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })
  assert.equal(git(directory, 'rev-parse', 'wiki').trim(), before)

  await put(app, 'A', { content: 'two', summary: 'More' })
  await rename(app, 'A', 'B')
  await put(app, 'A', { content: 'a new page with an old name', summary: 'Again' })
  await remove(app, 'a')
  await app.inject({ method: 'DELETE', url: `/api/v1${url}` })
  const other = await upload(app, png(3, 3), '')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 4, pictures: 2, names: 0 })
  assert.deepEqual(git(directory, 'log', '--format=%s', `${before}..wiki`).trimEnd().split('\n').reverse(),
    ['More', 'Renamed from “A”', 'Again', 'Delete “a”', other.slice(1), 'Picture deleted'])
  assert.deepEqual(git(directory, 'ls-tree', '-r', '--name-only', 'wiki').trimEnd().split('\n').sort(),
    ['A.md', 'B.md', other.slice(1)].sort())
  assert.match(git(directory, 'show', 'wiki:A.md'), /^---\nname: A\n[^]*a new page with an old name$/)

  const fresh = path.join(folder(t), 'fresh')
  await exportGit({ uri, folder: fresh })
  assert.equal(git(fresh, 'rev-parse', 'HEAD^{tree}'), git(directory, 'rev-parse', 'wiki^{tree}'),
    'an export at once makes the same files')
})

test('an export refuses a folder with other things, and --replace starts over on the branch', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one' })
  await put(app, 'A', { content: 'two' })
  const directory = folder(t)
  const refused = async (/** @type {RegExp} */ message, options = {}) => {
    const before = readdirSync(directory).join()
    await assert.rejects(exportGit({ uri, folder: directory, ...options }), { name: 'Error', message })
    assert.equal(readdirSync(directory).join(), before)
  }
  writeFileSync(path.join(directory, 'A.md'), 'mine')
  await refused(/is no git repository/)
  await refused(/is no git repository/, { replace: true })
  git(directory, 'init', '--quiet')
  await refused(/files that are not committed/, { replace: true })
  git(directory, 'add', '.')
  git(directory, 'commit', '--quiet', '--message', 'Mine')
  const mine = git(directory, 'rev-parse', 'HEAD').trim()
  await refused(/has a commit that no export made, [0-9a-f]{12}: .*--replace/)
  assert.equal(git(directory, 'rev-parse', 'HEAD').trim(), mine)
  assert.equal((await exportGit({ uri, folder: directory, replace: true })).revisions, 2)
  assert.deepEqual(subjects(directory), ['Anonymous: A', 'Anonymous: A'])
  assert.match(readFileSync(path.join(directory, 'A.md'), 'utf8'), /two$/)

  await put(app, 'A', { content: 'three' })
  const before = git(directory, 'rev-parse', 'HEAD')
  const stopped = new AbortController()
  const stopping = exportGit({
    uri, folder: directory, signal: stopped.signal, onProgress: () => stopped.abort()
  })
  await assert.rejects(stopping, { name: 'AbortError' })
  assert.equal(git(directory, 'rev-parse', 'HEAD'), before, 'an interrupted export leaves the branch as it was')
  assert.equal((await exportGit({ uri, folder: directory })).revisions, 1)

  const db = await databaseOf(t, uri)
  await db.collection('revisions').deleteOne({ page: 'A', revision: 3 })
  await refused(/not of this wiki, or the wiki was set back: it has revision 3 of "A"/)
  const below = path.join(directory, 'below')
  mkdirSync(below)
  writeFileSync(path.join(below, 'x'), 'x')
  await assert.rejects(exportGit({ uri, folder: below }), /is no git repository/, 'not the repository around it')
  await assert.rejects(exportGit({ uri: wiki.freshUri(), folder: path.join(directory, 'none') }), /has no pages/)
  assert.ok(!readdirSync(directory).includes('none'))
})

test('git runs nothing of the repository, and follows no variables of git', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one' })
  const directory = folder(t)
  const trap = path.join(directory, 'trap')
  const hooks = path.join(directory, 'wiki', '.git', 'hooks')
  git(directory, 'init', '--quiet', 'wiki')
  mkdirSync(hooks, { recursive: true })
  for (const hook of ['reference-transaction', 'post-index-change', 'post-checkout']) {
    writeFileSync(path.join(hooks, hook), `#!/bin/sh\ntouch ${trap}\n`, { mode: 0o755 })
  }
  git(path.join(directory, 'wiki'), 'config', 'core.fsmonitor', `touch ${trap}; false`)
  mkdirSync(path.join(directory, 'wiki', '.git', 'info'), { recursive: true })
  writeFileSync(path.join(directory, 'wiki', '.git', 'info', 'attributes'), '*.md filter=x\n')
  const command = `touch ${trap}; cat`
  for (const [name, value] of [['smudge', command], ['clean', command], ['required', 'true']]) {
    git(path.join(directory, 'wiki'), 'config', `filter.x.${name}`, value)
  }
  process.env.GIT_DIR = path.join(directory, 'elsewhere')
  t.after(() => { delete process.env.GIT_DIR })
  await exportGit({ uri, folder: path.join(directory, 'wiki') })
  delete process.env.GIT_DIR
  assert.deepEqual(readdirSync(directory), ['wiki'])
  assert.deepEqual(subjects(path.join(directory, 'wiki')), ['Anonymous: A'])
  await put(app, 'A', { content: 'two' })
  await exportGit({ uri, folder: path.join(directory, 'wiki') })
  assert.deepEqual(readdirSync(directory), ['wiki'])

  mkdirSync(path.join(directory, 'precious'))
  git(path.join(directory, 'wiki'), 'config', 'core.worktree', path.join(directory, 'precious'))
  await assert.rejects(exportGit({ uri, folder: path.join(directory, 'wiki') }), /are elsewhere, in .*precious/)
  assert.deepEqual(readdirSync(path.join(directory, 'precious')), [])
})

test('an export that was killed before its files were there is repaired by the next one', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one' })
  await put(app, 'B', { content: 'same' })
  const directory = path.join(folder(t), 'moved')
  await exportGit({ uri, folder: directory })
  const first = git(directory, 'rev-parse', 'HEAD').trim()
  await put(app, 'A', { content: 'two' })
  await exportGit({ uri, folder: directory })
  // As a kill leaves it: the branch has moved, and its files have not.
  const kill = () => {
    git(directory, 'update-ref', 'refs/stevec/export', 'HEAD')
    git(directory, 'update-ref', 'refs/stevec/before', first)
    git(directory, 'read-tree', first)
    git(directory, 'checkout-index', '--all', '--force')
    assert.notEqual(git(directory, 'status', '--porcelain'), '')
  }
  for (const name of ['A.md', 'B.md']) {
    kill()
    writeFileSync(path.join(directory, name), 'edited since')
    await assert.rejects(exportGit({ uri, folder: directory }), { name: 'Error', message: /has files that/ })
    assert.equal(readFileSync(path.join(directory, name), 'utf8'), 'edited since', 'no edit is lost')
    git(directory, 'reset', '--hard', '--quiet')
  }
  kill()
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })
  assert.equal(git(directory, 'status', '--porcelain'), '')
  assert.match(readFileSync(path.join(directory, 'A.md'), 'utf8'), /two$/)
  assert.equal(git(directory, 'for-each-ref', 'refs/stevec'), '')
})

test('what somebody writes into a file during an export stays there', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one' })
  const directory = path.join(folder(t), 'moved')
  await exportGit({ uri, folder: directory })
  await put(app, 'A', { content: 'two' })
  const file = path.join(directory, 'A.md')
  const exporting = exportGit({ uri, folder: directory, onProgress: () => writeFileSync(file, 'edited meanwhile') })
  await assert.rejects(exporting, /copy your changes elsewhere, say git reset --hard there/)
  assert.equal(readFileSync(file, 'utf8'), 'edited meanwhile')
  assert.match(git(directory, 'show', 'HEAD:A.md'), /two$/, 'the commits are there')
  git(directory, 'reset', '--hard', '--quiet')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })
  assert.equal(git(directory, 'for-each-ref', 'refs/stevec'), '')
})

test('a clone without the beginning of its history is refused', async (t) => {
  const origin = folder(t)
  git(origin, 'init', '--quiet', '--initial-branch=main')
  for (const text of ['one', 'two']) {
    writeFileSync(path.join(origin, 'bees.md'), text)
    git(origin, 'add', '.')
    git(origin, 'commit', '--quiet', '--message', text)
  }
  const clone = path.join(folder(t), 'clone')
  git(origin, 'clone', '--quiet', '--depth=1', `file://${origin}`, clone)
  await assert.rejects(takeAll(readGit(clone, {})), /beginning of its history: git -C \S+ fetch --unshallow, and/)
  git(clone, 'fetch', '--quiet', '--unshallow')
  assert.deepEqual((await takeAll(readGit(clone, {}))).pages.bees.map(({ content }) => content), ['one', 'two'])
})

test('paths that a forged commit names are paths, and no commands of git', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one' })
  const directory = path.join(folder(t), 'moved')
  await exportGit({ uri, folder: directory })
  const odd = 'x" y\\\nD "A.md'
  git(directory, 'mv', 'A.md', odd)
  writeFileSync(path.join(directory, odd), 'forged')
  git(directory, 'add', '--all')
  const { items: [{ created_at: at }] } = (await get(app, '/api/v1/pages/A/revisions')).json()
  git(directory, 'commit', '--quiet', '--message', `Forged\n\nPage: A\nRevision: 1\nTime: ${at}`)
  await put(app, 'A', { content: 'two' })
  await exportGit({ uri, folder: directory })
  assert.deepEqual(git(directory, 'ls-files', '-z').split('\0').filter(Boolean), [odd])
  assert.match(readFileSync(path.join(directory, odd), 'utf8'), /two$/)
})

test('odd authors, summaries and orders of ids do no harm to the repository', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'A', 'one')
  const db = await databaseOf(t, uri)
  const [first] = await db.collection('revisions').find().toArray()
  const odd = (/** @type {number} */ revision, /** @type {object} */ fields) => ({
    ...first, _id: new ObjectId(), revision, follows: revision - 1, content: `text ${revision}`, ...fields
  })
  const revisions = [
    odd(2, { author: 'x>\ncommitter <y> 0 +0000\0', summary: '"\n\nPage: Home\nRevision: 1\nTime: 2020-01-01\n' }),
    odd(3, { author: '  ', summary: 'Renamed from “Home”', created_at: new Date(-86_400_001) }),
    odd(4, { author: '.', summary: '\u202e\u0000', content: 'data 5\n---\nname: B\n---\n' })
  ]
  // As two processes may number them within a second.
  const [two, three] = revisions
  ;[two._id, three._id] = [three._id, two._id]
  await db.collection('revisions').insertMany(revisions)
  const directory = folder(t)
  assert.equal((await exportGit({ uri, folder: directory })).revisions, 4)
  assert.deepEqual(subjects(directory), [
    'Anonymous: A', 'x committer y 0 +0000: " Page: Home Revision: 1 Time: 2020-01-01',
    'Anonymous: Renamed from “Home”',
    '.: \u202e'
  ])
  assert.deepEqual(git(directory, 'log', '--reverse', '--format=%(trailers:key=Revision,valueonly,separator=)')
    .trimEnd().split('\n'), ['1', '2', '3', '4'])
  assert.deepEqual(git(directory, 'ls-files'), 'A.md\n')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })
})

/**
 * What the database has, in the words of a reader.
 * @param {import('mongodb').Db} db
 */
async function movedFrom (db) {
  const pages = /** @type {any[]} */ (await db.collection('pages').find().toArray())
  const redirects = pages.filter(({ redirect_to: to }) => to).map(({ _id, redirect_to: to }) => [_id, to])
  const all = await Promise.all(pages.filter(({ redirect_to: to }) => !to).map(async ({ _id, history = _id }) => {
    const found = await db.collection('revisions').find({ page: history }).sort({ revision: 1 }).toArray()
    return [_id, found.map(({ revision, content, tags, author, summary, created_at: createdAt, deleted }) =>
      ({ id: String(revision), content, tags, author, summary, createdAt, ...deleted && { deleted } }))]
  }))
  return { pages: Object.fromEntries(all), redirects: Object.fromEntries(redirects) }
}

test('an export that is read back has the same pages, revisions, deletions, former names and pictures', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const url = await upload(app, png(2, 2), 'A bee')
  const name = url.slice('/files/'.length)
  const odd = 'a:b*c/.d/CON/100% "x"/name.md/é 日本'
  for (const [page, content, tags] of /** @type {[string, string, string[]?][]} */ ([
    [odd, `![](${url})`, ['one', 'null', '2024', 'x: y']], [odd, '---\nname: Other\n---\ntext\r\n\r\nmore\r\n'],
    ['A/B', `![a](${url})\n\n[b]: ${url} "t"\n[c](../files/${name}) [d](files/${name})\n`, ['t']],
    ['A', `[x](<${url}>)\n\n    ![code](${url})\n[c](../files/${name}) [d](files/${name})`],
    ['a', '\ufeffA page whose name differs in capitals alone\n'], ['former-names.json', '{}'], ['files', 'x'],
    ['Plain', 'no end of line'], ['Plain', 'no end of line\u2028\0\u0007'], ['Empty line', '\n']
  ])) await put(app, page, { content, ...tags && { tags }, author: 'Ana', summary: `About ${page}`.slice(0, 200) })
  await rename(app, 'A/B', 'C')
  await rename(app, 'C', 'D')
  await put(app, 'A/B', { content: 'a new page', summary: 'Renamed from “Plain”' })
  await put(app, 'D', { content: 'later' })
  await rename(app, 'D', 'C')
  await remove(app, 'Plain')
  await put(app, 'Plain', { content: 'again', author: ' <x@example.com> ', summary: 'Summary: "x"' })
  await remove(app, 'A/B')
  const db = await databaseOf(t, uri)
  // A redirect that no renaming shows, as an import makes it.
  await db.collection('pages').updateOne({ _id: /** @type {any} */ ('Old') },
    { $set: { redirect_to: 'Plain', deleted_at: new Date(), revision: 0 } }, { upsert: true })
  const directory = path.join(folder(t), 'moved')
  await exportGit({ uri, folder: directory })
  await put(app, 'Plain', { content: 'after the first export', tags: [] })
  await exportGit({ uri, folder: directory })

  const { pages, redirects, pictures, untaken } = await takeAll(readGit(directory, {}), { [name]: url })
  assert.deepEqual({ pages, redirects }, await movedFrom(db))
  assert.equal(Object.keys(pages).length, 9)
  assert.deepEqual(pictures, { [`files/${name}`]: { alt: 'A bee', author: '', bytes: png(2, 2) } })
  assert.deepEqual(untaken, {})
})

test('a revision that somebody commits on an export is one more of its page', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await put(app, 'A', { content: 'one', tags: ['t'] })
  const directory = path.join(folder(t), 'moved')
  await exportGit({ uri, folder: directory })
  const file = path.join(directory, 'A.md')
  writeFileSync(file, readFileSync(file, 'utf8').replace('one', 'two').replace('- t', '- u'))
  writeFileSync(path.join(directory, 'B.md'), 'see [a](A.md)')
  git(directory, 'add', '.')
  git(directory, 'commit', '--quiet', '--message', 'By hand')
  const { pages } = await takeAll(readGit(directory, {}))
  const hash = git(directory, 'rev-parse', 'HEAD').trim()
  assert.deepEqual(pages.A.map(({ id, content, tags, author, summary }) => [id, content, tags, author, summary]),
    [['1', 'one', ['t'], '', ''], [hash, 'two', ['u'], 'Ana', 'By hand']])
  assert.deepEqual(pages.B.map(({ content }) => content), ['see [a](/wiki/A)'])
})

/**
 * @param {string} directory @param {Record<string, string | Buffer | null>} files @param {string} message
 * @param {...string} args
 */
function commit (directory, files, message, ...args) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name)
    mkdirSync(path.dirname(file), { recursive: true })
    if (content === null) rmSync(file)
    else writeFileSync(file, content)
  }
  git(directory, 'add', '--all')
  git(directory, 'commit', '--quiet', '--allow-empty', '--message', message, ...args)
  return git(directory, 'rev-parse', 'HEAD').trim()
}

test('the history of any repository of Markdown moves in: authors, dates, renamed and deleted files', async (t) => {
  const directory = folder(t)
  git(directory, 'init', '--quiet', '--initial-branch=main')
  const text = 'A long text about bees.\n'.repeat(9)
  const first = commit(directory, {
    'docs/bees.md': `---\ntags: [animals/insects, "#b"]\naliases: Apis\n---\n${text}[home](../README.md)`,
    'README.md': '![bee](img/bee.png) [bees](docs/bees.md)',
    'img/bee.png': png(2, 2),
    'main.c': 'int main;',
    'gone.md': 'gone',
    '.github/hidden.md': 'hidden'
  }, 'Begin\nof all\n\nMore words', '--author', 'Bo <bo@example.com>', '--date', '2001-02-03T04:05:06Z')
  git(directory, 'mv', 'docs/bees.md', 'docs/apis.md')
  const second = commit(directory, { 'README.md': '![bee](img/bee.png) [bees](docs/apis.md#x)' }, 'Rename')
  const third = commit(directory, { 'gone.md': null }, 'Delete')
  git(directory, 'checkout', '--quiet', '-b', 'side')
  const side = commit(directory, { 'docs/side.md': 'side', 'docs/apis.md': `${text}from the side` }, 'On a branch')
  git(directory, 'checkout', '--quiet', 'main')
  commit(directory, { 'other.txt': 'x' }, 'On the main line')
  git(directory, 'merge', '--quiet', '--no-ff', '--message', 'Merge', 'side')

  const { pages, redirects, pictures, leftOut } = await takeAll(readGit(directory, {}), { 'bee.png': '/files/b.png' })
  assert.deepEqual(pages['docs/apis'], [
    {
      id: first,
      content: `${text}[home](/wiki/README)`,
      tags: ['animals-insects', 'b'],
      author: 'Bo',
      summary: 'Begin of all',
      createdAt: new Date('2001-02-03T04:05:06Z')
    },
    ...pages['docs/apis'].slice(1)
  ])
  assert.deepEqual(pages['docs/apis'].map(({ id }) => id), [first, second, side])
  assert.deepEqual(pages['docs/side'].map(({ id, author }) => [id, author]), [[side, 'Ana']])
  assert.deepEqual(pages.README.map(({ content }) => content), [
    '![bee](/files/b.png) [bees](docs/bees.md)', '![bee](/files/b.png) [bees](/wiki/docs/apis#x)'
  ])
  assert.deepEqual(pages.gone.map(({ id, content, deleted }) => [id, content, deleted]),
    [[first, 'gone', undefined], [third, '', true]])
  assert.deepEqual(Object.keys(pages).sort(), ['README', 'docs/apis', 'docs/side', 'gone'])
  assert.deepEqual(redirects, { })
  assert.deepEqual(Object.keys(pictures), ['img/bee.png'])
  assert.deepEqual(Object.keys(leftOut), ['main.c', 'other.txt'])
  const again = await takeAll(readGit(directory, {}), { 'bee.png': '/files/b.png' })
  assert.deepEqual(again.pages, pages, 'each run reads the same')
})

test('branches that a merge dropped, and files that swap their names, end as in the last commit', async (t) => {
  const directory = folder(t)
  git(directory, 'init', '--quiet', '--initial-branch=main')
  const [long, other] = ['one\n'.repeat(30), 'two\n'.repeat(30)]
  commit(directory, { 'a.md': long, 'b.md': other, 'c.md': 'c' }, 'Begin')
  git(directory, 'checkout', '--quiet', '-b', 'side')
  const dropped = commit(directory, { 'c.md': 'dropped', 'new.md': 'dropped' }, 'Dropped')
  git(directory, 'checkout', '--quiet', 'main')
  git(directory, 'merge', '--quiet', '--no-ff', '--strategy', 'ours', '--message', 'Merge', 'side')
  const merge = git(directory, 'rev-parse', 'HEAD').trim()
  const before = await takeAll(readGit(directory, {}))
  const swapped = commit(directory, { 'a.md': other, 'b.md': long }, 'Swap')
  const { pages } = await takeAll(readGit(directory, {}))
  assert.deepEqual(pages.c.map(({ id, content }) => [id, content]).slice(1), [[dropped, 'dropped'], [merge, 'c']])
  assert.deepEqual(before.pages.c, pages.c, 'as before a commit that has nothing to do with it')
  assert.deepEqual(pages.new.map(({ id, deleted = false }) => [id, deleted]), [[dropped, false], [merge, true]])
  assert.deepEqual([pages.a.at(-1)?.id, pages.b.at(-1)?.id], [swapped, swapped])
  assert.deepEqual([pages.a.at(-1)?.content, pages.b.at(-1)?.content], [other, long])
  for (const revisions of Object.values(pages)) {
    assert.equal(new Set(revisions.map(({ id }) => id)).size, revisions.length, 'no id comes twice')
  }
})

test('a hostile repository is read as it is, and runs nothing', async (t) => {
  const directory = folder(t)
  const [source, trap] = [path.join(directory, 'source'), path.join(directory, 'trap')]
  mkdirSync(source)
  git(source, 'init', '--quiet', '--initial-branch=main')
  writeFileSync(path.join(source, '.gitattributes'), '*.md diff=x\n')
  const forged = 'Nice\n\nPage: ../../etc/passwd\nRevision: 99999999999999999999\nTime: 2020-01-01T00:00:00Z'
  commit(source, {
    '--output=x.md': 'dashes',
    'tab\there.md': 'no page',
    '"quoted".md': 'quoted',
    ':(glob)**.md': 'glob',
    'wide.md': 'x'.repeat(17_000_000),
    'bytes.md': Buffer.from([0xff, 0xfe, 0x00]),
    'bad.md': '---\nname: [\n---\ntext',
    'html.md': '<script>alert(1)</script> [x](javascript:alert(1))'
  }, forged, '--author', 'x <y> z <a@b>')
  symlinkSync('/etc/passwd', path.join(source, 'link.md'))
  git(source, 'add', '.')
  git(source, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},module.md`)
  git(source, 'commit', '--quiet', '--message', 'Links')
  const tree = git(source, 'rev-parse', 'HEAD^{tree}').trim()
  const head = git(source, 'rev-parse', 'HEAD').trim()
  const raw = `tree ${tree}\nparent ${head}\nauthor \xe9ric\x00 <> 99999999999999 +0000\ncommitter x <> 1 +0000\n` +
    'encoding ISO-8859-1\n\n\n \xe9t\xe9\n'
  const made = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'],
    { cwd: source, input: Buffer.from(raw, 'latin1') }).toString().trim()
  git(source, 'update-ref', 'HEAD', made)
  for (const [name, value] of [
    ['core.fsmonitor', `touch ${trap}; false`], ['diff.external', `touch ${trap}`], ['core.pager', `touch ${trap}`],
    ['gpg.program', `touch ${trap}`], ['log.showSignature', 'true'], ['diff.renames', 'false'],
    ['diff.x.textconv', `touch ${trap}`], ['i18n.logOutputEncoding', 'UTF-16'], ['log.date', 'relative'],
    ['extensions.partialClone', 'origin'], ['remote.origin.url', `ext::sh -c touch% ${trap}`],
    ['protocol.ext.allow', 'always']
  ]) git(source, 'config', name, value)

  const { pages, untaken } = await takeAll(readGit(source, {}))
  assert.deepEqual(Object.keys(pages).sort(), ['"quoted"', '--output=x', ':(glob)**', 'bad', 'bytes', 'html', 'wide'])
  assert.deepEqual([pages.bytes, pages.wide], [[], []])
  assert.deepEqual([pages.bad[0].content, pages.bad[0].summary], ['---\nname: [\n---\ntext', 'Nice'])
  assert.match(untaken['tab\there.md'], /cannot be shown/)
  assert.match(untaken['link.md'], /link to another file/)
  assert.match(untaken['module.md'], /another repository/)
  const short = git(source, 'rev-parse', '--short=12', 'HEAD~2').trim()
  assert.equal(untaken[`bytes.md in ${short}`], 'It is not UTF-8.')
  assert.equal(untaken[`wide.md in ${short}`], 'It is longer than 16 MiB.')
  assert.deepEqual(readdirSync(directory), ['source'])

  rmSync(path.join(source, '.git', 'objects', made.slice(0, 2), made.slice(2)))
  await assert.rejects(takeAll(readGit(source, {})), /git \S+ failed in .*source|is not whole/)
  assert.deepEqual(readdirSync(directory), ['source'], 'nothing is fetched')
  await assert.rejects(takeAll(readGit(path.join(source, 'nowhere'), {})), /there is no folder/)
  await assert.rejects(takeAll(readGit(directory, {})), /is no git repository/)
})
