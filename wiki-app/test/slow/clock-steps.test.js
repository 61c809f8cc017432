import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'
import { locateTool } from '@stevec/harness/tools/locate'
import { createClient } from '../../torture/client.js'
import { createEditors } from '../../torture/editors.js'
import { holds, judge } from '../../torture/oracle.js'
import { createTestbed } from '../../torture/testbed.js'
import { stored } from '../../torture/torture.js'

const EDITORS = 8
const READERS = 2
const EDITS_BETWEEN = 40
const WORK_MAX_MS = 90_000
/** Longer than any commit that the database finishes. */
const COMMIT_MAX_S = 30
const TRIES_MAX = 10
const HOUR_S = 3600
const POLL_MS = 1_000
/** A page that the editors do not edit. */
const DATED = 'dated'
const faketime = locateTool('faketime')

/**
 * Creates a clock for processes that start with `env`; the test can set it while they run. Their monotonic clock,
 * which measures intervals, stays as it is (faketime(1)).
 * @param {import('node:test').TestContext} t
 */
function createClock (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-clock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = path.join(directory, 'offset')
  // Replaced by a rename, because the processes read the file all the time.
  const set = (/** @type {number} */ offsetS) => {
    writeFileSync(`${file}.new`, `${offsetS >= 0 ? '+' : ''}${offsetS}\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  const library = spawnSync(
    faketime?.path ?? '',
    ['-m', '-f', '+0s', 'printenv', 'LD_PRELOAD'],
    { encoding: 'utf8' }
  ).stdout.trim()
  assert.match(library, /libfaketime/)
  return {
    set,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1'
    }
  }
}

/**
 * Whether MongoDB commits nothing any more: a step back can make it wait until the clock shows the old time again
 * (docs/promises.md). Who runs it has to restart it.
 * @param {string} uri
 */
async function hangs (uri) {
  const client = await MongoClient.connect(uri)
  try {
    const { inprog } = await client.db('admin').command({
      currentOp: 1,
      active: true,
      secs_running: { $gte: COMMIT_MAX_S }
    })
    return inprog.some((/** @type {{command?: object}} */ { command }) => 'commitTransaction' in (command ?? {}))
  } finally {
    await client.close()
  }
}

test('clock steps of the wiki and the database under load lose or reorder no edit, ' +
  'and an outdated copy never gets 304', {
  timeout: 900_000,
  skip: faketime === null && 'faketime is missing; `./stevec setup --with faketime` installs it'
}, async (t) => {
  const clock = createClock(t)
  const testbed = await createTestbed({ env: clock.env })
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, EDITORS + READERS + 1)
  t.after(() => client.close())
  const editors = createEditors({ client, seed: 5, editors: EDITORS, readers: READERS })
  t.after(() => editors.stop())
  /** @type {import('../../torture/oracle.js').Edit[]} */
  const own = []
  /** Saves, and retries after a 503: a clock step makes the waits of the database end late or early. */
  async function write (/** @type {string} */ text) {
    for (let tries = 1; ; tries++) {
      const id = `dated ${own.length}`
      const started = 2 * own.length
      const { status, headers, body } = await client.ask('PUT', `/api/v1/pages/${DATED}`, {
        json: { content: `${id}: ${text}`, summary: id }
      })
      const made = status === 200 || status === 201
      own.push({
        id,
        page: DATED,
        kind: 'save',
        base: null,
        started,
        ended: started + 1,
        outcome: made ? 'acknowledged' : 'unknown',
        revision: made ? JSON.parse(body).revision : null
      })
      if (made) return
      assert.equal(status, 503, body)
      assert.ok(tries < TRIES_MAX, testbed.log())
      await sleep(Number(headers['retry-after']) * 1000)
    }
  }
  let restarts = 0
  const read = (/** @type {Record<string, string>} */ headers = {}) => client.ask('GET', `/wiki/${DATED}`, { headers })
  const hourOf = (/** @type {{headers: import('node:http').IncomingHttpHeaders}} */ { headers }) =>
    Math.round((Date.parse(String(headers['last-modified'])) - Date.now()) / 1000 / HOUR_S)

  await write('before')
  editors.start()
  let copy = await read()
  for (const [step, hours] of [1, -2, 24, 0].entries()) {
    clock.set(hours * HOUR_S)
    const wanted = editors.acknowledged() + EDITS_BETWEEN
    const reached = () => editors.acknowledged() >= wanted
    await waitUntil(async () => reached() || await hangs(testbed.uri), WORK_MAX_MS, POLL_MS)
    if (!reached() && await hangs(testbed.uri)) {
      restarts++
      await testbed.killMongod()
      await testbed.startDatabase()
    }
    assert.ok(await waitUntil(reached, WORK_MAX_MS), testbed.log())

    await write(`text of step ${step}`)
    const since = await read({ 'if-modified-since': String(copy.headers['last-modified']) })
    assert.equal(since.status, 200, 'a newer text is sent, whatever its date')
    assert.match(since.body, new RegExp(`text of step ${step}`))
    assert.equal(hourOf(since) + 0, hours, 'the wiki uses the clock that the test has set')
    assert.equal((await read({ 'if-modified-since': String(since.headers['last-modified']) })).status, 304)
    copy = since
  }
  await editors.stop()

  t.diagnostic(
    `${editors.acknowledged()} edits, ${editors.failed.length} asked to retry, ${restarts} restarts of a hanging MongoDB; ` +
    `longest time without an edit ${editors.gapMs()} ms`
  )
  assert.deepEqual(editors.unexpected, [])
  assert.deepEqual(testbed.mistakes(), [])
  const findings = judge([...editors.edits, ...own], editors.reads, await stored(testbed.uri))
  assert.ok(holds(findings), JSON.stringify(findings))
})
