import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { freePorts } from '@stevec/harness/ports'
import { childPids } from '@stevec/harness/proc'
import { startProcess, startTicks, stopProcess, waitUntil } from '@stevec/harness/processes'
import { WIKI_ARGUMENTS } from '@stevec/wiki-app/start'
import { createBackoff, LIMITS } from '../src/keeper/backoff.js'
import { keepStack } from '../src/keeper/keep.js'
import { keeperLines } from '../src/keeper/keeper-lines.js'
import { saveRecipe } from '../src/keeper/recipes.js'
import { startKeeper } from '../src/keeper/start-keeper.js'
import { readStatus } from '../src/keeper/status-file.js'
import { writeState } from '../src/stack/state.js'

const BACK_MAX_MS = 120_000

test('a process that keeps dying is restarted later each time, and after ten times in ten minutes not at all', () => {
  const backoff = createBackoff(LIMITS)
  let nowMs = 0
  const waits = []
  for (let waitMs = backoff.waitMs(nowMs); waitMs !== null; waitMs = backoff.waitMs(nowMs)) {
    waits.push(waitMs / 1000)
    nowMs += waitMs
    backoff.noteRestart(nowMs)
    nowMs += 100
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])

  const settled = createBackoff(LIMITS)
  for (let day = 0; day < 20; day++) {
    assert.equal(settled.waitMs(day * 86_400_000), 1000, 'one that has lived for a day did not die early')
    settled.noteRestart(day * 86_400_000)
  }
})

test('a wiki whose port is taken is started again a few times, then given up with what to do', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-keeper-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(directory, { recursive: true })
  const [port] = await freePorts(1)
  const taken = createServer().listen(port, '127.0.0.1')
  t.after(() => taken.close())
  const wiki = await startProcess({
    name: 'wiki',
    command: process.execPath,
    args: [...WIKI_ARGUMENTS],
    logFile: path.join(directory, 'wiki.log'),
    outlive: true,
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      MONGODB_URI: 'mongodb://user:secret@127.0.0.1:1/w',
      LOG_LEVEL: 'silent'
    }
  })
  t.after(() => stopProcess(wiki))
  saveRecipe(directory, wiki)
  assert.equal(statSync(path.join(directory, 'recipes.json')).mode & 0o777, 0o600, 'it holds the URI’s password')
  writeState(directory, /** @type {any} */ ({
    schema_version: 1,
    started_at: new Date().toISOString(),
    processes: [{ name: 'wiki', pid: wiki.pid, start_ticks: wiki.start_ticks }]
  }))

  const { lines, stopping, keeping } = keep(directory, 2)
  const givenUp = await waitUntil(() => readStatus(directory).find(({ state }) => state === 'given-up'), BACK_MAX_MS)
  assert.equal(givenUp?.restarts, 2, lines.join('\n'))
  assert.match(
    lines.at(-1) ?? '', /^wiki has ended again, and is given up: see its log, mend the cause, then stevec down/)
  assert.equal(lines.filter((line) => line.includes('is started again, as process')).length, 2)
  assert.match(readFileSync(path.join(directory, 'wiki.log'), 'utf8'), /port \d+ on 127\.0\.0\.1 is already in use/)
  assert.doesNotMatch(lines.join(), /secret/)
  const shown = keeperLines({ directory, dead: ['wiki'], keeper: true, services: readStatus(directory) }).join('\n')
  assert.match(
    shown, /no longer running: wiki; run `stevec down`, then `stevec up`\nthe end of wiki is in .*wiki\.log$/)
  stopping.abort()
  await keeping
  assert.deepEqual(readStatus(directory), [], 'a keeper that stops leaves no old state behind')
})

test('a process that cannot be recorded is stopped again: `stevec down` would not find it', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-keeper-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const sleeper = await startProcess({
    name: 'wiki', command: 'sleep', args: ['1000'], logFile: path.join(directory, 'wiki.log'), outlive: true
  })
  const { name, pid, start_ticks: ticks } = sleeper
  saveRecipe(directory, sleeper)
  writeState(directory, /** @type {any} */ ({
    schema_version: 1, started_at: new Date().toISOString(), processes: [{ name, pid, start_ticks: ticks }]
  }))
  await stopProcess(sleeper)
  const others = childrenAlive()
  // The record is written under this name first.
  mkdirSync(path.join(directory, 'stack.json.new'))

  const { lines, stopping, keeping } = keep(directory, 1)
  await waitUntil(() => lines.some((line) => line.includes('is given up')), BACK_MAX_MS)
  stopping.abort()
  await keeping
  assert.equal(lines.filter((line) => /^wiki cannot be started: EISDIR/.test(line)).length, 1, lines.join('\n'))
  assert.deepEqual(childrenAlive(), others)
})

test('a keeper that does not begin in time is stopped, and the error says so', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-keeper-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const others = childrenAlive()
  // Node alone takes longer to start.
  await assert.rejects(startKeeper(directory, 1), /keeper of the stack did not begin within 0\.001 s; run `stevec up`/)
  assert.deepEqual(childrenAlive(), others)
})

const childrenAlive = () => childPids(process.pid).filter((pid) => startTicks(pid) !== null)

/**
 * Keeps a stack with short pauses before restarts.
 * @param {string} directory  of the stack
 * @param {number} restartsMax
 */
function keep (directory, restartsMax) {
  /** @type {string[]} */
  const lines = []
  const stopping = new AbortController()
  const keeping = keepStack({
    directory,
    signal: stopping.signal,
    log: (line) => lines.push(line),
    limits: { ...LIMITS, minMs: 10, maxMs: 20, restartsMax }
  })
  return { lines, stopping, keeping }
}
