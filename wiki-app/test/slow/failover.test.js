import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { createClient } from '../../torture/client.js'
import { createEditors } from '../../torture/editors.js'
import { holds, judge } from '../../torture/oracle.js'
import { createTestbed } from '../../torture/testbed.js'
import { primaryOf } from '../../torture/replica-set.js'
import { stored } from '../../torture/torture.js'
import { differingWords } from '../../torture/words.js'

const EDITORS = 8
const READERS = 2
const WORK_MAX_MS = 90_000

test('a kill of the MongoDB primary under load loses no acknowledged edit and no word, ' +
  'and another member becomes primary', { timeout: 400_000 }, async (t) => {
  const words = mkdtempSync(path.join(tmpdir(), 'stevec-words-'))
  t.after(() => rmSync(words, { recursive: true, force: true }))
  const testbed = await createTestbed({ wikis: 2, members: 3, settings: { SEARCH_DIRECTORY: words } })
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, EDITORS + READERS)
  t.after(() => client.close())
  const editors = createEditors({ client, seed: 4, editors: EDITORS, readers: READERS })
  t.after(() => editors.stop())
  const reach = async (/** @type {number} */ more) => {
    const wanted = editors.acknowledged() + more
    assert.ok(await waitUntil(() => editors.acknowledged() >= wanted, WORK_MAX_MS), testbed.log())
  }

  editors.start()
  await reach(100)
  const killed = await primaryOf(testbed.uri)
  const killedAt = performance.now()
  await testbed.killMember(killed)
  const before = editors.acknowledged()
  await reach(1)
  const firstMs = performance.now() - killedAt
  await reach(100)
  await editors.stop()

  assert.notEqual(await primaryOf(testbed.uri), killed)
  t.diagnostic(
    `${before} edits before, ${editors.acknowledged() - before} after; the first one ${
      Math.round(firstMs)} ms after the kill, longest time without an edit ${editors.gapMs()} ms`
  )
  assert.deepEqual(editors.unexpected, [])
  assert.deepEqual(testbed.mistakes(), [])
  const findings = judge(editors.edits, editors.reads, await stored(testbed.uri))
  assert.ok(holds(findings), JSON.stringify(findings))
  assert.deepEqual(await differingWords(testbed.uri, words), [], 'both wikis share an index')
})
