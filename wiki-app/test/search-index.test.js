import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { createTestbed } from '../torture/testbed.js'
import { plainLetters } from '../src/pages/letters.js'
import { createIndex, currentFile } from '../src/words/file.js'
import { takeLock } from '../src/words/lock.js'
import { openSqlite } from '../src/words/sqlite.js'
import { matchOf, plainWords, queryOf } from '../src/words/terms.js'
import { BROWSER, createLog, get, readMetrics, save, untilFound, untilIndexed, useWiki } from './helper.js'

const wiki = useWiki()
const COMMAND = fileURLToPath(new URL('../bin/search-index.js', import.meta.url))
const WAIT_MAX_MS = 60_000
const KILLS = 2
/** Well formed, of a second in 1970: every oplog begins later. */
const LOST_POSITION = (/** @type {string} */ position) =>
  JSON.stringify({ _data: JSON.parse(position)._data.replace(/^82[0-9A-F]{8}/, '8200000001') })

/** @param {import('node:test').TestContext} t */
function temporaryFolder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-words-'))
  t.after(() => {
    chmodSync(directory, 0o700)
    rmSync(directory, { recursive: true, force: true })
  })
  return directory
}

/** @param {string} uri @param {string} directory @param {...string} args */
async function command (uri, directory, ...args) {
  const run = promisify(execFile)(process.execPath, [COMMAND, ...args], {
    env: { PATH: process.env.PATH, MONGODB_URI: uri, SEARCH_DIRECTORY: directory }
  })
  return run.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr })
  )
}

/**
 * @param {string} directory @param {string} sql @param {...(string | number)} values
 * @returns {Promise<any[]>} rows of the index that counts
 */
async function inIndex (directory, sql, ...values) {
  const sqlite = await openSqlite(/** @type {string} */ (currentFile(directory)))
  try {
    return await sqlite.all(sql, ...values)
  } finally {
    sqlite.close()
  }
}

/** @param {import('fastify').FastifyInstance} app */
const stateOf = async (app) => (await get(app, '/api/v1/search?q=anything')).json().index?.state

/** @param {import('fastify').FastifyInstance} app */
const untilBuilt = async (app) =>
  assert.ok(await waitUntil(async () => await stateOf(app) === 'current', WAIT_MAX_MS), 'the index is built')

describe('what a query is', () => {
  test('words, phrases and exclusions become one expression in which everything is quoted', () => {
    for (const [q, match] of /** @type {[string, string | null][]} */ ([
      ['honey bees', '"honey" OR "bees"'],
      ['"what bees" make', '"what bees" AND ("what bees" OR "make")'],
      ['honey -bees -"the hive"', '("honey") NOT ("bees" OR "the hive")'],
      ['Đorđe čebele', '"dorde" OR "cebele"'],
      ['title:x NEAR(a b) c* ^d {e}', '"title" OR "x" OR "near" OR "a" OR "b" OR "c" OR "d" OR "e"'],
      ['snake_case', '"snake_case"'],
      ['pre-market', '"pre" OR "market"'],
      ['nginx 缓存', '"nginx" OR "缓 存"'],
      ['"nginx缓存" -配置 第3章', '("nginx 缓 存" AND ("nginx 缓 存" OR "第 3 章")) NOT ("配 置")'],
      ['"nginx，缓存"', '"nginx 缓 存"'],
      ['ＡＢＣ ｻｰﾊﾞｰ か\u3099', '"abc" OR "サ ー バ ー" OR "が"'],
      ['\u{20BB7}野家 กี่ปี 서울은', '"\u{20BB7} 野 家" OR "กี่ ปี" OR "서울은"'],
      ['"open', '"open"'],
      ['-only', null],
      ['((( " " *', null],
      ['', null]
    ])) assert.equal(matchOf(queryOf(q)), match, q)
  })

  test('a long text has the same words as its parts', async () => {
    const text = 'Čebele in Đorđe, ﬁne. '.repeat(20_000)
    assert.equal(await plainWords(text), 'cebele in dorde, fine. '.repeat(20_000))
    const han = '\u{20BB7}'.repeat(150_000)
    assert.equal(await plainWords(`č${han}`), `c${' \u{20BB7} '.repeat(150_000)}`)
  })

  test('scripts with spaces between words have the words that they had', async () => {
    for (const text of [
      'snake_case, naïve “Čebele” — 2°', 'Ελλάς', 'Ёлка', 'שלום עולם',
      'مرحبا بالعالم', 'हिन्दी में', '서울에서 왔다', 'བོད་', '😀😀'
    ]) assert.equal(await plainWords(text), plainLetters(text))
  })

  test('a long run of Han lets other requests in, and takes a few bytes a character', async (t) => {
    const directory = temporaryFolder(t)
    const index = await createIndex(directory, { database: 'x', lasting: false, clusterTime: '0' })
    t.after(() => index.close())
    const run = Array.from({ length: 100_000 }, (_, at) => String.fromCharCode(0x4E00 + at * 7_919 % 20_000)).join('')
    let turns = 0
    const count = () => { turns++; ticking = setImmediate(count) }
    let ticking = setImmediate(count)
    const words = await plainWords(run)
    clearImmediate(ticking)
    assert.ok(turns > 0)
    assert.equal(words.replaceAll(' ', ''), run)
    await index.apply({ texts: [{ name: 'run', revision: 1, content: run }], gone: [], state: {} })
    await index.all('pragma wal_checkpoint(truncate)')
    assert.ok(statSync(index.file).size < 10 * run.length, `${statSync(index.file).size} bytes`)
    const match = matchOf(queryOf(run.slice(50_000, 50_190)))
    assert.deepEqual(await index.all('select rowid from words where words match ?', match), [{ rowid: 1 }])
  })
})

