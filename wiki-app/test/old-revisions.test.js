import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import difference from '../src/history/difference.js'
import { createOldRevisions } from '../src/history/old-revisions.js'
import { cpuTicks, MS_PER_TICK } from '../src/threads/thread-time.js'
import { BROWSER, get, save, submit, useWiki } from './helper.js'

const wiki = useWiki()

const MIB = 1_048_576
/** Largest page with a difference: an escaped character takes five bytes, and each line has tags. */
const SHOWN_MAX_BYTES = 700_000
const skip = process.platform === 'linux' ? false : 'needs /proc, for the CPU time of a thread'

/**
 * Returns a text of short lines. Two such texts have lines in common only by chance.
 * @param {number} seed
 */
function shortLines (seed) {
  let [state, text] = [seed, '']
  while (text.length < MIB - 8) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += `${state.toString(36)[0]}\n`
  }
  return text
}

/** A text that takes much longer to render than a short one, but stays within the limit for authors. */
const long = (/** @type {number} */ number) => `${number} ${'[a](/b) *c* '.repeat(2_000)}`

/**
 * Builds a wiki with old revisions. Their texts go directly to the database, because rendering each takes long.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string[]>} pages  the texts of each, the oldest first
 */
async function wikiWith (t, pages) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const client = await mongoose.mongo.MongoClient.connect(uri)
  const revisions = client.db().collection('revisions')
  for (const [page, texts] of Object.entries(pages)) {
    for (const [index, content] of texts.entries()) {
      await save(app, page, 'short')
      const { modifiedCount } = await revisions.updateOne({ page, revision: index + 1 }, { $set: { content } })
      assert.equal(modifiedCount, 1)
    }
    // A newer revision, so that all given ones are old revisions.
    await save(app, page, 'newest')
  }
  await client.close()
  return app
}

/** @param {() => Promise<any>} work @returns {Promise<number>} ms of CPU time of the main thread */
async function mainThreadMs (work) {
  const before = cpuTicks(process.pid)
  await work()
  return (cpuTicks(process.pid) - before) * MS_PER_TICK
}

test('differences of long texts are made outside the main thread and are shown in part', { skip }, async (t) => {
  const app = await wikiWith(t, { Big: [1, 2, 3, 4, 5].map(shortLines) })
  const pairs = [1, 2, 3, 4, 5].flatMap((from) => [1, 2, 3, 4, 5].filter((to) => to < from).map((to) => [from, to]))
  assert.equal(pairs.length, 10)
  /** @type {import('light-my-request').Response[]} */
  let answers = []
  const processBefore = process.cpuUsage()
  const mainMs = await mainThreadMs(async () => {
    answers = await Promise.all(pairs.map(([from, to]) => get(app, `/difference/Big?from=${from}&to=${to}`)))
  })
  const { user, system } = process.cpuUsage(processBefore)
  for (const { statusCode, rawPayload, body } of answers) {
    assert.equal(statusCode, 200)
    assert.ok(rawPayload.length < SHOWN_MAX_BYTES, `${rawPayload.length} bytes`)
    assert.match(body, /too long to show all of it/)
    assert.match(body, /… \d+ more lines …/)
    assert.ok(body.includes('<ins>') && body.includes('<del>'))
  }
  assert.ok(mainMs < (user + system) / 1000 / 2, `${mainMs} of ${(user + system) / 1000} ms were on the main thread`)
})

test('concurrent requests for one difference share its computation, and the result is cached', async (t) => {
  const { past, tasks, finish } = pastOf(t)
  const asked = Array.from({ length: 20 }, () => past.difference(item(1), item(2)))
  await finish({ lines: [], truncated: false })
  assert.equal(new Set(await Promise.all(asked)).size, 1)
  await past.difference(item(1), item(2))
  assert.equal(tasks.length, 1)
})

