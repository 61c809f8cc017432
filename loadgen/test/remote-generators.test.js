import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { pageName, requestAt } from '../scenarios/plan.js'
import { loadDefinition } from '../src/lab/definition.js'
import { planRun } from '../src/lab/matrix.js'
import { clockFacts, compareClocks, skewBoundUs } from '../src/remote/clock.js'
import { machineTime } from '../src/remote/machine-time.js'
import { openRemoteGenerators } from '../src/remote/remote-generators.js'
import { parseTargets } from '../src/remote/targets.js'
import { doKnownRun } from '../src/verify/known-run.js'
import { json, samplesOf, trialsOf } from './helper.js'
import { configOf, sshdMissing, startSshd } from './sshd.js'

/** By so much the clock of the second machine is ahead, as it says. */
const AHEAD_S = 2

/** @type {string} */
let directory
/** @type {string | undefined} */
let usualTmp
before(() => {
  usualTmp = process.env.TMPDIR
  directory = mkdtempSync(path.join(tmpdir(), 'stevec-remote-'))
  process.env.TMPDIR = path.join(directory, 'here')
  mkdirSync(process.env.TMPDIR)
})
after(() => {
  if (usualTmp === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = usualTmp
  rmSync(directory, { recursive: true, force: true })
})

/** @typedef {Awaited<ReturnType<typeof startSshd>>} Machine */

/** @param {Machine[]} machines @param {string} [configFile]  default: knows all of them */
const open = (machines, configFile = configOf(path.join(directory, 'ssh_config'), machines)) => openRemoteGenerators(
  parseTargets(machines.map(({ url }) => url).join()),
  { configFile, signal: new AbortController().signal, onProgress () {} }
)

/**
 * @param {Machine[]} machines
 * @param {Omit<Parameters<typeof doKnownRun>[0], 'remote'>} known
 */
async function runOn (machines, known) {
  const remote = await open(machines)
  try {
    const settings = { ...known.settings, generators: machines.length }
    return await doKnownRun({ ...known, settings, remote }, { directory, signal: new AbortController().signal })
  } finally {
    await remote.close()
  }
}

/** @param {Machine[]} machines */
async function assertNothingLeft (machines) {
  for (const { there, left } of machines) {
    assert.ok(await waitUntil(() => left().length === 0 && readdirSync(there).length === 0, 30_000),
      `${left()} and ${readdirSync(there)} are left there`)
  }
  assert.deepEqual(readdirSync(path.join(directory, 'here')), [], 'nothing is left here')
}

describe('generators on other machines', { skip: sshdMissing(), concurrency: 1 }, () => {
  /** @type {Machine} */
  let right
  /** @type {Machine} */
  let ahead
  before(async () => {
    right = await startSshd(path.join(directory, 'right'))
    ahead = await startSshd(path.join(directory, 'ahead'), {
      programs: { date: `echo $(($(/bin/date +%s%N) + ${AHEAD_S}000000000))` }
    })
  })
  after(async () => { for (const machine of [right, ahead]) await machine?.stop() })

  test('share one plan by one begin, although a clock is wrong', async () => {
    // So long that the machine is read several times meanwhile, also a slow one.
    const [rate, requests] = [50, 400]
    const run = await runOn([right, ahead], {
      name: 'shared',
      settings: { pages: 20, connection_reuse: true, requests, vus: 20, model: 'open', rate_per_s: rate },
      factors: { edit_ratio: [0.2] },
      behaviour: { answer: () => ({ hit: false, revision: 1 }) }
    })
    const manifest = json(path.join(run, 'manifest.json'))
    const here = planRun({ ...manifest.experiment, settings: { ...manifest.experiment.settings, generators: 1 } }, 1)
    assert.equal(manifest.plan_hash, here.hash, 'the plan is that of one generator on this machine')
    assert.deepEqual(manifest.remote_generators,
      [{ name: 'k6', host: '127.0.0.1' }, { name: 'k6 2', host: '127.0.0.1' }])

    const [trial] = trialsOf(run)
    assert.deepEqual([trial.valid, trial.invalid_reasons], [true, []])
    assert.equal(trial.counter.requests, trial.requests_sent)
    const samples = samplesOf(path.join(run, 'trials', trial.name))
      .sort((a, b) => Number(a.iteration) - Number(b.iteration))
    assert.deepEqual(
      samples.map(({ iteration, method, page }) => `${iteration} ${method} ${page}`),
      Array.from({ length: requests }, (_, index) => {
        const { edit, page } = requestAt(here.plans[0].plan, index)
        return `${index} ${edit ? 'POST' : 'GET'} ${pageName(page)}`
      })
    )

    const [first, second] = trial.generators
    for (const [found, aheadS] of [[first, 0], [second, AHEAD_S]]) {
      const { clock_ahead_ms: aheadMs, clock_bound_ms: boundMs } = found
      assert.ok(Math.abs(aheadMs - 1000 * aheadS) <= boundMs, `${aheadMs} ± ${boundMs}`)
    }
    const bound = first.clock_bound_ms + second.clock_bound_ms
    assert.ok(bound > 0 && Math.abs(trial.clock_skew_bound_ms - bound) < 0.002, String(trial.clock_skew_bound_ms))
    const begins = samples.map(({ plannedAtUs, iteration }) => plannedAtUs - Number(iteration) * 1e6 / rate)
    assert.ok(Math.max(...begins) - Math.min(...begins) <= 4, 'all planned times are of one begin')
    for (const { sentAtUs, plannedAtUs } of samples) {
      assert.ok(sentAtUs > plannedAtUs - 1000 * (bound + 5), 'nothing is sent early')
      assert.ok(sentAtUs < plannedAtUs + 1e6 * AHEAD_S / 2, 'nothing is late by the difference of the clocks')
    }

    for (const { host, machine_busy_ratio: busy } of trial.saturation.generators) {
      assert.ok(host === '127.0.0.1' && busy > 0 && busy <= 1, `${host} was busy: ${busy}`)
    }
    assert.ok(trial.saturation.parts.links.cpu_cores > 0, 'ssh carries the requests')
    const told = JSON.stringify([manifest, trial])
    assert.ok(!told.includes(`${userInfo().username}@`) && !told.includes(right.there), 'no user and no folder is told')
    await assertNothingLeft([right, ahead])
  })

  test('make a trial invalid when a connection is lost, and have another one in the next', async () => {
    let requests = 0
    const run = await runOn([right, right], {
      name: 'lost',
      settings: { pages: 5, requests: 80, vus: 4, pause_s: 0.1 },
      repetitions: 2,
      behaviour: {
        answer () {
          requests += 1
          if (requests === 20) process.kill(right.connection(), 'SIGKILL')
          return { hit: false, revision: 1 }
        }
      }
    })
    const [lost, next] = trialsOf(run)
    assert.equal(lost.valid, false)
    assert.match(lost.invalid_reasons.join('; '), /on 127\.0\.0\.1 ended .*the ssh connection to 127\.0\.0\.1 was lost/)
    assert.deepEqual([next.valid, next.invalid_reasons], [true, []])
    await assertNothingLeft([right])
  })

  test('are refused with the next step before anything starts', async () => {
    const config = readFileSync(right.config, 'utf8')
    const strict = `${config}StrictHostKeyChecking no\n`
    const { port } = new URL(right.url)
    const knownOther = path.join(directory, 'known-other')
    writeFileSync(knownOther, readFileSync(ahead.knownHosts, 'utf8').replace(/:\d+/, `:${port}`))
    const [closed] = await freePorts(1)
    const nextStep = /Connect by hand: then `ssh -o BatchMode=yes -o StrictHostKeyChecking=yes` to it must work/
    for (const [text, url, reason] of /** @type {[string, string, RegExp][]} */ ([
      [strict.replace(right.knownHosts, '/dev/null'), right.url, /127\.0\.0\.1: .*Host key verification failed\. Con/],
      [strict.replace(right.knownHosts, knownOther), right.url, /REMOTE HOST IDENTIFICATION HAS CHANGED/],
      [config.replace(/^IdentityFile .*$/m, 'IdentityFile none'), right.url, /127\.0\.0\.1: Permission denied/],
      [config, right.url.replace(port, String(closed)), /127\.0\.0\.1: .*Connection refused/]
    ])) {
      const configFile = path.join(directory, 'other_config')
      writeFileSync(configFile, text)
      await assert.rejects(open([{ ...right, url }], configFile), ({ message }) => {
        assert.match(message, reason)
        assert.match(message, nextStep)
        assert.ok(!message.includes(`${userInfo().username}@`), message)
        return true
      })
    }
    const { PATH } = process.env
    process.env.PATH = path.join(directory, 'here')
    await assert.rejects(open([right]), /install openssh-client/).finally(() => { process.env.PATH = PATH })
    await assertNothingLeft([right])
  })

  for (const [what, options, reason] of /** @type {[string, Parameters<typeof startSshd>[1], RegExp][]} */ ([
    ['of another kind', { programs: { uname: 'case $1 in -m) echo armv7l;; *) echo Linux; esac' } },
      /127\.0\.0\.1 is Linux on armv7l, and the k6 of this machine is for Linux on/],
    ['whose clock has seconds only', { programs: { date: 'echo 1700000000' } }, /Install GNU coreutils there/],
    ['without forwards', { settings: 'AllowTcpForwarding no' }, /Does its sshd_config say AllowTcpForwarding no\?/],
    ['on which nothing can be made', { programs: { mktemp: 'echo "No space left on device" >&2; exit 1' } },
      /127\.0\.0\.1: No space left on device/],
    ['that sends without end', { programs: { date: 'yes | tr -d "\\n"' } }, /connection to 127\.0\.0\.1 was lost/]
  ])) {
    test(`are not on a machine ${what}`, async () => {
      const machine = await startSshd(path.join(directory, what.replaceAll(' ', '-')), options)
      try {
        await assert.rejects(open([machine]), reason)
        await assertNothingLeft([machine])
      } finally {
        await machine.stop()
      }
    })
  }
})

test('addresses that ssh or a shell could misread are refused', () => {
  assert.deepEqual(parseTargets('ssh://a,ssh://user@b:2222, ssh://[fe80::1]'), [
    { user: null, host: 'a', port: null }, { user: 'user', host: 'b', port: 2222 },
    { user: null, host: 'fe80::1', port: null }
  ])
  for (const bad of [
    '', 'a', 'http://a', 'ssh://', 'ssh://-oProxyCommand=id', 'ssh://-l', 'ssh://-x@a', 'ssh://a;id', 'ssh://a$(id)',
    'ssh://a`id`', 'ssh://a%20b', 'ssh://a/b', 'ssh://a?b=c', 'ssh://a#b', 'ssh://u:secret@a', 'ssh://a:0',
    'ssh://a:70000', 'ssh://a b', 'ssh://a\nb', 'ssh://u%27@a', 'ssh://a,', Array(9).fill('ssh://a').join()
  ]) assert.throws(() => parseTargets(bad), /^Error: --generators/, bad)
})

test('machines for an experiment with generators as a factor are refused', () => {
  assert.throws(() => loadDefinition('generators', 'quick', { generators: 2 }),
    /--generators is for all trials, but the factor \w+ of this experiment sets generators/)
  assert.equal(loadDefinition('read-hot', 'quick', { generators: 2 }).settings.generators, 2)
})

test('a clock is compared by its fastest answer, and drift widens the bound', async () => {
  let reads = 0
  const found = await compareClocks(async () => {
    reads += 1
    const begin = performance.now()
    // Few answers are fast.
    while (performance.now() - begin < (reads % 3 === 0 ? 0 : 3));
    return (Date.now() + 1000) * 1000
  })
  assert.ok(found.boundUs < 1500, `${found.boundUs} is of a fast one`)
  assert.ok(Math.abs(found.aheadUs - 1e6) <= found.boundUs + 1000, `${found.aheadUs}`)

  const facts = clockFacts({ aheadUs: 1000, boundUs: 40 }, { aheadUs: 1300, boundUs: 70 })
  assert.deepEqual(facts, { planAheadUs: 1000, aheadUs: 1150, driftUs: 300, boundUs: 370 })
  const other = { ...facts, boundUs: 50 }
  assert.equal(skewBoundUs([other, facts, null, other]), 420, 'two clocks are wrong the opposite way')
  assert.equal(skewBoundUs([facts]), 370)
})

test('what a machine used is the difference of its readings', () => {
  const stat = (/** @type {number} */ busy) => `cpu  ${busy} 0 0 1000 0 0 0 10 0 0`
  assert.deepEqual(machineTime(`${stat(0)}\n${stat(100).replace('1000', '1300')}\n0m0.01s 0m0.02s\n1m2.50s 0m0.25s\n`),
    { cpuS: 62.75, busyRatio: 0.25, stolenShare: 0 })
  assert.deepEqual(machineTime('none\nnone\n0m0.00s 0m0.00s\n0m1.00s 0m0.00s\n'),
    { cpuS: 1, busyRatio: null, stolenShare: null })
  assert.deepEqual(machineTime('what is this'), { cpuS: 0, busyRatio: null, stolenShare: null })
})