test('a saved word is found soon, and the API says that nothing is missing', async (t) => {
  const app = await wiki.build(t)
  await untilBuilt(app)
  const at = performance.now()
  await save(app, 'Bees', 'honeycomb')
  await untilFound(app, 'honeycomb', 1)
  t.diagnostic(`found ${Math.round(performance.now() - at)} ms after the save was sent`)
  assert.deepEqual((await get(app, '/api/v1/search?q=honeycomb')).json().index, { state: 'current', behind_s: 0 })
  assert.doesNotMatch((await get(app, '/search?q=honeycomb', BROWSER)).body, /not every page is found|not found yet/)
})

test('hostile queries are answered as text, whatever they would mean to SQLite', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'near not and or words title content rank')
  await untilFound(app, 'rank', 1)
  for (const q of [
    'title:near', 'NEAR(near not)', 'near AND', 'NOT near', '^near', 'nea*', '{title content}: near', '"near" + "not"',
    'near\'; drop table words; --', 'words(words)', '- - -', '"" "" ""', '\u{1F600} near', 'rank:bm25', '+near',
    `${'near '.repeat(39)}`, `${'"near not" '.repeat(18)}`, 'a"b"c"d"e', '\u0301\u0301', 'ﬁﬁﬁ ＂near＂',
    '㌖'.repeat(200), '缓'.repeat(200), '缓 存 '.repeat(40), '缓"存', '-缓', 'กี่'.repeat(60)
  ]) {
    const { statusCode, body } = await get(app, `/api/v1/search?q=${encodeURIComponent(q)}`)
    assert.equal(statusCode, 200, `${q}: ${body}`)
  }
  await untilFound(app, 'rank', 1)
})