test('concurrent requests for one revision share its rendering, and the result is cached', async (t) => {
  const { past, tasks, finish } = pastOf(t)
  const asked = Array.from({ length: 20 }, () => past.html(item(1)))
  await finish({ html: new TextEncoder().encode('<p>once</p>'), diagrams: [] })
  assert.deepEqual([...new Set((await Promise.all(asked)).map(String))], ['<p>once</p>'])
  await past.html(item(1))
  assert.equal(tasks.length, 1)
})

test('a rendering that failed with 503 is tried again, but one that was too costly (422) is not', async (t) => {
  const { past, tasks, fail } = pastOf(t)
  for (const statusCode of [503, 422]) {
    const refused = assert.rejects(past.html(item(1)), { statusCode })
    await fail(Object.assign(new Error('refused'), { statusCode }))
    await refused
  }
  assert.equal(tasks.length, 2)
  await assert.rejects(past.html(item(1)), { statusCode: 422, message: /\/api\/v1\/pages/ })
  assert.equal(tasks.length, 2)
})

test('when too many renderings run or wait, further ones get 503 before their texts are read', async (t) => {
  const { past, reads, finish } = pastOf(t)
  const outcomes = Array.from({ length: 40 }, (_, index) => past.html(item(index)).then(() => 200, (error) => error))
  const refused = await Promise.all(outcomes.slice(18))
  for (const error of refused) {
    assert.deepEqual([error.statusCode, error.headers], [503, { 'retry-after': '2' }])
  }
  for (let index = 0; index < 18; index++) await finish({ html: new Uint8Array(), diagrams: [] })
  assert.deepEqual([...new Set(await Promise.all(outcomes.slice(0, 18)))], [200])
  assert.equal(reads.length, 18)
})

test('saves succeed while many readers request old revisions of a long page', async (t) => {
  const app = await wikiWith(t, { Big: [1, 2, 3, 4, 5, 6].map(long) })
  const going = new AbortController()
  const readers = [1, 2, 3, 4, 5, 6].map(async (revision) => {
    for (let count = 0; !going.signal.aborted; count++) {
      const { statusCode, headers: { location } } = await get(app, `/revision/Big/${revision}?r=${count}`)
      assert.deepEqual([statusCode, location], [301, `/revision/Big/${revision}`])
      assert.equal((await get(app, String(location))).statusCode, 200)
    }
  })
  const statuses = []
  for (let count = 0; count < 10; count++) {
    const [revision, saved] = await Promise.all([
      get(app, `/revision/Big/${1 + count % 6}`), save(app, `page ${count}`, `${count} ${'text '.repeat(2_000)}`)
    ])
    statuses.push(revision.statusCode, saved.statusCode)
  }
  going.abort()
  await Promise.all(readers)
  assert.deepEqual([...new Set(statuses)].sort(), [200, 201])
})

test('the pages of revisions, the newest included, do not mark links to missing pages', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'older [[none]]')
  await save(app, 'a', 'newest [[none]]')
  assert.match((await get(app, '/wiki/a')).body, /<a href="\/edit\/new\/none" class="missing"/)
  for (const [revision, word] of [[1, 'older'], [2, 'newest']]) {
    assert.match(
      (await get(app, `/revision/a/${revision}`)).body,
      new RegExp(`<p>${word} <a href="/wiki/none">none</a></p>`)
    )
  }
})

