import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'

const stevec = (/** @type {string[]} */ ...args) => spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })

test('stevec predict prints JSON with --json, and exits with 2 and the reason for an invalid scenario', () => {
  const { status, stdout } = stevec(
    'predict', '--pages', '100', '--rate', '1000', '--edits', '0.05', '--requests', '10000', '--json'
  )
  assert.equal(status, 0)
  assert.ok(Math.abs(JSON.parse(stdout).stale_ratio - 0.79) < 0.01)
  assert.match(stevec('predict', '--help').stdout, /examples:[^]*--tiered/)
  const refused = stevec('predict', '--pages', '0', '--rate', '1', '--tiered')
  assert.deepEqual([refused.status, refused.stdout], [2, ''])
  assert.match(refused.stderr, /pages is 0/)
})

test('stevec compare exits with 2 without two existing runs, and with 1 only for a violated gate', () => {
  assert.match(stevec('compare', '--help').stdout, /Exit status: 0 [^]*1 a gate is violated, 2/)
  for (const args of [[], ['latest'], ['nowhere', 'elsewhere']]) {
    const { status, stderr } = stevec('compare', ...args)
    assert.equal(status, 2, stderr)
  }
})

test('stevec advise reads a log, and says what is missing', (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-advise-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const line = (/** @type {string} */ method, /** @type {number} */ index) =>
    `h - - [25/Nov/2026:10:00:${String(index % 60).padStart(2, '0')} +0000] "${method} /wiki/A HTTP/1.1" 200 9`
  const log = path.join(directory, 'access.log')
  const lines = Array.from({ length: 60 }, (_, index) => line(index % 20 === 9 ? 'POST' : 'GET', index))
  writeFileSync(log, lines.join('\n'))
  const { status, stdout } = stevec('advise', log, '--max-age', '1s', '--class', 'a=/A', '--class', 'b=/B', '--json')
  assert.equal(status, 0)
  const [found] = JSON.parse(stdout).classes
  assert.deepEqual([found.name, found.reads, found.edits], ['a', 57, 3])
  assert.match(stevec('advise', '--help').stdout, /examples:[^]*--edits/)
  const refused = stevec('advise', log)
  assert.equal(refused.status, 2)
  assert.match(refused.stderr, /without a limit/)
})
