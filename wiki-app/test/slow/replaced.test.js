import assert from 'node:assert/strict'
import test from 'node:test'
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
const WORK_MAX_MS = 120_000

test('no request fails while the wikis behind nginx are restarted one by one under load', {
  timeout: 400_000
}, async (t) => {
  const testbed = await createTestbed({ wikis: 2 })
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, EDITORS + READERS)
  t.after(() => client.close())
  const editors = createEditors({ client, seed: 3, editors: EDITORS, readers: READERS })
  t.after(() => editors.stop())
  editors.start()
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of [0, 1]) {
      const before = editors.answered()
      assert.ok(await waitUntil(() => editors.answered() > before + 200, WORK_MAX_MS))
      await testbed.stopWiki(index)
      await testbed.startWiki(index, '/readyz')
    }
  }
  await editors.stop()
  t.diagnostic(
    `${2 * ROUNDS} replacements, ${editors.answered()} requests answered, ${editors.acknowledged()} of them edits, ${editors.failed.length} failed; longest time without an edit ${editors.gapMs()} ms`
  )
  assert.deepEqual(count(editors.failed), {})
  assert.deepEqual(testbed.mistakes(), [])
  const findings = judge(editors.edits, editors.reads, await stored(testbed.uri))
  assert.ok(holds(findings), JSON.stringify(findings))
})

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