test('an index that lasts goes on where it was; the command says that it equals one built from scratch', async (t) => {
  const [directory, uri] = [temporaryFolder(t), wiki.freshUri()]
  const settings = { MONGODB_URI: uri, SEARCH_DIRECTORY: directory }
  assert.match((await command(uri, directory, 'status')).stdout, /^no index in /)
  const first = await wiki.build(t, settings)
  for (let index = 0; index < 5; index++) await save(first, `p${index}`, `first text ${index}, čebele`)
  await untilIndexed(first)
  assert.match((await command(uri, directory, 'status')).stdout, /pages +5\nwiki +keeps it up\n$/)
  await first.close()
  const file = currentFile(directory)
  assert.match((await command(uri, directory, 'status')).stdout, /none keeps it up/)

  // Without a wiki: as edits of another host.
  const other = await wiki.build(t, { MONGODB_URI: uri })
  await save(other, 'p1', 'second text')
  await other.inject({ method: 'DELETE', url: '/wiki/p2' })
  await other.inject({ method: 'POST', url: '/api/v1/pages/p3/rename', payload: { to: 'renamed' } })
  const late = await command(uri, directory, 'verify')
  assert.equal(late.code, 1, late.stdout)
  assert.match(late.stdout, /page “p1”: revision 1 instead of 2\n/)
  assert.match(late.stdout, /page “p2”: revision 1 instead of none\n/)

  const second = await wiki.build(t, settings)
  await untilFound(second, 'second', 1)
  await untilFound(second, 'first', 3)
  assert.equal(currentFile(directory), file, 'it is the same index')
  const equal = await command(uri, directory, 'verify')
  assert.equal(equal.code, 0, equal.stdout)
  assert.match(equal.stdout, /^equal: 4 pages, \d+ words\n$/)

  const [{ id }] = await inIndex(directory, 'select id from pages where name = ?', 'p4')
  await inIndex(directory, 'insert or replace into words (rowid, title, content) values (?, ?, ?)', id, 'p4', 'fake')
  const different = await command(uri, directory, 'verify')
  assert.equal(different.code, 1)
  assert.match(different.stdout, /word “fake” at content 0 of “p4”: too much\n/)
  assert.match(different.stdout, /word “cebele” at content 3 of “p4”: missing\n/)

  assert.match((await command(uri, directory, 'rebuild')).stdout, /^built from 4 pages/)
  await untilFound(second, 'fake', 0)
  await save(second, 'p4', 'after rebuilding')
  await untilFound(second, 'rebuilding', 1)
  assert.notEqual(currentFile(directory), file)
  assert.equal((await command(uri, directory, 'verify')).code, 0)
  assert.equal((await command(uri, directory, 'burn')).code, 2)
})

test('without the changes in between, all pages are compared, and only those that differ are read', async (t) => {
  const [directory, uri, { lines, logTo }] = [temporaryFolder(t), wiki.freshUri(), createLog()]
  const settings = { MONGODB_URI: uri, SEARCH_DIRECTORY: directory }
  const first = await wiki.build(t, settings)
  for (let index = 0; index < 5; index++) await save(first, `p${index}`, `text ${index}`)
  await untilIndexed(first)
  await first.close()
  const other = await wiki.build(t, { MONGODB_URI: uri })
  await save(other, 'p1', 'other text')
  await other.inject({ method: 'DELETE', url: '/wiki/p2' })
  const [{ position }] = await inIndex(directory, 'select position from state')
  await inIndex(directory, 'update state set position = ?', LOST_POSITION(position))

  const [port] = await freePorts(1)
  const second = await wiki.build(t, { ...settings, METRICS_PORT: String(port) }, {}, { logTo })
  await untilFound(second, 'other', 1)
  await untilFound(second, 'text', 4)
  const isSaid = lines.some(({ msg }) => /can no longer be read, so all pages are compared/.test(msg))
  assert.ok(isSaid, JSON.stringify(lines))
  const text = await waitUntil(async () => {
    const { text } = await readMetrics(port)
    return /^wiki_search_indexed_total [1-9]/m.test(text) && /^wiki_search_behind_seconds 0$/m.test(text) && text
  }, WAIT_MAX_MS)
  assert.match(String(text), /^wiki_search_indexed_total 1$/m)
  assert.match(String(text), /^wiki_search_up 1$/m)
  assert.match(String(text), /^wiki_search_building 0$/m)
  assert.equal((await command(uri, directory, 'verify')).code, 0)
})