test('unknown query parameters are removed by one redirect, which never names another host', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one #x', { 'content-type': 'text/markdown' })
  await save(app, 'a', 'two')
  for (const [url, location] of [
    ['/revision/a/1?r=1', '/revision/a/1'],
    ['/difference/a?from=1&r=5&to=2', '/difference/a?from=1&to=2'],
    ['/difference/a?utm_source=x&from=1&to=2&', '/difference/a?from=1&to=2'],
    ['/history/a?r', '/history/a'],
    ['/raw/a?__proto__=1', '/raw/a'],
    ['/changes?author=&r=%zz', '/changes?author='],
    ['/changes.atom?fbclid=1', '/changes.atom'],
    ['/?r=http://evil.example', '/'],
    ['/pages?r=http://evil.example&q=a', '/pages?q=a'],
    ['/search?r=1&q=a+b', '/search?q=a+b'],
    ['/tags?r', '/tags'],
    ['/wanted?r=1', '/wanted'],
    ['/orphaned?r=1', '/orphaned'],
    ['/dead-ends?r=1', '/dead-ends'],
    ['/care?after=a', '/care'],
    ['/overdue?r=1', '/overdue'],
    ['/links/a?r=1', '/links/a'],
    ['/files?r=1', '/files']
  ]) {
    const { statusCode, headers } = await get(app, url)
    assert.deepEqual([url, statusCode, headers.location], [url, 301, location])
    assert.equal((await get(app, location)).statusCode, 200, location)
  }
  for (const url of [
    '/difference/a?from=1&to=2', '/difference/a?%66rom=1&to=2', '/changes?author=Ana', '/search?q=a'
  ]) {
    assert.equal((await get(app, url)).statusCode, 200, url)
  }
  // A proxy sends the absolute form, with scheme and host (RFC 9112 §3.2.2).
  assert.equal((await get(app, 'http://evil.example/raw/a?r=1')).headers.location, '/raw/a')
  assert.equal((await get(app, '//evil.example/raw/a?r=1')).statusCode, 404)
  assert.equal((await get(app, '/api/v1/changes?r=1')).statusCode, 400)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.end('GET http://evil.example?x=/raw/a?r=1 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
  assert.match((await socket.toArray()).join(''), /\r\nlocation: \/raw\/a\r\n/)
})

test('the API shortens the difference of long texts and marks it as truncated', async (t) => {
  const app = await wikiWith(t, { Big: [shortLines(1), shortLines(2)], Small: ['a\n', 'b\n'] })
  const compare = async (/** @type {string} */ name) =>
    (await get(app, `/api/v1/pages/${name}/difference?from=1&to=2`)).json()
  const { lines, truncated } = await compare('Big')
  assert.equal(truncated, true)
  assert.ok(lines.length <= 2_001 && lines.some((/** @type {any} */ { kind }) => kind === 'cut'))
  assert.deepEqual(await compare('Small'), {
    name: 'Small',
    from: 1,
    to: 2,
    lines: [{ kind: 'removed', text: 'a' }, { kind: 'added', text: 'b' }],
    truncated: false
  })
})

test('a conflict of long texts has both in full in its text, and shows the start of each change', async (t) => {
  const app = await wikiWith(t, { Big: ['first'] })
  const [mine, theirs] = [shortLines(1), shortLines(2)]
  await save(app, 'Big', theirs)
  const { statusCode, body } = await submit(app, 'Big', { content: mine, base_revision: '2' })
  assert.equal(statusCode, 409)
  const text = /<textarea [^>]*>\n([^]*?)<\/textarea>/.exec(body)?.[1] ?? ''
  const [head, own, other, tail] =
    text.split(/^(?:(?:&lt;){7} Your lines|======= The lines of revision 3|(?:&gt;){7} Keep .*)\n/m)
  assert.ok(head + own + tail === mine, 'mine')
  assert.ok(head + other + tail === theirs, 'theirs')
  assert.match(body, /What revision 3 changed[^]*too long to show all of it\. The text below is complete[^]*What you changed/)
})

test('a conflict shows both texts even if their difference cannot be computed', async (t) => {
  const config = readConfig({ LOG_LEVEL: 'silent', MONGODB_URI: wiki.freshUri() })
  const busy = {
    run: () => Promise.reject(Object.assign(new Error('busy'), { statusCode: 503 })),
    close: async () => {}
  }
  const app = await buildApp(config, {}, {}, {
    makeOldRevisions: (options) => createOldRevisions({ ...options, pool: busy })
  })
  t.after(() => app.close())
  await save(app, 'a', 'theirs')
  await save(app, 'a', 'theirs & newer')
  const { statusCode, body } = await submit(app, 'a', { content: 'mine', base_revision: '1' })
  assert.equal(statusCode, 409)
  assert.match(body, /<textarea [^>]*>\n.* Your lines\nmine\n.* revision 2\ntheirs &amp; newer\n.*\n<\/textarea>/)
  assert.match(body, /This comparison takes too long just now/)
})

