import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { MongoClient } from 'mongodb'
import { readConfig } from '../src/config.js'
import { isAllTaken } from '../src/moving/report.js'
import { runImport } from '../src/moving/run-import.js'
import { get, save, untilCounted, untilFound, useWiki } from './helper.js'
import { contents, each, moveIn, page } from './moving.js'

const wiki = useWiki()

/** @template T @param {string} uri @param {(db: import('mongodb').Db) => Promise<T>} work */
async function inDatabase (uri, work) {
  const client = await MongoClient.connect(uri)
  try {
    return await work(client.db())
  } finally {
    await client.close()
  }
}

/** @param {import('fastify').FastifyInstance} app @param {string} url */
const json = async (app, url) => (await get(app, url)).json()

test('a page comes with its history into a wiki that runs, which shows, finds and counts it', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Garden', 'Here are [[Bees]].')
  assert.match((await get(app, '/wiki/Garden')).body, /class="missing"/)
  await save(app, 'Newest', 'written here')

  const { totals } = await moveIn(uri, [page('Bees', [
    { content: 'wild', author: 'Ana', summary: 'begun', createdAt: new Date('2009-02-03T04:05:06.789Z') },
    { content: 'tame', author: 'Bor', summary: '', tags: ['Insects'], createdAt: new Date('2011-02-03T04:05:06Z') },
    { content: 'Pollen and [[Flowers]].', author: '', tags: ['Insects'], createdAt: new Date('2012-01-01T00:00:00Z') }
  ])])
  assert.deepEqual([totals.created, totals.revisions], [1, 3])

  const view = await get(app, '/wiki/Bees')
  assert.match(view.body, /Pollen and/)
  assert.equal(view.headers['page-revision'], '3')
  assert.doesNotMatch((await get(app, '/wiki/Garden')).body, /class="missing"/, 'its link is no longer missing')
  const { items } = await json(app, '/api/v1/pages/Bees/revisions')
  assert.deepEqual(
    items.map((/** @type {any} */ item) => [item.revision, item.follows, item.author, item.summary, item.created_at]),
    [
      [3, 2, '', 'change 3', '2012-01-01T00:00:00.000Z'],
      [2, 1, 'Bor', '', '2011-02-03T04:05:06.000Z'],
      [1, null, 'Ana', 'begun', '2009-02-03T04:05:06.789Z']
    ]
  )
  assert.match((await get(app, '/revision/Bees/2')).body, /tame/)
  await untilCounted(app)
  assert.match((await get(app, '/wanted')).body, /Flowers/)
  assert.match((await get(app, '/tags')).body, /insects/)
  await untilFound(app, 'pollen', 1)
  assert.equal((await json(app, '/api/v1/changes')).items[0].name, 'Newest',
    'what was written years ago is not the newest change')
  const byAna = await json(app, '/api/v1/changes?author=Ana')
  assert.deepEqual(byAna.items.map((/** @type {any} */ item) => item.name), ['Bees'])
  assert.equal((await save(app, 'Bees', 'an edit of today')).json().revision, 4)
})

test('the ids of revisions grow with their numbers, whatever the clocks of the other wiki say', async () => {
  const uri = wiki.freshUri()
  const same = new Date('2010-01-01T00:00:00Z')
  const revisions = [
    { createdAt: same }, { createdAt: same }, { createdAt: new Date('2009-06-01T00:00:00Z') },
    { createdAt: new Date('2999-01-01T00:00:00Z') }, { createdAt: new Date('2010-05-01T00:00:00Z') },
    { createdAt: new Date(NaN) }
  ]
  await moveIn(uri, [page('Clocks', revisions), page('Old', [{ createdAt: new Date('1931-01-01T00:00:00Z') }])])
  const found = await inDatabase(uri, (db) =>
    db.collection('revisions').find({ page: 'Clocks' }).sort({ _id: 1 }).toArray())
  assert.deepEqual(found.map(({ revision }) => revision), [1, 2, 3, 4, 5, 6])
  /** @type {number[]} */
  const dates = found.map(({ created_at: at }) => at.getTime())
  assert.deepEqual(dates, [...dates].sort((a, b) => a - b), 'dates never go backwards')
  assert.deepEqual(dates.slice(0, 3), [same, same, same].map(Number))
  assert.ok(dates[5] <= Date.now(), 'nothing is of the future')
  const old = await inDatabase(uri, (db) => db.collection('revisions').findOne({ page: 'Old' }))
  assert.equal(old?.created_at.getTime(), 0, 'an id has no time before 1970')
})

