import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import mongoose from 'mongoose'
import { fillWiki, WORDS } from '../bench/fill.js'
import { FINDING_URLS } from '../bench/urls.js'
import { createSearch } from '../src/search/search.js'
import { defineModels } from '../src/pages/model.js'
import { renderView } from '../src/views.js'
import { createWords } from '../src/words/words.js'
import { get, save, useWiki } from './helper.js'

const wiki = useWiki()

const PAGES = 10_000
/** Enough for a list of 50, and for the titles that a title search reads to fill its first part. */
const EXAMINED_MAX = 1_100
const CARE = /^\/(?:api\/v1\/)?(?:care|wanted|orphaned|dead-ends|random)/
/** A list of 50, one that says that there are more, and the next of each of four ranges that are merged. */
const CARE_EXAMINED_MAX = 55
const CARE_KEYS_MAX = 60
const GONE = 2_000
const BUILT_MAX_MS = 60_000
const log = /** @type {any} */ ({ warn () {}, info () {}, error () {} })

/**
 * Returns all stages of a query plan, the innermost last.
 * @param {any} stage
 * @returns {{stage: string, indexName?: string, memUsage?: number}[]}
 */
const stagesOf = (stage) => [
  stage,
  ...[stage.inputStage, ...(stage.inputStages ?? [])].filter(Boolean).flatMap(stagesOf)
]

/** Before all pages in every list, if they were listed: deleted pages have no links. @param {string} uri */
async function addDeletedPages (uri) {
  const connection = await mongoose.createConnection(uri).asPromise()
  const deleted = { revision: 2, search_key: 'a', links: [], tags: [], deleted_at: new Date() }
  await defineModels(connection).Pages.collection.insertMany(
    Array.from({ length: GONE }, (_, number) => ({ _id: /** @type {any} */ (`a gone ${number}`), ...deleted }))
  )
  await connection.close()
}

test('with 10 000 pages every list, search and feed uses an index and examines few documents', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: PAGES })
  await addDeletedPages(uri)
  const app = await wiki.build(t, { MONGODB_URI: `${uri}&monitorCommands=true` })
  assert.ok(await waitUntil(async () =>
    (await get(app, '/api/v1/search?q=unique77')).json().index?.state === 'current', BUILT_MAX_MS))
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  /** @type {any[]} */
  const commands = []
  client.on('commandStarted', ({ commandName, command }) => {
    if (['find', 'aggregate', 'count', 'distinct'].includes(commandName)) commands.push(command)
  })

  for (const url of [...FINDING_URLS, '/wanted?after=1+Wanted+900', '/random', '/sitemap.xml', '/sitemap/7.xml']) {
    commands.length = 0
    assert.equal((await get(app, url)).statusCode, url === '/random' ? 302 : 200, url)
    assert.ok(commands.length > 0, url)
    for (const { lsid: _, $clusterTime, $db, ...command } of [...commands]) {
      const { executionStats } = await client.db($db).command({ explain: command, verbosity: 'executionStats' })
      const stages = stagesOf(executionStats.executionStages)
      const plan = `${url}: ${stages.map(({ stage }) => stage).join(' ← ')}, ${executionStats.totalDocsExamined} documents examined`
      assert.ok(
        stages.some(({ stage }) => ['IXSCAN', 'IDHACK', 'COUNT_SCAN', 'DISTINCT_SCAN', 'EOF'].includes(stage)),
        plan
      )
      assert.ok(stages.every(({ stage }) => stage !== 'COLLSCAN'), plan)
      assert.ok(executionStats.totalDocsExamined <= (CARE.test(url) ? CARE_EXAMINED_MAX : EXAMINED_MAX), plan)
      if (CARE.test(url)) assert.ok(executionStats.totalKeysExamined <= CARE_KEYS_MAX, plan)
      // Of two indexes with the same fields, the one that has the collation.
      if (command.collation) assert.ok(stages.some(({ indexName }) => indexName?.endsWith('_name')), plan)
      // An index has the order of every list.
      assert.ok(stages.every(({ stage }) => stage !== 'SORT'), plan)
    }
  }
})

test('a search that takes too long gets 503 with the advice to use rarer words', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: 50, revisions: 1 })
  const connection = await mongoose.createConnection(uri).asPromise()
  const models = defineModels(connection)
  const [often, also] = WORDS
  const content = `${often} ${also} `.repeat(50_000)
  await models.Pages.updateMany({}, { content, content_bytes: content.length })
  const words = createWords({ connection, collection: 'pages', language: 'en', log })
  words.open()
  t.after(async () => {
    await words.close()
    await connection.close()
  })
  assert.ok(await waitUntil(async () => {
    const { building, problem } = await words.freshness()
    return !building && problem === null
  }, BUILT_MAX_MS))
  const finding = (/** @type {number} */ searchMaxMs) => createSearch(models, { words, searchMaxMs })
  // Both words are on each page 50 000 times, and all these places are read: they are nowhere twice in a row.
  const q = `"${often} ${often} ${also}"`
  const part = { skip: 0, limit: 20 }
  assert.deepEqual((await finding(BUILT_MAX_MS).byText({ q, ...part })).items, [])
  await assert.rejects(finding(1).byText({ q, ...part }),
    { statusCode: 503, message: /rarer words/, headers: { 'retry-after': '2' } })
  assert.equal((await finding(BUILT_MAX_MS).byText({ q: '"page 7"', ...part })).items.length, 1)
})

test('a title search that takes too long shows only titles that begin with the query, with a notice', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: PAGES, revisions: 1 })
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Page 999 itself', 'x')
  const connection = await mongoose.createConnection(uri).asPromise()
  try {
    const words = createWords({ connection, collection: 'pages', language: 'en', log })
    const finding = createSearch(defineModels(connection), { words })
    const titles = async (/** @type {number | undefined} */ scanMaxMs) => {
      const { items, more, complete } = await finding.byTitle({ q: 'page 999', limit: 50, scanMaxMs })
      return [items.length, more, complete]
    }
    // The hits are the page above, page 999, and pages 9990 to 9999.
    assert.deepEqual(await titles(undefined), [12, false, true])
    assert.deepEqual(await titles(60_000), [12, false, true])
    assert.deepEqual(await titles(1), [1, false, false])
    const nothing = {
      title: '',
      q: 'zzz',
      titles: [],
      pages: [],
      texts: [],
      part: 1,
      first: true,
      firstUrl: '/pages',
      nextUrl: null,
      nothing: ''
    }
    const reader = /** @type {const} */ ({ mode: 'open', person: null })
    assert.match(
      renderView('search', { ...nothing, allTitles: false, moreTitlesUrl: '/pages?q=zzz' }, reader),
      /No title begins with “zzz”\..*<a href="\/pages\?q=zzz">Look further into the titles</s
    )
    assert.match(
      renderView('list', { ...nothing, textsUrl: '/search?q=zzz' }, reader),
      /too many pages to look for it further in their titles\. <a href="\/search\?q=zzz">/
    )
  } finally {
    await connection.close()
  }
})
