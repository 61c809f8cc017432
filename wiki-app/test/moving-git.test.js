import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { exportGit } from '../src/moving/git/export.js'
import { get, save, useWiki } from './helper.js'
import { png } from './images.js'

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
    content: `# Bees\n\n![bee](${url}) and [[Hives]]\n`, tags: ['insects', 'true'], author: 'Ana Novak', summary: 'Begin'
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
    'Anonymous: Gone', 'Anonymous: Gone', 'Anonymous: A bee', 'Anonymous: Former names of pages'
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
    ['More', 'Renamed from “A”', 'Again', 'a', other.slice(1), 'Picture deleted'])
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

  const db = await databaseOf(t, uri)
  await db.collection('revisions').deleteOne({ page: 'A', revision: 2 })
  await refused(/not of this wiki, or the wiki was set back: it has revision 2 of "A"/)
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
  process.env.GIT_DIR = path.join(directory, 'elsewhere')
  t.after(() => { delete process.env.GIT_DIR })
  await exportGit({ uri, folder: path.join(directory, 'wiki') })
  delete process.env.GIT_DIR
  assert.deepEqual(readdirSync(directory), ['wiki'])
  assert.deepEqual(subjects(path.join(directory, 'wiki')), ['Anonymous: A'])
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
    'Anonymous: A', 'x committer y 0 +0000: " Page: Home Revision: 1 Time: 2020-01-01', 'Anonymous: Renamed from “Home”',
    '.: \u202e'
  ])
  assert.deepEqual(git(directory, 'log', '--reverse', '--format=%(trailers:key=Revision,valueonly,separator=)')
    .trimEnd().split('\n'), ['1', '2', '3', '4'])
  assert.deepEqual(git(directory, 'ls-files'), 'A.md\n')
  assert.deepEqual(await exportGit({ uri, folder: directory }), { revisions: 0, pictures: 0, names: 0 })
})
