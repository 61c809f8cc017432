import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { keepLogs, LOG_ROLES, logEnds, waitForLogLines } from '../src/lab/logs.js'

test('a trial keeps the lines of each log since its start, including late ones', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-logs-'))
  const log = (/** @type {string} */ role) => path.join(directory, role, 'access.log')
  for (const role of LOG_ROLES) {
    mkdirSync(path.join(directory, role))
    writeFileSync(log(role), 'before\n')
  }
  const starts = logEnds(directory)
  assert.deepEqual(starts, { edge: 7, origin: 7, local: 7 })
  appendFileSync(log('edge'), 'one\n')
  const waiting = waitForLogLines(directory, starts, { edge: 2, origin: 1, local: 0 })
  appendFileSync(log('origin'), 'reached\n')
  setImmediate(() => appendFileSync(log('edge'), 'two\n'))
  assert.deepEqual(await waiting, { edge: 2, origin: 1, local: 0 })
  await keepLogs(directory, starts, directory)
  const kept = (/** @type {string} */ role) =>
    gunzipSync(readFileSync(path.join(directory, `${role}.log.gz`))).toString()
  assert.deepEqual(LOG_ROLES.map(kept), ['one\ntwo\n', 'reached\n', ''])
  rmSync(directory, { recursive: true })
})
