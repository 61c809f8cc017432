import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newPageName, pageName, requestAt } from '../scenarios/plan.js'
import { childrenCpuSeconds, cpuSeconds, createChildCpu } from '../src/lab/child-cpu.js'
import { listenForBegin } from '../src/lab/common-begin.js'
import { planRun } from '../src/lab/matrix.js'
import { segmentOptions } from '../src/lab/segments.js'
import { generatorsOf } from '../src/machine/generators.js'
import { doKnownRun } from '../src/verify/known-run.js'
import { waitUntil } from '@stevec/harness/processes'
import { json, samplesOf, trialsOf } from './helper.js'

/** A server that answers at once, and counts. */
const BEHAVIOUR = { answer: () => ({ hit: false, revision: 1 }) }

/** @type {string} */
let directory
before(() => { directory = mkdtempSync(path.join(tmpdir(), 'stevec-generators-')) })
after(() => rmSync(directory, { recursive: true, force: true }))

/**
 * Runs trials with several numbers of generators against a known server.
 * @param {string} name
 * @param {Partial<import('../src/lab/settings.js').Settings>} settings
 * @param {number[]} levels
 * @returns {Promise<{plans: object[], plan: import('../scenarios/plan.js').Plan,
 *   trials: (Record<string, any> & {samples: ReturnType<typeof samplesOf>})[]}>}
 */
async function trialsWith (name, settings, levels) {
  const run = await doKnownRun({
    name,
    settings: { pages: 20, connection_reuse: true, ...settings },
    factors: { generators: levels },
    behaviour: BEHAVIOUR
  }, { directory, signal: new AbortController().signal })
  const { plans, experiment, seed } = json(path.join(run, 'manifest.json'))
  const trials = trialsOf(run).sort((a, b) => a.settings.generators - b.settings.generators)
  return {
    plans,
    plan: planRun(experiment, seed).plans[0].plan,
    trials: trials.map((trial) => ({ ...trial, samples: samplesOf(path.join(run, 'trials', trial.name)) }))
  }
}

/**
 * Asserts that the generators together have sent each iteration of the plan once, and that every count agrees.
 * @param {Awaited<ReturnType<typeof trialsWith>>} found
 * @param {(index: number) => string[]} expected  the requests of an iteration, as `method page`
 */
function assertWholePlan ({ plans, trials }, expected) {
  assert.equal(plans.length, 1, 'one plan, whatever the number of generators')
  for (const { settings, samples, valid, invalid_reasons: reasons, ...trial } of trials) {
    const what = `${settings.generators} generators`
    assert.deepEqual([valid, reasons], [true, []], what)
    const sent = samples
      .sort((a, b) => Number(a.iteration) - Number(b.iteration) || a.sentAtUs - b.sentAtUs)
      .map(({ iteration, method, page }) => `${iteration} ${method} ${page}`)
    const planned = Array.from(
      { length: settings.requests }, (_, index) => expected(index).map((one) => `${index} ${one}`))
    assert.deepEqual(sent, planned.flat(), what)
    assert.equal(trial.counter.requests, trial.requests_sent, what)
    assert.equal(trial.generators.length, settings.generators)
    assert.ok(trial.generators.every((/** @type {any} */ { exit_code: code }) => code === 0), what)
  }
}

/**
 * @param {string} argument  a part of the command line
 * @returns {number} the process of the trials here that has it
 */
function processWith (argument) {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map(Number)
  const found = pids.find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(argument)
    } catch {
      return false
    }
  })
  return found ?? assert.fail(`no process with ${argument}`)
}

