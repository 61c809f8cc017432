import assert from 'node:assert/strict'
import { test } from 'node:test'
import mongoose from 'mongoose'
import { fillWiki } from '../bench/fill.js'
import { FINDING_URLS } from '../bench/urls.js'
import { createSearch } from '../src/search/search.js'
import { defineModels } from '../src/pages/model.js'
import { renderView } from '../src/views.js'
import { get, save, useWiki } from './helper.js'

const wiki = useWiki()

const PAGES = 10_000
/** Enough for a list of 50, and for the titles that a title search reads to fill its first part. */
const EXAMINED_MAX = 1_100

/**
 * Returns all stages of a query plan, the innermost last.
 * @param {any} stage
 * @returns {{stage: string, indexName?: string, memUsage?: number}[]}
 */
const stagesOf = (stage) => [
  stage,
  ...[stage.inputStage, ...(stage.inputStages ?? [])].filter(Boolean).flatMap(stagesOf)
]

test('with 10 000 pages every list, search and feed uses an index and examines few documents', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: PAGES })
  const app = await wiki.build(t, { MONGODB_URI: `${uri}&monitorCommands=true` })
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  /** @type {any[]} */
  const commands = []
  client.on('commandStarted', ({ commandName, command }) => {
    if (['find', 'aggregate', 'count', 'distinct'].includes(commandName)) commands.push(command)
  })

  for (const url of FINDING_URLS) {
    commands.length = 0
    assert.equal((await get(app, url)).statusCode, 200, url)
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
      assert.ok(executionStats.totalDocsExamined <= EXAMINED_MAX, plan)
      // Of two indexes with the same fields, the one that has the collation.
      if (command.collation) assert.ok(stages.some(({ indexName }) => indexName?.endsWith('_name')), plan)
      // Only search hits need a sort; an index has the order of every other list.
      if (!('$text' in (command.filter ?? {}))) assert.ok(stages.every(({ stage }) => stage !== 'SORT'), plan)
    }
  }
})

test('a search that takes too long gets 503 with the advice to use rarer words', async () => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: 3_000 })
  const connection = await mongoose.createConnection(uri).asPromise()
  try {
    const finding = createSearch(defineModels(connection), { searchMaxMs: 1 })
    await assert.rejects(
      finding.byText({ q: '"no page has these words in this order" common the', skip: 0, limit: 20 }),
      { statusCode: 503, message: /rarer words/, headers: { 'retry-after': '2' } }
    )
  } finally {
    await connection.close()
  }
})

test('a title search that takes too long shows only titles that begin with the query, with a notice', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: PAGES, revisions: 1 })
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Page 999 itself', 'x')
  const connection = await mongoose.createConnection(uri).asPromise()
  try {
    const finding = createSearch(defineModels(connection))
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
