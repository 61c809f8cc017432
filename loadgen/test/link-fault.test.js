import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createSandbox, samplesOf, trialsOf } from './helper.js'

const FOR_S = 7
const BOUND_MS = 500
/** A busy machine stamps samples late, so reads seem to be sent later than they were. A fault lasts for longer. */
const STAMP_MAX_MS = 1_000
const fault = (/** @type {string} */ kind) => ({ fault: { kind, from_s: 1, for_s: FOR_S } })

describe('a run in which links of the edge are cut', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {any[]} */
  let trials
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      settings: {
        ...{ door: 'cached', edit_door: 'source', edit_ratio: 0.2, pages: 4, page_size_chars: 500 },
        ...{ model: 'open', rate_per_s: 50, vus: 200, requests: 1000, bound: 'either', duration_max_s: 10 },
        ...{ connection_reuse: true, timeout_s: 4, staleness_bound_ms: BOUND_MS }
      },
      factors: {
        cell: {
          lost: { policy: 'purge-tag', ...fault('purges-lost') },
          parted: { policy: 'purge-tag', ...fault('edge-parted') },
          bounded: { policy: 'bounded', ...fault('edge-parted') }
        }
      },
      presets: { quick: { repetitions: 1 } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
    assert.equal(exitCode, 0, stdout + stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => sandbox.remove())

  const trialOf = (/** @type {string} */ cell) => trials.find((trial) => trial.cell.cell === cell)

  /** Reads that began and ended while the link was cut. @param {any} trial */
  const readsDuring = ({ name, fault: { cut_at_us: from, mending_began_at_us: until } }) =>
    samplesOf(path.join(directory, 'trials', name))
      .filter(({ method, sentAtUs, doneAtUs }) => method === 'GET' && sentAtUs > from && doneAtUs < until)

  /**
   * The longest time for which a newer text was acknowledged when a read was sent that got an older one.
   * @param {any} trial
   */
  function oldestReadMs (trial) {
    const samples = samplesOf(path.join(directory, 'trials', trial.name))
      .filter(({ status }) => status < 400 && status > 0)
    const edits = samples.filter(({ method }) => method === 'POST')
    return Math.max(0, ...samples.filter(({ method }) => method === 'GET').flatMap((read) => edits
      .filter(({ page, revision }) => page === read.page && revision > read.revision)
      .map(({ doneAtUs }) => (read.sentAtUs - doneAtUs) / 1000)))
  }

  test('has valid trials, in which no edit failed and each edit is at the origin alone', () => {
    for (const trial of trials) {
      assert.ok(trial.valid, trial.invalid_reasons.join())
      assert.equal(trial.log_lines.edge, trial.reads_sent)
      assert.equal(trial.counter.writes, trial.writes_sent)
      assert.ok(trial.writes_sent > 40)
      // A machine without a processor for seconds may leave one without an answer in time.
      const { 0: unanswered = 0, ...answered } = trial.statuses.POST
      assert.deepEqual(Object.keys(answered), ['200'])
      assert.ok(unanswered <= trial.writes_sent / 50, `${unanswered} of ${trial.writes_sent} edits have no answer`)
    }
  })

  test('has old reads while purges are lost, and none that fails', () => {
    const trial = trialOf('lost')
    assert.equal(trial.requests_failed, 0)
    assert.equal(trial.fault.cut_off, 0)
    assert.ok(oldestReadMs(trial) > BOUND_MS + STAMP_MAX_MS, `${oldestReadMs(trial)} ms`)
  })

  test('has old hits under purge-tag while the edge is parted', () => {
    const trial = trialOf('parted')
    const reads = readsDuring(trial)
    assert.ok(reads.length > 0 && reads.every(({ status, cacheStatus }) => status !== 200 || cacheStatus === 'HIT'))
    assert.ok(oldestReadMs(trial) > BOUND_MS + STAMP_MAX_MS, `${oldestReadMs(trial)} ms`)
  })

  test('has no read beyond the bound under bounded, but reads that fail', () => {
    const trial = trialOf('bounded')
    const reads = readsDuring(trial)
    assert.ok(oldestReadMs(trial) <= BOUND_MS + STAMP_MAX_MS, `${oldestReadMs(trial)} ms`)
    assert.ok(trial.requests_failed > 0 && trial.fault.cut_off > 0)
    const leaseEndUs = trial.fault.cut_at_us + 1000 * (BOUND_MS + STAMP_MAX_MS)
    const late = reads.filter(({ sentAtUs }) => sentAtUs > leaseEndUs)
    assert.ok(late.length > 0 && late.every(({ status }) => status !== 200), 'the lease has ended')
  })

  test('leaves no process', () => assert.deepEqual(sandbox.processes(), []))
})
