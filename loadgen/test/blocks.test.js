import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readConfig } from '../src/config.js'
import { newSample, withNextBlock } from '../src/lab/blocks.js'
import { loadDefinition } from '../src/lab/definition.js'
import { isDecidable, leastRepetitions, undecidable } from '../src/lab/power.js'
import { createProgress } from '../src/lab/progress.js'
import {
  OTHERS_SHARE_MAX, othersShare, reasonsOfCode, reasonsOfSettings, SampleError
} from '../src/lab/sample-requirements.js'
import { openSite } from '../src/lab/site.js'
import { runStudy, STUDY } from '../src/lab/study.js'
import { loadProfile } from '../src/profile/profile.js'
import { originOption } from '../src/stack/origin/origin.js'
import { createSandbox, json, trialsOf } from './helper.js'

const signal = new AbortController().signal
const definitions = /** @type {const} */ (['read-sparse', 'write-vs-read-cached']).map((name) => {
  const definition = loadDefinition(name, 'sample', { repetitions: 3 })
  return { ...definition, settings: { ...definition.settings, requests: 20, pages: 10 } }
})

describe('a study in blocks', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {string} */
  let directory
  const said = { text: '' }
  const manifest = () => json(path.join(directory, 'manifest.json'))
  const runs = () => definitions.map(({ name }) => path.join(directory, 'runs', name))
  const repetitions = () => runs().map((run) => trialsOf(run).map(({ repetition }) => repetition).sort())

  /**
   * @param {import('../src/lab/study.js').InBlocks} inBlocks
   * @param {object} [options]
   */
  async function measure (inBlocks, options) {
    Object.assign(process.env, sandbox.env)
    const config = readConfig()
    const progress = createProgress((text) => { said.text += text })
    const profile = loadProfile('none', config)
    const site = await openSite({ config, seed: 1, profile, openOrigin: originOption('local'), signal, progress })
    try {
      return await runStudy({
        directory,
        definitions,
        inBlocks,
        preset: 'sample',
        seed: 1,
        command: 'stevec run',
        profile,
        site,
        signal,
        progress,
        repetitions: 3,
        ...options
      })
    } finally {
      await site.close()
    }
  }

  before(async () => {
    sandbox = await createSandbox()
    directory = path.join(sandbox.results, '20261123T100000Z-study-0000000')
  })
  after(() => sandbox.remove())

  test('leaves no folder if the first block may not begin', async () => {
    const admit = async () => { throw new SampleError('this would be no sample: it is loud') }
    await assert.rejects(measure({ admit }), /it is loud/)
    assert.equal(existsSync(directory), false)
  })

  test('has whole blocks after each, says how to go on, and can be reported on', async () => {
    let admitted = 0
    const totals = await measure({ most: 2, admit: async () => { admitted += 1 } })
    assert.equal(admitted, 2)
    assert.deepEqual(totals.trials, 8)
    assert.match(said.text, /2 of 3 blocks are done; go on with `stevec run --resume .*-study-0000000`/)
    const { status, sample, runs: listed } = manifest()
    assert.deepEqual([status, ...listed.map((/** @type {any} */ run) => run.status)], ['partial', 'partial', 'partial'])
    assert.deepEqual(repetitions(), [[1, 1, 2, 2], [1, 1, 2, 2]])
    assert.deepEqual(sample.blocks.map((/** @type {any} */ { block, conditions, trials, invalid_trials: invalid }) =>
      [block, conditions, trials, invalid]), [[1, [0], 4, 0], [2, [0], 4, 0]])
    // Each block has a stack of its own.
    assert.equal(said.text.match(/^starting mongod/gm)?.length, 2, said.text)
    const [first, second] = sample.blocks
    assert.ok(first.finished_at <= second.started_at, 'the study is repetition-major')
    assert.equal(sample.is_sample, false)
    assert.match(said.text, /block 2 in its compact form: \d+ → \d+ bytes/)
    for (const run of runs()) {
      for (const { name, compact } of trialsOf(run)) {
        assert.deepEqual(Object.keys(compact.files), ['samples.parquet'])
        assert.equal(existsSync(path.join(run, 'trials', name, 'origin.log.gz')), false)
      }
    }
    assert.ok(sample.reasons.includes('2 of 3 blocks are measured'), sample.reasons)
    const { repetitions_done: done, resumed_at: resumedAt } = json(path.join(runs()[0], 'manifest.json'))
    assert.deepEqual([done, resumedAt], [2, []])
  })

  test('keeps its whole blocks, with a report, if the next one is interrupted', async () => {
    const interrupt = new AbortController()
    const progress = createProgress((text) => { if (/^trial 5 of 6/.test(text)) interrupt.abort() })
    await assert.rejects(measure({ admit: async () => {} }, { progress, signal: interrupt.signal }), /abort/)
    const { status, sample } = manifest()
    assert.deepEqual([status, sample.blocks.length], ['interrupted', 2])
    assert.deepEqual(repetitions(), [[1, 1, 2, 2, 3], [1, 1, 2, 2]])
    const { exitCode, stdout, stderr } = await sandbox.stevec(['report', directory])
    assert.equal(exitCode, 0, stdout + stderr)
    const page = readFileSync(path.join(directory, 'report/index.html'), 'utf8')
    assert.match(page, /2 of 3 blocks are measured/)
    assert.match(page, /The law of the counter holds in all 4 trials/)
  })

  test('goes on where it stopped, under other conditions if they are accepted, and notes which', async () => {
    const other = loadProfile('none', readConfig())
    const fitted = { cpu_share: null, delay_ms: 1, overhead_ms: 1, client_edge_rtt_ms: 1 }
    const profile = { ...other, calibration: { experiment: 'read-hot', run: '2026-11-23T10:00:00Z', fitted } }
    await assert.rejects(
      measure({ admit: async () => {} }, { profile }),
      /begun under other conditions: profile\.calibration was null and is now .*--accept-changes/
    )
    await measure({ admit: async () => {} }, { profile, acceptChanges: true })
    const { status, sample, resumptions } = manifest()
    assert.equal(status, 'complete')
    assert.deepEqual(repetitions(), [[1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 3, 3]])
    assert.deepEqual(sample.blocks.map((/** @type {any} */ { conditions }) => conditions), [[0], [0], [0, 1]])
    assert.match(sample.conditions[1].join(), /profile\.calibration/)
    assert.deepEqual(resumptions.at(-1).profile.calibration.fitted, fitted)
    assert.ok(resumptions.at(-1).host.cores > 0)
    assert.equal((await sandbox.stevec(['report', directory])).exitCode, 0)
  })

  test('is a sample if at most a tenth of its trials were disturbed, limited or invalid, each kind by itself', () => {
    const good = { repetition: 1, valid: true, started_at: '', finished_at: '', saturation: null }
    const doubtful = [
      { ...good, valid: false },
      { ...good, saturation: { limit: 'nothing', disturbed: 'others took 0.3 cores' } },
      { ...good, saturation: { limit: 'machine', disturbed: null } }
    ]
    const reasonsWith = (/** @type {object[]} */ ...trials) => {
      const run = mkdtempSync(path.join(tmpdir(), 'stevec-block-'))
      for (const [index, trial] of [...trials, ...Array(20 - trials.length).fill(good)].entries()) {
        mkdirSync(path.join(run, 'trials', String(index + 1)), { recursive: true })
        writeFileSync(path.join(run, 'trials', String(index + 1), 'trial.json'), JSON.stringify(trial))
      }
      const { is_sample: isSample, reasons } = withNextBlock(newSample(1), [run])
      rmSync(run, { recursive: true })
      assert.equal(isSample, reasons.length === 0)
      return reasons
    }
    assert.deepEqual(reasonsWith(...doubtful, ...doubtful), [])
    const words = [/3 of 20 trials of block 1 are invalid/, /disturbed 3 of 20/, /machine limited 3 of 20/]
    for (const [index, trial] of doubtful.entries()) {
      const reasons = reasonsWith(trial, ...doubtful, ...doubtful)
      assert.equal(reasons.length, 1)
      assert.match(reasons[0], words[index])
    }
  })
})