describe('the limit of a trial with several generators', () => {
  /** @param {Record<string, number>} used  cores, by name */
  const intervalWith = (used) => /** @type {import('../src/machine/usage.js').Interval[]} */ (/** @type {unknown} */ ([{
    duration_s: 2,
    processes: new Map(Object.entries(used).map(([name, cores]) => [name, { part: 'generator', cpu_cores: cores }]))
  }]))
  const saturated = (/** @type {Record<string, number>} */ used, /** @type {any[]} */ remote = []) =>
    generatorsOf(intervalWith(used), remote, { cores: 4, busyCores: 3, limit: 0.7 })
      .filter((each) => each.saturated).map(({ name }) => name)

  test('names those that used the cores of this machine, if all of them used too much', () => {
    assert.deepEqual(saturated({ k6: 0.9, 'k6 2': 0.9, 'k6 3': 0.9 }), [])
    assert.deepEqual(saturated({ k6: 1, 'k6 2': 1, 'k6 3': 1 }), ['k6', 'k6 2', 'k6 3'])
    assert.deepEqual(saturated({ k6: 0.1, 'k6 2': 2, 'k6 background': 1 }), ['k6 2', 'k6 background'])
  })

  test('names a remote one with a busy machine, and none without a reading', () => {
    const remote = [
      { name: 'k6 2', host: 'b', busyRatio: 0.75 }, { name: 'k6 3', host: 'c', busyRatio: 0.6 },
      { name: 'k6 4', host: 'd', busyRatio: null }
    ]
    assert.deepEqual(saturated({ k6: 0.5 }, remote), ['k6 2'])
    assert.equal(generatorsOf(intervalWith({}), remote, { cores: 4, busyCores: 3, limit: 0.7 })[2].saturated, null)
  })
})

describe('several generators', { concurrency: 1 }, () => {
  test('send each iteration of one plan once, in the closed model', async () => {
    const found = await trialsWith('closed', { requests: 210, vus: 10, edit_ratio: 0.2 }, [1, 3, 8])
    const { plan } = found
    assertWholePlan(found, (index) => {
      const { page, edit } = requestAt(plan, index)
      return [`${edit ? 'POST' : 'GET'} ${pageName(page)}`]
    })
  })

  test('send it with fewer clients than generators: some have nothing to do', async () => {
    const found = await trialsWith('few', { requests: 30, vus: 2 }, [4])
    const { plan } = found
    assertWholePlan(found, (index) => [`GET ${pageName(requestAt(plan, index).page)}`])
  })

  test('send it at the planned times of one common begin, in the open model', async () => {
    const rate = 100
    const found = await trialsWith('open', { requests: 150, vus: 20, model: 'open', rate_per_s: rate }, [4])
    const { plan } = found
    assertWholePlan(found, (index) => [`GET ${pageName(requestAt(plan, index).page)}`])
    const [{ samples, schedule }] = found.trials
    assert.equal(schedule.never_sent, 0)
    const begins = samples.map(({ plannedAtUs, iteration }) => plannedAtUs - Number(iteration) * 1e6 / rate)
    assert.ok(Math.max(...begins) - Math.min(...begins) <= 2, 'all planned times are of one begin')
    for (const { sentAtUs, plannedAtUs } of samples) assert.ok(sentAtUs > plannedAtUs - 5_000, 'nothing is sent early')
  })

  test('divide clients in groups, each of which begins at its time', async () => {
    const [groupVus, everyS] = [5, 5]
    const groups = { vus: groupVus, every_s: everyS }
    const settings = { requests: 60, vus: 10, groups, edit: /** @type {const} */ ('create-get'), edit_ratio: 1 }
    const found = await trialsWith('groups', settings, [1, 4])
    for (const trial of found.trials) {
      assertWholePlan({ ...found, trials: [trial] }, (index) => {
        const page = newPageName(`t${trial.trial}`, index)
        return [`POST ${page}`, `GET ${page}`]
      })
      const begin = Math.min(...trial.samples.map(({ sentAtUs }) => sentAtUs))
      for (const { iteration, sentAtUs } of trial.samples) {
        const group = Math.floor(Number(iteration) % 10 / groupVus)
        assert.ok(sentAtUs - begin >= (group - 0.5) * everyS * 1e6, `iteration ${iteration} is of group ${group}`)
      }
    }
  })

  test('leave the background to a k6 of its own', async () => {
    const found = await trialsWith('background', { requests: 40, vus: 4, background_vus: 3 }, [2])
    const [trial] = found.trials
    assert.deepEqual([trial.valid, trial.invalid_reasons], [true, []])
    assert.equal(trial.overlap.proved, true)
    assert.equal(trial.counter.requests, trial.requests_sent + trial.background.requests_sent)
    assert.deepEqual(trial.generators.map((/** @type {any} */ { name }) => name), ['k6', 'k6 2'])
  })

  test('make a trial invalid, and name themselves, if one of them is killed', async () => {
    let requests = 0
    const run = await doKnownRun({
      name: 'killed',
      settings: { pages: 5, requests: 120, vus: 6, pause_s: 0.2 },
      factors: { generators: [3] },
      behaviour: {
        answer () {
          requests += 1
          const second = `${directory}/killed/run/trials/0001.partial/k6-2-raw`
          if (requests === 20) process.kill(processWith(second), 'SIGKILL')
          return { hit: false, revision: 1 }
        }
      }
    }, { directory, signal: new AbortController().signal })
    const [trial] = trialsOf(run)
    assert.equal(trial.valid, false)
    assert.match(trial.invalid_reasons.join('; '), /k6 2 ended with a signal/)
    assert.match(trial.invalid_reasons.join('; '), /samples cannot be read/)
    assert.deepEqual(trial.generators.map((/** @type {any} */ { exit_code: code }) => code), [0, null, 0])
  })
})