test('a second run changes nothing, and a newer dump adds what is new', async (t) => {
  const uri = wiki.freshUri()
  const things = () => [
    page('A', [{}, {}, { content: '[[B]] and [[C]]' }]),
    page('B', [{ tags: ['x'] }]),
    { kind: /** @type {const} */ ('redirect'), source: 'Old A', name: 'Old A', to: 'A' }
  ]
  const first = await moveIn(uri, things())
  assert.deepEqual([first.totals.created, first.totals.redirect, first.totals.revisions], [2, 1, 4])
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await untilCounted(app)
  for (const url of ['/wiki/A', '/wiki/B']) await get(app, url)
  const before = await contents(uri)

  const second = await moveIn(uri, things())
  assert.deepEqual([second.totals.unchanged, second.totals.revisions], [3, 0])
  assert.deepEqual(await contents(uri), before)

  const newer = await moveIn(uri, [page('A', [{}, {}, { content: '[[B]] and [[C]]' }, { content: 'newer' }]),
    things()[1]])
  assert.deepEqual([newer.totals.appended, newer.totals.unchanged, newer.totals.revisions], [1, 1, 1])
  assert.equal((await get(app, '/wiki/A')).headers['page-revision'], '4')
  assert.equal((await json(app, '/api/v1/pages/A/revisions/4')).follows, 3)
})

test('what was written here is kept, replaced or refused, as the option says', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, [page('Edited', [{}]), page('Deleted', [{}]), page('Renamed', [{}])])
  await save(app, 'Edited', 'better')
  await app.inject({ method: 'DELETE', url: '/wiki/Deleted' })
  await app.inject({ method: 'POST', url: '/api/v1/pages/Renamed/rename', payload: { to: 'Now' } })
  await save(app, 'Own', 'own text')
  await save(app, 'Same', 'text 1')
  const things = () => [
    page('Edited', [{}, {}]), page('Deleted', [{}, {}]), page('Renamed', [{}, {}]), page('Own', [{}, {}]),
    page('Same', [{}])
  ]
  await untilCounted(app)
  const before = await contents(uri)
  const kept = await moveIn(uri, things())
  assert.deepEqual(kept.outcomes.map(({ result }) => result), ['kept', 'kept', 'kept', 'kept', 'unchanged'])
  assert.match(String(kept.outcomes[0].problem), /written or changed here/)
  assert.deepEqual(kept.outcomes.map(({ missing }) => missing), [1, 1, 1, 2, undefined], 'newer ones that are not here')
  assert.equal(kept.totals.missing, 5)
  const older = await moveIn(uri, [page('Edited', [])])
  assert.deepEqual([older.outcomes[0].result, older.outcomes[0].missing], ['kept', undefined],
    'an older file lacks nothing')
  assert.equal(kept.outcomes[2].name, 'Now')
  const refused = await moveIn(uri, things(), { onConflict: 'fail' })
  assert.deepEqual(refused.outcomes.map(({ result }) => result),
    ['untaken', 'untaken', 'untaken', 'untaken', 'unchanged'])
  assert.deepEqual(await contents(uri), before)

  const replaced = await moveIn(uri, things(), { onConflict: 'replace' })
  assert.deepEqual(replaced.outcomes.map(({ result, revisions }) => [result, revisions]),
    [['replaced', 1], ['replaced', 1], ['replaced', 1], ['replaced', 1], ['unchanged', 0]])
  for (const [name, revisions] of [['Edited', '3'], ['Deleted', '3'], ['Now', '3'], ['Own', '2']]) {
    const view = await get(app, `/wiki/${name}`)
    assert.match(view.body, /text 2/, name)
    assert.equal(view.headers['page-revision'], revisions, name)
  }
  const newest = (await json(app, '/api/v1/changes?limit=100')).items.filter(
    (/** @type {any} */ { created_at: at }) => !at.startsWith('2010'))
  for (const name of ['Edited', 'Deleted', 'Now', 'Own']) {
    assert.ok(newest.some((/** @type {any} */ change) => change.name === name && change.author === 'Ana'),
      `${name} changes today`)
  }
  const after = await contents(uri)
  const again = await moveIn(uri, things(), { onConflict: 'replace' })
  assert.equal(again.totals.unchanged, 5)
  assert.deepEqual((await contents(uri)).revisions, after.revisions)
})