describe('a study that would be no sample', () => {
  test('is refused with each reason and what to do, and leaves no results', async () => {
    const sandbox = await createSandbox()
    const { exitCode, stdout, stderr } = await sandbox.stevec([
      'run', 'study', '--preset', 'sample', '--only', 'E2,E5', '--repetitions', '7'
    ])
    assert.equal(exitCode, 2, stdout + stderr)
    for (const reason of [
      /it lacks read-hot, overload, overload-open, at-once, mixed-write, write-vs-read-cached: leave out --only/,
      /the profile none has no values fitted on this machine: run `stevec calibrate`/,
      /with 7 repetitions no test can decide E5, whatever comes: it takes 8; give more --repetitions/
    ]) assert.match(stderr, reason)
    assert.equal(existsSync(sandbox.results), false)
    for (const args of [['study', '--blocks', '2'], ['read-hot', '--preset', 'sample', '--blocks', '2']]) {
      const refused = await sandbox.stevec(['run', ...args])
      assert.match(refused.stderr, /--blocks is for the study with --preset sample/)
      assert.equal(refused.exitCode, 2)
    }
    sandbox.remove()
  })

  const profile = loadProfile('banana-pi', { stateDirectory: '/nowhere' })
  const fitted = { cpu_share: 0.1, delay_ms: 1, overhead_ms: 1, client_edge_rtt_ms: 1 }
  const calibrated = { ...profile, missing: [], calibration: { experiment: 'read-hot', run: 'today', fitted } }
  const all = STUDY.map((name) => loadDefinition(name, 'sample'))

  test('has a profile that is not calibrated or not applied in full, a zone, or code that is in no commit', () => {
    const reasons = (/** @type {object} */ changed) =>
      reasonsOfSettings({ definitions: all, profile: calibrated, target: null, ...changed }).join('\n')
    assert.equal(reasons({}), '')
    assert.match(reasons({ profile: { ...calibrated, missing: ['the origin\'s memory is not limited: no cgroups'] } }),
      /^the origin's memory is not limited: no cgroups$/)
    assert.match(reasons({ profile: { ...calibrated, calibration: null } }), /banana-pi has no values fitted/)
    assert.match(reasons({ target: { kind: 'cloudflare' } }), /leave out --target/)
    assert.match(reasonsOfCode({ commit: 'a', dirty: true }).join(), /differs from its commit: commit the changes/)
    assert.match(reasonsOfCode({ commit: null, dirty: null }).join(), /no git checkout/)
    assert.deepEqual(reasonsOfCode({ commit: 'a', dirty: false }), [])
  })

  test('has a busy machine: a process that is not the lab\'s', async () => {
    // An orphan: a child of this process would count as the lab's.
    const { stdout } = spawnSync('sh', ['-c', `${process.execPath} --eval 'for (;;);' >/dev/null 2>&1 & echo $!`])
    const pid = Number(stdout)
    try {
      const share = await othersShare(() => [], signal)
      assert.ok(share !== null && share > OTHERS_SHARE_MAX, `${share}`)
      const ofLab = await othersShare(() => [{ name: 'wiki', pid, part: 'wiki' }], signal)
      assert.ok(ofLab !== null && ofLab < share, `${ofLab} of ${share}`)
    } finally {
      process.kill(pid, 'SIGKILL')
    }
  })
})

describe('the repetitions of an experiment of the study', () => {
  const inStudy = { inStudy: true }
  const alone = { inStudy: false }

  test('can decide its hypothesis if the least p of a sign-flip test passes Holm\'s correction over six', () => {
    const study = (/** @type {import('../src/lab/definition.js').Preset} */ preset) =>
      STUDY.map((name) => loadDefinition(name, preset))
    assert.deepEqual(undecidable(study('sample'), inStudy), [])
    assert.deepEqual(undecidable(study('quick'), inStudy), [
      'with 2 repetitions no test can decide E3, whatever comes: it takes 8',
      'with 2 repetitions no test can decide E4, whatever comes: it takes 8'
    ])
    const hot = loadDefinition('read-hot', 'quick', { repetitions: 7 })
    assert.deepEqual([leastRepetitions(hot, inStudy), isDecidable(hot, inStudy)], [8, false])
    assert.deepEqual([leastRepetitions(hot, alone), isDecidable(hot, alone)], [6, true])
    assert.equal(isDecidable({ ...hot, thresholds: { alpha: 0.1 } }, inStudy), true)
    assert.equal(leastRepetitions(loadDefinition('read-sparse', 'quick'), inStudy), 6)
    assert.deepEqual(
      ['at-once', 'policy', 'read-sparse'].map((name) => isDecidable(loadDefinition(name, 'quick'), inStudy)),
      [null, null, true]
    )
  })
})