test('a generator that ends before all are ready ends the others, which have sent nothing', async () => {
  const begin = await listenForBegin(3)
  const first = fetch(begin.urlOf(0))
  const second = fetch(begin.urlOf(1))
  await waitUntil(() => begin.waiting() === 2, 10_000)
  begin.fail()
  assert.deepEqual([(await first).status, (await second).status, (await fetch(begin.urlOf(2))).status], [503, 503, 503])
  begin.close()
})

test('all generators get one begin, each by its own clock', async () => {
  const begin = await listenForBegin(2)
  begin.setAhead(1, 5_000_000)
  const begins = await Promise.all([0, 1].map((index) => fetch(begin.urlOf(index)).then((response) => response.text())))
  const [first, second] = begins.map(Number)
  assert.equal(second - first, 5_000_000)
  assert.ok(first > Date.now() * 1000, 'it is yet to come')
  begin.close()
})

test('segments divide the whole, and one process has all of it', () => {
  assert.deepEqual(segmentOptions(0, 1), [])
  assert.deepEqual(
    [0, 1, 2].map((index) => segmentOptions(index, 3).join(' ')),
    ['0:1/3', '1/3:2/3', '2/3:1'].map((part) => `--execution-segment ${part} --execution-segment-sequence 0,1/3,2/3,1`)
  )
})

test('CPU time of children that end at one moment adds up, and goes to those that used it', async () => {
  const childCpu = createChildCpu()
  const before = childrenCpuSeconds()
  const spin = (/** @type {number} */ ms) => spawn(process.execPath, ['-e', `
    const usedMs = ({ user, system } = process.cpuUsage()) => (user + system) / 1000
    while (usedMs() < ${ms});
    setInterval(() => {}, 1000)`], { stdio: 'ignore' })
  const children = [spin(300), spin(1200)]
  const pids = children.map(({ pid }) => Number(pid))
  for (const pid of pids) childCpu.watch(pid)
  // The kernel counts in ticks, so its sum may stay a little below.
  await waitUntil(() => cpuSeconds(pids[0]) >= 0.25 && cpuSeconds(pids[1]) >= 1.1, 60_000)
  const ends = children.map((child) => once(child, 'exit'))
  for (const child of children) child.kill('SIGKILL')
  // Both have ended, and are waited for, before the first question.
  await Promise.all(ends)
  const [little, much] = pids.map(childCpu.of)
  assert.ok(Math.abs(little + much - (childrenCpuSeconds() - before)) < 0.011, `${little} + ${much}`)
  assert.ok(little > 0 && little < much / 2, `${little} and ${much}`)
})
