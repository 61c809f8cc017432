import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { startProcess, stopProcess } from '@stevec/harness/processes'
import { createTestbed } from '../../torture/testbed.js'
import { stored } from '../../torture/torture.js'

const SAVES = 200
const BUSY_LOOPS = 4
/** The default of QUEUE_WAIT_MAX_MS (wiki-app/src/config.js). */
const DEFAULT_WAIT_MS = 500
/** The largest allowed wait: the saves take some seconds of CPU time, and longer on a busy machine. */
const LONG_WAIT_MS = 60_000
const TEXT = `${'words and words of a page that is a little different each time '.repeat(120)}\n`

/**
 * Saves SAVES different pages at once, directly at the wiki, on a machine that busy loops occupy.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} settings
 */
async function burst (t, settings) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-burst-'))
  const testbed = await createTestbed({ settings })
  /** @type {import('@stevec/harness/processes').ProcessIdentity[]} */
  const loops = []
  t.after(async () => {
    for (const loop of loops) await stopProcess(loop)
    await testbed.remove()
    rmSync(directory, { recursive: true })
  })
  await testbed.start()
  for (let index = 0; index < BUSY_LOOPS; index++) {
    const logFile = path.join(directory, 'log')
    loops.push(await startProcess({ name: 'busy loop', command: process.execPath, args: ['-e', 'for (;;);'], logFile }))
  }
  const answers = await Promise.all(Array.from({ length: SAVES }, async (_, index) => {
    const start = performance.now()
    const name = `page-${index}`
    const answer = await fetch(`${testbed.url}/api/v1/pages/${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ content: TEXT + name })
    })
    await answer.arrayBuffer()
    return { name, status: answer.status, retryAfter: answer.headers.get('retry-after'), ms: performance.now() - start }
  }))
  const kept = new Set((await stored(testbed.uri)).pages.map(({ _id }) => _id))
  const saved = answers.filter(({ status }) => status === 201)
  const longestMs = Math.max(...answers.map(({ ms }) => ms))
  t.diagnostic(`${saved.length} of ${SAVES} saved, the last answer after ${Math.round(longestMs)} ms`)
  for (const { name, status } of answers) assert.equal(kept.has(name), status === 201, `${name}: ${status}`)
  return { answers, testbed }
}

test('200 saves at once on a busy machine all succeed if they may wait', { timeout: 300_000 }, async (t) => {
  const { answers, testbed } = await burst(t, { QUEUE_WAIT_MAX_MS: String(LONG_WAIT_MS) })
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201], testbed.log())
})

test('by default a save succeeds, or gets 503 after the wait and is not stored', { timeout: 300_000 }, async (t) => {
  const { answers, testbed } = await burst(t, {})
  const refused = answers.filter(({ status }) => status !== 201)
  const asPromised = (/** @type {typeof answers[0]} */ { status, retryAfter, ms }) =>
    status === 503 && Number(retryAfter) > 0 && ms >= DEFAULT_WAIT_MS
  const wrong = refused.filter((answer) => !asPromised(answer))
  assert.deepEqual(wrong, [], testbed.log())
  assert.ok(refused.length < SAVES)
})