test('a history that was written anew there is put on top, if that is wanted', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, [page('Rebased', [{}, { id: 'old' }])])
  const anew = (/** @type {Date[]} */ ...dates) => page('Rebased', dates.map((createdAt, index) =>
    ({ id: `new ${index}`, content: `anew ${index}`, createdAt })))
  const [before, after, last] = ['2009-01-01', '2011-01-01', '2012-01-01'].map((day) => new Date(day))
  const kept = await moveIn(uri, [anew(before, after, last)])
  assert.deepEqual([kept.outcomes[0].result, kept.totals.missing], ['kept', 2])
  const older = await moveIn(uri, [anew(before)], { onConflict: 'replace' })
  assert.equal(older.outcomes[0].result, 'kept', 'not by an older text')
  const { outcomes: [replaced] } = await moveIn(uri, [anew(before, after, last)], { onConflict: 'replace' })
  assert.deepEqual([replaced.result, replaced.revisions], ['replaced', 1])
  assert.match((await get(app, '/wiki/Rebased')).body, /anew 2/)
  assert.equal((await json(app, '/api/v1/pages/Rebased/revisions')).items.length, 3, 'its history stays')
  assert.equal((await moveIn(uri, [anew(before, after, last)])).totals.unchanged, 1, 'and it is known from then on')
})

test('a long history comes in parts, each of which is the page at that time', async () => {
  const uri = wiki.freshUri()
  const revisions = Array.from({ length: 1203 }, (_, index) => ({ content: `text ${index + 1}` }))
  /** @type {number[]} */
  const seen = []
  const { totals } = await inDatabase(uri, async (db) => {
    async function * watched () {
      const { revisions: all, ...rest } = page('Long', revisions)
      yield {
        ...rest,
        revisions: (async function * () {
          for await (const revision of all) {
            const head = await db.collection('pages').findOne({})
            if (head && seen.at(-1) !== head.revision) {
              seen.push(head.revision)
              assert.equal(head.content, `text ${head.revision}`)
              assert.equal(await db.collection('revisions').countDocuments(), head.revision)
            }
            yield revision
          }
        })()
      }
    }
    return moveIn(uri, /** @type {any} */ (watched()))
  })
  assert.deepEqual(seen, [500, 1000])
  assert.equal(totals.revisions, 1203)
})

test('a run that is broken off is continued by the next one', async () => {
  const uri = wiki.freshUri()
  const whole = wiki.freshUri()
  const things = () => Array.from({ length: 60 }, (_, index) =>
    page(`P ${index}`, [{}, { content: `[[P ${index + 1}]]` }]))
  const controller = new AbortController()
  async function * interrupted () {
    for (const [index, thing] of things().entries()) {
      if (index === 40) controller.abort()
      yield thing
    }
  }
  await assert.rejects(moveIn(uri, interrupted(), { signal: controller.signal }), { name: 'AbortError' })
  const count = await inDatabase(uri, (db) => db.collection('pages').countDocuments())
  assert.ok(count > 0 && count <= 40, String(count))
  const rest = await moveIn(uri, things())
  assert.deepEqual([rest.totals.created, rest.totals.unchanged], [60 - count, count])
  await moveIn(whole, things())
  const revisionsOf = (/** @type {string} */ one) => inDatabase(one, async (db) =>
    (await db.collection('revisions').find().sort({ _id: 1 }).toArray()))
  assert.deepEqual(await revisionsOf(uri), await revisionsOf(whole), 'as if nothing had happened')
})