test('an index that is damaged, of another database or of another version is thrown away', async (t) => {
  const directory = temporaryFolder(t)
  const uri = wiki.freshUri()
  const damages = /** @type {[RegExp, () => unknown][]} */ ([
    [/there was none/, () => {}],
    [/not a database/, () => {
      const file = String(currentFile(directory))
      for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
      writeFileSync(file, 'garbage '.repeat(1_000))
    }],
    [/another version/, () => inIndex(directory, 'pragma user_version = 99')],
    [/another database/, () => inIndex(directory, 'update state set database = ?', 'elsewhere')]
  ])
  for (const [reason, damage] of damages) {
    await damage()
    const { lines, logTo } = createLog()
    const app = await wiki.build(t, { MONGODB_URI: uri, SEARCH_DIRECTORY: directory, LOG_LEVEL: 'info' }, {}, { logTo })
    await save(app, 'a', 'honey')
    await untilFound(app, 'honey', 1)
    // The index of another database answers until it is replaced.
    const isSaid = () => lines.some(({ msg }) => /built anew/.test(msg) && reason.test(msg))
    assert.ok(await waitUntil(isSaid, WAIT_MAX_MS), `${reason} ${JSON.stringify(lines)}`)
    await untilFound(app, 'honey', 1)
    await app.close()
  }
  assert.equal((await command(uri, directory, 'verify')).code, 0)
  assert.equal(readdirSync(directory).filter((name) => name.endsWith('.db')).length, 1, 'the others are removed')
})

test('the index of an earlier version stays beside a new one until no wiki of that version runs', async (t) => {
  const [directory, uri] = [temporaryFolder(t), wiki.freshUri()]
  const former = ['current', 'words-00000000-0000-4000-8000-000000000000.db']
  symlinkSync(former[1], path.join(directory, former[0]))
  writeFileSync(path.join(directory, former[1]), 'as it was')
  const there = () => former.filter((name) => readdirSync(directory).includes(name))
  const other = await takeLock(path.join(directory, 'writer.lock'))
  const settings = { MONGODB_URI: uri, SEARCH_DIRECTORY: directory }
  const first = await wiki.build(t, settings)
  await save(first, 'a', '缓存')
  await untilFound(first, encodeURIComponent('存'), 1)
  await untilBuilt(first)
  await first.close()
  assert.deepEqual(there(), former)

  other?.free()
  const second = await wiki.build(t, settings)
  assert.ok(await waitUntil(() => there().length === 0, WAIT_MAX_MS))
  await untilFound(second, encodeURIComponent('存'), 1)
})

test('while pages are dropped and restored, the index becomes that of the new ones', async (t) => {
  const [directory, uri] = [temporaryFolder(t), wiki.freshUri()]
  const app = await wiki.build(t, { MONGODB_URI: uri, SEARCH_DIRECTORY: directory })
  await save(app, 'a', 'honey')
  await untilFound(app, 'honey', 1)
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const [page] = await client.db().collection('pages').find().toArray()
  await client.db().collection('pages').drop()
  await client.db().collection('pages').createIndex({ deleted_at: 1, _id: 1 }, { name: 'below' })
  await client.db().collection('pages').insertOne({ ...page, content: 'wax' })
  await untilFound(app, 'wax', 1)
  await untilFound(app, 'honey', 0)
  assert.equal((await command(uri, directory, 'verify')).code, 0)
})

test('a wiki whose folder cannot be used goes on: titles are found, and searches say why texts are not', async (t) => {
  const file = path.join(temporaryFolder(t), 'a-file')
  writeFileSync(file, '')
  const app = await wiki.build(t, { SEARCH_DIRECTORY: path.join(file, 'below') })
  assert.equal((await save(app, 'Bees', 'honey')).statusCode, 201)
  const { statusCode, body } = await get(app, '/search?q=bees', BROWSER)
  assert.equal(statusCode, 200)
  assert.match(body, />Bees<[^]*Texts cannot be searched now: the folder of the index cannot be used\./)
  assert.ok(!body.includes(file), 'paths are for the log')
  const api = await get(app, '/api/v1/search?q=bees')
  assert.equal(api.statusCode, 503)
  assert.match(api.json().detail, /the folder of the index cannot be used/)
  assert.ok(await waitUntil(async () => {
    const { services } = (await get(app, '/status.json')).json()
    return services.find((/** @type {{name: string}} */ { name }) => name === 'search').status === 'degraded'
  }, WAIT_MAX_MS))
  assert.match((await get(app, '/status', BROWSER)).body, /Newer texts are not found: the folder of the index cannot/)
})