test('a short difference is complete; a long one says how many lines are left out', () => {
  const lines = (/** @type {number} */ count, /** @type {string} */ word) => `${word}\n`.repeat(count)
  assert.deepEqual(difference({ before: 'a\nb', after: 'a\nc\n' }), {
    lines: [{ kind: 'same', text: 'a' }, { kind: 'removed', text: 'b' }, { kind: 'added', text: 'c' }], truncated: false
  })
  assert.deepEqual(difference({ before: '', after: 'a' }).lines, [{ kind: 'added', text: 'a' }])
  const added = difference({ before: 'x\n', after: `x\n${lines(700, 'a')}` })
  assert.deepEqual(added.lines.at(-1), { kind: 'cut', lines: 200 })
  assert.equal(added.lines.length, 502)
  assert.equal(added.truncated, true)

  const changes = Array.from({ length: 400 }, (_, index) => `${index}\n${lines(20, 'same')}`)
  const many = difference({
    before: changes.join(''),
    after: changes.map((change) => change.replace(/^/, 'new ')).join('')
  })
  const { kind, lines: left } = /** @type {{kind: string, lines: number}} */ (many.lines.at(-1))
  const told = many.lines.reduce((sum, line) => sum + ('lines' in line ? line.lines : line.kind === 'added' ? 0 : 1), 0)
  const addedShown = many.lines.filter((line) => line.kind === 'added').length
  assert.equal(kind, 'cut')
  assert.ok(left > 0)
  assert.equal(told + addedShown, 400 * 21 + 400, 'each line of both texts is shown or counted as left out')

  const [one] = difference({ before: '', after: '😀'.repeat(MIB / 4) }).lines
  assert.ok('text' in one && one.text.length < 10_010)
  assert.doesNotMatch(/** @type {{text: string}} */ (one).text, /\p{Cs}/u)
})

test('the text of a revision passes through the worker thread unchanged', async (t) => {
  const app = await wikiWith(t, { a: ['Žan & 😀 ', 'Žan & 😀\nné'] })
  assert.match((await get(app, '/revision/a/1')).body, /<p>Žan &amp; 😀<\/p>/)
  assert.match(
    (await get(app, '/difference/a?from=1&to=2', BROWSER)).body,
    /<del>Žan &amp; 😀<mark> <\/mark><\/del>\n<ins>Žan &amp; 😀<\/ins>\n<ins>né<\/ins>/
  )
})

/**
 * Creates old revisions with a fake thread pool, whose tasks end only on `finish` or `fail`.
 * @param {import('node:test').TestContext} t
 */
function pastOf (t) {
  /** @type {any[]} */
  const [tasks, reads, ends] = [[], [], []]
  const begun = new EventEmitter()
  const pool = {
    run: (/** @type {any} */ task) => new Promise((resolve, reject) => {
      tasks.push(task)
      ends.push({ resolve, reject })
      begun.emit('task')
    }),
    close: async () => {}
  }
  const past = createOldRevisions({
    pool,
    htmlMaxBytes: MIB,
    store: { findUnmarkedHtml: async () => null },
    history: /** @type {any} */ ({
      textAsBson: async (/** @type {any} */ id) => { reads.push(id); return new Uint8Array(1) }
    })
  })
  t.after(past.close)
  const end = async () => {
    if (ends.length === 0) await once(begun, 'task')
    return ends.shift()
  }
  return {
    past,
    tasks,
    reads,
    finish: async (/** @type {any} */ result) => (await end()).resolve(result),
    fail: async (/** @type {Error} */ error) => (await end()).reject(error)
  }
}

/** @param {number} id @returns {any} */
const item = (id) => ({ _id: id, page: 'a', revision: id })
