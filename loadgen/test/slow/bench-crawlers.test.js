import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'

const PROGRAM = path.join(ROOT, 'loadgen/bench/crawlers/main.js')
const SMALL = ['--pages', '10', '--revisions', '3', '--rounds', '2', '--seconds', '5', '--share', '0.2', '--views', '5']

test('make bench-crawlers shows crawls and people of each round, and compares them', {
  skip: process.getuid?.() === 0 ? false : 'needs root, to limit the CPU',
  timeout: 600_000
}, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...SMALL], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const rows = stdout.split('\n').filter((line) => /^\| \d/.test(line)).map((line) => line.split(' | '))
  assert.deepEqual(rows.map(([round, crawls]) => [round, crawls === 'none']), [
    ['| 1', true], ['| 1', false], ['| 2', true], ['| 2', false]
  ])
  for (const [, crawls] of rows.filter((_, index) => index % 2 === 1)) {
    const [shown, refused] = crawls.split(' / ').map(Number)
    assert.ok(shown > 0 && refused > 0, `${crawls}: the wiki shows some, and refuses what is too much`)
  }
  assert.match(stdout, /^a view, p99: [\d.]+ ms alone, [\d.]+ times that beside crawlers \(95 %: [\d.]+ to [\d.]+\)$/m)
  assert.match(stdout, /^beside crawlers: [\d.]+ % hits, \d+ of \d+ requests of people failed$/m)
})

test('what is not as --help says is refused before anything starts', () => {
  for (const wrong of [['--share', '0'], ['--wiki', 'other'], ['--rounds', '1'], ['--pages', 'many']]) {
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...wrong], { encoding: 'utf8' })
    assert.equal(status, 2)
    assert.match(stderr, /not as --help says/)
  }
  const { status, stdout } = spawnSync(process.execPath, [PROGRAM, '--help'], { encoding: 'utf8' })
  assert.equal(status, 0)
  assert.ok(stdout.split('\n').every((line) => line.length <= 100), 'it fits a terminal')
})