test('redirects lead to the page at their end; broken ones are reported', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Here', 'a page of this wiki')
  await save(app, 'Links', '[[First]] [[Lost]]')
  const lead = (/** @type {string} */ name, /** @type {string} */ to) =>
    ({ kind: /** @type {const} */ ('redirect'), source: name, name, to })
  const things = () => [
    lead('First', 'Second'), lead('Second', 'Third'), lead('Third', 'Page'), lead('Round', 'And'), lead('And', 'Round'),
    lead('Lost', 'Nowhere'), lead('Self', 'Self'), lead('Here', 'Page'), lead('a\\b', 'Page'), page('Page', [{}])
  ]
  const { outcomes, totals } = await moveIn(uri, things())
  const of = (/** @type {string} */ source) => outcomes.find((outcome) => outcome.source === source)
  assert.equal(totals.redirect, 3)
  for (const name of ['First', 'Second', 'Third']) {
    assert.equal((await get(app, `/wiki/${name}`)).headers.location, '/wiki/Page')
  }
  assert.match(String(of('Round')?.problem), /in a circle/)
  assert.match(String(of('Lost')?.problem), /“Nowhere”, which is no page here/)
  assert.match(String(of('Self')?.problem), /itself/)
  assert.deepEqual([of('Here')?.result, of('Here')?.missing], ['kept', 1])
  assert.match(String(of('Here')?.problem), /leads to “Page” there now; here it is a page.*--on-conflict replace/)
  assert.match(String(of('a\\b')?.problem), /backslash/)
  const links = (await get(app, '/wiki/Links')).body
  assert.equal(links.match(/class="missing"/g)?.length, 1, 'a link to a former name is not missing')
  await untilCounted(app)
  const before = await contents(uri)
  assert.equal((await moveIn(uri, things())).totals.unchanged, 4)
  assert.deepEqual(await contents(uri), before)
  assert.equal((await save(app, 'First', 'a page of its own')).statusCode, 201)
})

test('a page that became a redirect there stays, is not passed over in silence, and can make room', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, [page('Merged', [{}]), page('Whole', [{}])])
  const merged = () => ({ kind: /** @type {const} */ ('redirect'), source: 'Merged', name: 'Merged', to: 'Whole' })
  const kept = await moveIn(uri, [merged()])
  assert.deepEqual([kept.outcomes[0].result, isAllTaken(kept.totals)], ['kept', false])
  for (const onConflict of /** @type {const} */ (['fail', 'replace'])) {
    assert.equal((await moveIn(uri, [merged()], { onConflict })).totals.untaken, 1, onConflict)
  }
  assert.match((await get(app, '/wiki/Merged')).body, /text 1/)
  await app.inject({ method: 'POST', url: '/api/v1/pages/Merged/rename', payload: { to: 'Merged once' } })
  await moveIn(uri, [merged()], { onConflict: 'replace' })
  assert.equal((await get(app, '/wiki/Merged')).headers.location, '/wiki/Whole')
  assert.match((await get(app, '/wiki/Merged%20once')).body, /text 1/)
})

test('a report that cannot be written ends the import with a message', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-report-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(path.join(directory, 'a.md'), 'text')
  const importing = (/** @type {string} */ report) => runImport({
    config: readConfig({ MONGODB_URI: wiki.freshUri() }), kind: 'markdown', file: directory, report
  })
  await assert.rejects(importing('/dev/full'), /the report \/dev\/full cannot be written: .*no space.*run the same/)
  await assert.rejects(importing(path.join(directory, 'none/report')), /none\/report cannot be written: ENOENT/)
})

