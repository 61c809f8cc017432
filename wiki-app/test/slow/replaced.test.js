import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '@stevec/harness/processes'
import { createClient } from '../../torture/client.js'
import { createEditors } from '../../torture/editors.js'
import { holds, judge } from '../../torture/oracle.js'
import { createTestbed } from '../../torture/testbed.js'
import { stored } from '../../torture/torture.js'

const ROUNDS = 2
/** The editors contend for pages, tags and links, in two processes. */
const EDITORS = 16
const READERS = 12
const VIEWERS = 8
const VIEW_EVERY_MS = 20
/** A machine that starts a wiki is busy: views that wait longer for their turn than usual are no failures here. */
const QUEUE_WAIT_MAX_MS = '20000'
const WORK_MAX_MS = 120_000

test('no request fails while the wikis behind nginx are restarted one by one under load', {
  timeout: 400_000
}, async (t) => {
  const testbed = await createTestbed({ wikis: 2, settings: { QUEUE_WAIT_MAX_MS } })
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, EDITORS + READERS + VIEWERS)
  t.after(() => client.close())
  const editors = createEditors({ client, seed: 3, editors: EDITORS, readers: READERS })
  t.after(() => editors.stop())
  editors.start()
  const viewers = view(client)
  t.after(() => viewers.stop())
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of [0, 1]) {
      const before = editors.answered()
      assert.ok(await waitUntil(() => editors.answered() > before + 200, WORK_MAX_MS))
      await testbed.stopWiki(index)
      await testbed.startWiki(index, '/readyz')
    }
  }
  await editors.stop()
  const { views, failed } = await viewers.stop()
  t.diagnostic(
    `${2 * ROUNDS} replacements, ${editors.answered()} requests answered, ${editors.acknowledged()} of them edits, ` +
    `${editors.failed.length} failed; ${views} views, ${failed.length} failed; ` +
    `longest time without an edit ${editors.gapMs()} ms`
  )
  assert.deepEqual(count([...editors.failed, ...failed]), {})
  assert.deepEqual(testbed.mistakes(), [])
  const findings = judge(editors.edits, editors.reads, await stored(testbed.uri))
  assert.ok(holds(findings), JSON.stringify(findings))
})

/**
 * Requests pages that the editors change, one after the other.
 * @param {import('../../torture/client.js').Client} client
 */
function view (client) {
  const stopping = new AbortController()
  let views = 0
  /** @type {string[]} */
  const failed = []
  const loops = Array.from({ length: VIEWERS }, async (_, viewer) => {
    while (!stopping.signal.aborted) {
      const status = await client.ask('GET', `/wiki/torture/${viewer}`).then(({ status }) => status, ({ code }) => code)
      views++
      if (status !== 200 && status !== 404) failed.push(`view: ${status}`)
      await delay(VIEW_EVERY_MS)
    }
  })
  return {
    async stop () {
      stopping.abort()
      await Promise.all(loops)
      return { views, failed }
    }
  }
}

/**
 * @param {string[]} names
 * @returns {Record<string, number>}
 */
function count (names) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
