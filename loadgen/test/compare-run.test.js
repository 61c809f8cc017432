import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { sharePackages } from '@stevec/harness/worktree'
import { turns } from '../src/lab/compare-run.js'

/** @type {(root: string, ...args: string[]) => {status: number | null, stderr: string, stdout: string}} */
const stevec = (root, ...args) =>
  spawnSync(process.execPath, [path.join(root, 'loadgen/bin/stevec.js'), ...args], { encoding: 'utf8' })

test('versions run in turns: one of each in a round, the order reversed in the next, the first by chance', () => {
  const orders = Array.from({ length: 20 }, (_, seed) => turns(4, seed).join(' '))
  assert.deepEqual(turns(4, 7), turns(4, 7))
  assert.ok(orders.some((order) => order.startsWith('old')) && orders.some((order) => order.startsWith('new')))
  for (const rounds of [2, 3, 5]) {
    const order = turns(rounds, 1)
    assert.equal(order.length, 2 * rounds)
    for (let round = 0; round < rounds; round++) {
      assert.deepEqual(order.slice(2 * round, 2 * round + 2).sort(), ['new', 'old'])
      if (round % 2 === 1) assert.equal(order[2 * round], order[2 * round - 1])
    }
  }
})

test('compare-run has help with examples, within 100 columns', () => {
  const { stdout } = stevec(ROOT, 'compare-run', '--help')
  assert.match(stdout, /^Usage: stevec compare-run OLD[^]*^Examples:$/m)
  assert.deepEqual(stdout.split('\n').filter((line) => line.length > 100), [])
})

test('compare-run refuses what it cannot measure, with the reason', () => {
  for (const [args, reason] of /** @type {[string[], RegExp][]} */ ([
    [[], /which version\?/],
    [['no-such-ref', 'HEAD'], /there is no commit "no-such-ref"/],
    [['HEAD', 'HEAD', 'read-lukewarm'], /"read-lukewarm" is no experiment; the experiments are: /],
    [['HEAD', 'HEAD', 'study'], /one experiment/],
    [['HEAD', 'HEAD', '--rounds', '1'], /--rounds must be a whole number from 2 to 20/]
  ])) {
    const { status, stderr } = stevec(ROOT, 'compare-run', ...args)
    assert.match(stderr, reason)
    assert.equal(status, 2)
  }
})

test('compare-run refuses uncommitted changes where the working tree\'s commit would be measured', (t) => {
  const copy = path.join(mkdtempSync(path.join(tmpdir(), 'stevec-dirty-')), 'copy')
  t.after(() => rmSync(path.dirname(copy), { recursive: true, force: true }))
  const files = execFileSync('git', ['-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    encoding: 'utf8'
  }).split('\0').filter((file) => file !== '' && !file.startsWith('results/') && existsSync(path.join(ROOT, file)))
  for (const file of files) cpSync(path.join(ROOT, file), path.join(copy, file))
  sharePackages(copy)
  execFileSync('git', ['init', '--quiet', copy])
  const { status, stderr } = stevec(copy, 'compare-run', 'HEAD~1')
  assert.match(stderr, /changes that no commit has.*git stash -u/)
  assert.equal(status, 2)
})