test('names, authors and texts may be anything', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri, PAGE_MAX_BYTES: '1000' })
  const settings = { PAGE_MAX_BYTES: '1000' }
  const { outcomes } = await moveIn(uri, [
    page('a//b/', [{}]), page('a/b', [{ content: 'another' }]), page('x'.repeat(201), [{}]), page('stevec', [{}]),
    page('\u200BHidden', [{}]), page('$where', [{}]), page('__proto__', [{}]),
    page('Long', [{}, { content: 'é'.repeat(600) }, { content: '\uD800 half' }]),
    page('Too long', [{ content: 'x'.repeat(2000) }]),
    page('Empty', []),
    page('Odd', [{
      author: `<script>\u202E\n${'x'.repeat(100)}`,
      summary: `${'y'.repeat(300)}\u0000`,
      tags: ['A/B', ' Two  words ', 'x'.repeat(60), 'a-b', '\u200B'],
      content: '<script>alert(1)</script> {{template}}'
    }])
  ], { settings })
  assert.deepEqual(outcomes.map(({ source, result }) => [source.slice(0, 8), result]), [
    ['a//b/', 'created'], ['a/b', 'untaken'], ['xxxxxxxx', 'untaken'], ['stevec', 'untaken'],
    ['\u200BHidden', 'created'],
    ['$where', 'created'], ['__proto_', 'created'], ['Long', 'created'], ['Too long', 'untaken'], ['Empty', 'untaken'],
    ['Odd', 'created']
  ])
  assert.match(String(outcomes[0].problem), /links to “a\/\/b\/” do not lead here/)
  assert.match(String(outcomes[1].problem), /another page that was moved in/)
  assert.match(String(outcomes[7].problem), /revision 2 is longer than/)
  assert.equal(outcomes[7].untaken, 1)
  assert.match((await get(app, '/raw/Long')).body, /\uFFFD half/)
  const [odd] = (await json(app, '/api/v1/pages/Odd/revisions')).items
  assert.equal([...odd.author].length, 80)
  assert.match(odd.author, /^<script> x+…$/)
  assert.equal([...odd.summary].length, 200)
  assert.deepEqual(odd.tags, ['a-b', 'two words'])
  assert.doesNotMatch((await get(app, '/history/Odd')).body, /<script>/)
  const again = await moveIn(uri, [page('a/b', [{ content: 'another' }])], { settings, onConflict: 'replace' })
  assert.match(String(again.outcomes[0].problem), /another page that was moved in/)
})

test('a dry run says what would be done, and writes nothing', async () => {
  const uri = wiki.freshUri()
  await moveIn(uri, [page('There', [{}])])
  const before = await contents(uri)
  const things = () => [
    page('There', [{}, {}]), page('New', [{}, {}]),
    { kind: /** @type {const} */ ('redirect'), source: 'R', name: 'R', to: 'New' }
  ]
  const { totals } = await moveIn(uri, things(), { dryRun: true })
  assert.deepEqual([totals.created, totals.appended, totals.redirect, totals.revisions], [1, 1, 1, 3])
  assert.deepEqual(await contents(uri), before)
  const empty = wiki.freshUri()
  await moveIn(empty, things(), { dryRun: true })
  const names = await inDatabase(empty, (db) => db.listCollections().toArray())
  assert.deepEqual(names, [], 'not even a collection')
})

test('edges that follow the purge log hear of it, and so do the caches of the settings', async (t) => {
  const uri = wiki.freshUri()
  await wiki.build(t, { MONGODB_URI: uri, CACHE_POLICY: 'bounded' })
  await moveIn(uri, [page('Bees', [{}])])
  const logged = await inDatabase(uri, (db) => db.collection('purge_log').find({ stale: { $exists: true } }).toArray())
  assert.equal(logged.length, 1, 'without a setting')
  assert.equal(logged[0].stale.tags.length, 1)

  const purged = wiki.freshUri()
  await inDatabase(purged, (db) => db.createCollection('purge_log'))
  const settings = {
    CACHE_POLICY: 'purge-url', PURGE_ZONE: 'zone', PURGE_TOKEN: 'x'.repeat(40), PUBLIC_URL: 'https://wiki.example'
  }
  await moveIn(purged, [page('Bees', [{ author: 'Ana' }, { author: 'Bor' }])], { settings })
  const [{ content }] = await inDatabase(purged, (db) => db.collection('queue').find({ kind: 'purge' }).toArray())
  for (const url of ['/wiki/Bees', '/history/Bees', '/changes?author=Ana', '/changes?author=Bor']) {
    assert.ok(content.urls.includes(url), url)
  }
})