test('temporary folders end with their wiki, and the next start removes those of killed ones', async (t) => {
  const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`stevec-search-${process.pid}-`))
  const before = left()
  const app = await wiki.build(t)
  await untilBuilt(app)
  const [own] = left().filter((name) => !before.includes(name))
  assert.ok(own)
  const dead = path.join(tmpdir(), 'stevec-search-4194000-1-abcdef')
  mkdtempSync(`${dead}-`)
  const killed = readdirSync(tmpdir()).filter((name) => name.startsWith(path.basename(dead)))
  await wiki.build(t)
  for (const name of killed) assert.ok(!existsSync(path.join(tmpdir(), name)), name)
  assert.ok(existsSync(path.join(tmpdir(), own)), 'that of a running wiki stays')
  await app.close()
  assert.ok(!existsSync(path.join(tmpdir(), own)))
})

describe('a wiki of two processes', () => {
  test('one indexes, both search, and a killed one is replaced', async (t) => {
    const testbed = await createTestbed({ settings: { WORKERS: '2' } })
    t.after(() => testbed.remove())
    await testbed.start()
    assert.ok(await waitUntil(() => testbed.workers().length === 2, WAIT_MAX_MS))
    const folders = () => readdirSync(tmpdir()).filter((name) =>
      name.startsWith(`stevec-search-${testbed.wiki()?.pid}-`))
    const put = async (/** @type {string} */ word) => {
      const { status } = await fetch(`${testbed.url}/wiki/${word}`,
        { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: word })
      assert.equal(status, 201)
    }
    // Each connection is of the next process.
    const found = async (/** @type {string} */ word) => {
      const all = await Promise.all([1, 2, 3, 4].map(() =>
        fetch(`${testbed.url}/api/v1/search?q=${word}`, { headers: { connection: 'close' } })
          .then((answer) => answer.ok ? answer.json() : { items: [] }, () => ({ items: [] }))))
      return all.every(({ items }) => items.length === 1)
    }
    await put('honey')
    assert.ok(await waitUntil(() => found('honey'), WAIT_MAX_MS))
    assert.equal(folders().length, 1)
    for (const word of ['wax', 'hive']) {
      process.kill(testbed.workers()[0], 'SIGKILL')
      assert.ok(await waitUntil(() => put(word).then(() => true, () => false), WAIT_MAX_MS))
      assert.ok(await waitUntil(() => found(word), WAIT_MAX_MS), testbed.log())
    }
    await testbed.stopWiki(0)
    assert.deepEqual(folders(), [])
  })
})

test('after kills in the midst of edits the index equals one that is built from scratch', async (t) => {
  const directory = temporaryFolder(t)
  const testbed = await createTestbed({ settings: { SEARCH_DIRECTORY: directory } })
  t.after(() => testbed.remove())
  await testbed.start()
  let [number, saved] = [0, 0]
  const over = new AbortController()
  const editing = Promise.all([0, 1, 2, 3].map(async () => {
    while (!over.signal.aborted) {
      const edit = number++
      const url = `${testbed.url}/wiki/page${edit % 17}`
      const sent = edit % 11 === 10
        ? fetch(url, { method: 'DELETE' })
        : fetch(url, {
          method: 'POST', headers: { 'content-type': 'text/markdown' }, body: `edit${edit} ${'some words '.repeat(50)}`
        })
      await sent.then((answer) => { saved += Number(answer.ok) }, () => {})
    }
  }))
  for (let kill = 0; kill < KILLS; kill++) {
    const before = saved
    assert.ok(await waitUntil(() => saved >= before + 10, WAIT_MAX_MS), testbed.log())
    await testbed.killWiki()
    await testbed.startWiki(0, '/readyz')
  }
  over.abort()
  await editing
  const mark = await fetch(`${testbed.url}/wiki/mark`,
    { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'themark' })
  assert.equal(mark.status, 201)
  assert.ok(await waitUntil(async () => {
    const answer = await fetch(`${testbed.url}/api/v1/search?q=themark`)
    return answer.ok && (await answer.json()).items.length === 1
  }, WAIT_MAX_MS), testbed.log())
  const { code, stdout } = await command(testbed.uri, directory, 'verify')
  assert.equal(code, 0, stdout)
  t.diagnostic(`${saved} edits, ${KILLS} kills: ${stdout.trim()}`)
})
