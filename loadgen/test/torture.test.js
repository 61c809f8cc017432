import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { createAcknowledgements } from '../src/torture/acknowledgements.js'
import { byFault, primaryAcceptedMaxMs } from '../src/torture/summary.js'

const MAIN = path.join(ROOT, 'loadgen/src/torture/main.js')

/** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
function torture (args, env) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}

test('the torture refuses wrong options with 2', () => {
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [['--fault', '3'], /Unknown option '--fault'/],
    [['more'], /Unexpected argument 'more'/],
    [['--faults', '0'], /--faults must be a whole number from 1 to 10000, not "0"/],
    [['--seed', '1.5'], /--seed must be a whole number/],
    [['--accepted-max-ms', 'soon'], /--accepted-max-ms must be a whole number from 1 to 3600000, not "soon"/]
  ])) {
    const { status, stdout, stderr } = torture(args)
    assert.deepEqual([status, stdout], [2, ''], args.join(' '))
    assert.match(stderr, message)
    assert.match(stderr, /main\.js --help/)
  }
})

test('the torture names the package of a missing ip', (t) => {
  const empty = mkdtempSync(path.join(tmpdir(), 'stevec-path-'))
  t.after(() => rmSync(empty, { recursive: true }))
  const { status, stderr } = torture(['--faults', '1'], { PATH: empty })
  assert.equal(status, 3)
  assert.equal(stderr, 'ip is missing; run `apt-get install --no-install-recommends iproute2`\n')
})

test('an edit that was sent while a fault was being injected does not count as accepted after it', () => {
  const { note, acceptedAfterMs, gapMs, hasAcknowledgedSince } = createAcknowledgements()
  assert.equal(hasAcknowledgedSince(0), false)
  note(90, 105)
  note(110, 130)
  assert.equal(acceptedAfterMs(100, 120), null)
  note(125, 3_000)
  note(121, 4_000)
  assert.equal(acceptedAfterMs(100, 120), 2_900)
  assert.equal(acceptedAfterMs(100, 110), 30)
  assert.equal(gapMs(100, 2_000), 2_870)
  assert.equal(hasAcknowledgedSince(4_000), true)
  assert.equal(hasAcknowledgedSince(4_001), false)
})

test('a summary has the median, and of the primary only what nothing else disturbed', () => {
  const outcome = (/** @type {string} */ target, /** @type {number} */ accepted, alone = true) => ({
    target,
    kind: /** @type {const} */ ('kill'),
    name: target,
    alone,
    lasts_ms: 1_000,
    accepted_after_ms: accepted,
    gap_ms: 2 * accepted
  })
  const outcomes = [
    outcome('primary', 1_000), outcome('primary', 9_000, false), outcome('primary', 3_000), outcome('primary', 2_000),
    outcome('edge', 7), outcome('edge', 5), outcome('edge', 99)
  ]
  assert.deepEqual(byFault(outcomes), [
    { fault: 'edge kill', times: 3, accepted_median_ms: 7, accepted_max_ms: 99, gap_max_ms: 198 },
    { fault: 'primary kill', times: 4, accepted_median_ms: 2_500, accepted_max_ms: 9_000, gap_max_ms: 18_000 }
  ])
  assert.equal(primaryAcceptedMaxMs(outcomes), 3_000)
  assert.equal(primaryAcceptedMaxMs(outcomes.filter(({ target }) => target === 'edge')), null)
})