test('a revision that cannot be shown is left out; an older one is the page then', async () => {
  const uri = wiki.freshUri()
  const tall = `[x]: /${'y'.repeat(2000)}\n\n${'[x] '.repeat(20_000)}`
  const { outcomes } = await moveIn(uri, each([page('Tall', [{}, { content: tall }])]))
  assert.deepEqual([outcomes[0].result, outcomes[0].revisions, outcomes[0].untaken], ['created', 1, 1])
  assert.match(String(outcomes[0].problem), /as a page, this text/i)
})

test('a text that cannot be shown, before a deletion or at the end of a part, loses nothing else', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const tall = { content: `[x]: /${'y'.repeat(2000)}\n\n${'[x] '.repeat(20_000)}` }
  const gone = { content: '', deleted: true }
  const many = (/** @type {number} */ count, /** @type {object} */ of = {}) => Array.from({ length: count }, () => of)
  const things = () => [
    page('Gone', [{}, tall, gone]),
    page('Gone again', [{}, gone, tall, gone]),
    page('Never', [tall, gone]),
    page('Tall since', [{}, tall, gone, tall]),
    page('In the middle', [...many(494), ...many(7, tall), ...many(2)])
  ]
  const { outcomes } = await moveIn(uri, things())
  assert.deepEqual(outcomes.map(({ result, revisions, untaken = 0 }) => [result, revisions, untaken]),
    [['created', 2, 1], ['created', 2, 1], ['untaken', 0, 1], ['created', 2, 2], ['created', 503, 0]])
  for (const name of ['Gone', 'Gone again', 'Tall since']) {
    assert.equal((await get(app, `/wiki/${encodeURIComponent(name)}`)).statusCode, 404, name)
  }
  assert.match((await get(app, '/wiki/In%20the%20middle')).body, /text 503/)
  await untilCounted(app)
  const before = await contents(uri)
  const again = await moveIn(uri, things())
  assert.equal(again.totals.revisions, 0)
  assert.deepEqual(await contents(uri), before)
})

test('a page that was deleted there, and written again, has both in its history', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const gone = { content: '', deleted: true }
  const things = () => [
    page('Again', [{}, gone, { content: 'back' }]), page('Gone', [{}, {}, gone, gone]), page('Never', [gone]),
    page('Garbled', [{ problem: 'it is not converted' }])
  ]
  const { outcomes } = await moveIn(uri, things())
  assert.deepEqual(outcomes.map(({ result, revisions }) => [result, revisions]),
    [['created', 3], ['created', 3], ['untaken', 0], ['created', 1]])
  assert.equal(outcomes[3].problem, 'it is not converted')
  const { items } = await json(app, '/api/v1/pages/Again/revisions')
  assert.deepEqual(items.map((/** @type {any} */ item) => [item.revision, item.deleted]),
    [[3, false], [2, true], [1, false]])
  assert.match((await get(app, '/wiki/Again')).body, /back/)
  assert.equal((await get(app, '/wiki/Gone')).statusCode, 404)
  assert.equal((await get(app, '/history/Gone')).statusCode, 200)
  await untilCounted(app)
  const before = await contents(uri)
  const again = await moveIn(uri, things())
  assert.equal(again.totals.unchanged, 3)
  assert.deepEqual(await contents(uri), before)
  const newer = await moveIn(uri, [page('Gone', [{}, {}, gone, { content: 'here again' }])])
  assert.equal(newer.outcomes[0].result, 'appended')
  assert.match((await get(app, '/wiki/Gone')).body, /here again/)
})
