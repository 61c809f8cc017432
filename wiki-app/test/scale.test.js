import assert from 'node:assert/strict'
import { test } from 'node:test'
import mongoose from 'mongoose'
import { fillWiki } from '../bench/fill.js'
import { FINDING_URLS } from '../bench/urls.js'
import { createFinding } from '../src/pages/finding.js'
import { defineModels } from '../src/pages/model.js'
import { get, useWiki } from './helper.js'

const wiki = useWiki()

const PAGES = 10_000
/** A list of 50, and what a search in titles reads to fill its first part. */
const EXAMINED_MAX = 1_100

/**
 * All stages of a plan, the innermost last.
 * @param {any} stage
 * @returns {{stage: string, memUsage?: number}[]}
 */
const stagesOf = (stage) => [stage, ...[stage.inputStage, ...(stage.inputStages ?? [])].filter(Boolean).flatMap(stagesOf)]

test('in a wiki of 10 000 pages every list, search and feed reads an index, never the collection, and few documents', async (t) => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: PAGES })
  const app = await wiki.build(t, { MONGODB_URI: `${uri}&monitorCommands=true` })
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  /** @type {any[]} */
  const commands = []
  client.on('commandStarted', ({ commandName, command }) => { if (['find', 'aggregate', 'count', 'distinct'].includes(commandName)) commands.push(command) })

  for (const url of FINDING_URLS) {
    commands.length = 0
    assert.equal((await get(app, url)).statusCode, 200, url)
    assert.ok(commands.length > 0, url)
    for (const { lsid: _, $clusterTime, $db, ...command } of [...commands]) {
      const { executionStats } = await client.db($db).command({ explain: command, verbosity: 'executionStats' })
      const stages = stagesOf(executionStats.executionStages)
      const plan = `${url}: ${stages.map(({ stage }) => stage).join(' ← ')}, ${executionStats.totalDocsExamined} documents examined`
      assert.ok(stages.some(({ stage }) => ['IXSCAN', 'IDHACK', 'COUNT_SCAN', 'DISTINCT_SCAN', 'EOF'].includes(stage)), plan)
      assert.ok(stages.every(({ stage }) => stage !== 'COLLSCAN'), plan)
      assert.ok(executionStats.totalDocsExamined <= EXAMINED_MAX, plan)
      // Only hits of a search have to be put in order; every other list is read in its order.
      if (!('$text' in (command.filter ?? {}))) assert.ok(stages.every(({ stage }) => stage !== 'SORT'), plan)
    }
  }
})

test('a search that takes too long is given up, and says what to do', async () => {
  const uri = wiki.freshUri()
  await fillWiki(uri, { pages: 3_000 })
  const connection = await mongoose.createConnection(uri).asPromise()
  try {
    const finding = createFinding(defineModels(connection), { searchMaxMs: 1 })
    await assert.rejects(finding.byText({ q: '"no page has these words in this order" common the', skip: 0, limit: 20 }), { statusCode: 422, message: /rarer words/ })
  } finally {
    await connection.close()
  }
})
