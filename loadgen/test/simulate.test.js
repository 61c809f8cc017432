import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineOf } from '../src/simulate/events.js'
import { MUTANTS } from '../src/simulate/mutants.js'
import { simulate } from '../src/simulate/simulate.js'
import { createSandbox } from './helper.js'

const SEED = 11
/** With which pages stay outdated, see below. */
const OUTDATED_SEED = 7

/** @param {Partial<import('../src/simulate/simulate.js').Plan>} plan */
async function traced (plan) {
  /** @type {string[]} */
  const lines = []
  const simulated = await simulate({ seed: SEED, reads: 500, ...plan, trace: (event) => lines.push(lineOf(event)) })
  return { lines, simulated }
}

test('a seed gives the same history each time, in another process, too; another seed gives another one', async (t) => {
  const [first, again, other] = [await traced({}), await traced({}), await traced({ seed: SEED + 1 })]
  assert.ok(first.lines.some((line) => line.includes('fault: ')) && first.lines.some((line) => line.includes('saved p')))
  assert.deepEqual(again, first)
  assert.notDeepEqual(other.lines, first.lines)
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const args = ['simulate', '--seed', String(SEED), '--reads', '500', '--trace']
  const { exitCode, stdout, stderr } = await sandbox.stevec(args)
  assert.equal(exitCode, 0)
  assert.deepEqual(stdout.split('\n').slice(0, first.lines.length), first.lines)
  assert.match(stdout, /500 reads, none older than 500 ms: at most 6\.0e-3 of such reads are/)
  assert.match(stderr, /^\d+ reads a second of processor time: [\d.]+ s, [\d.]+ s of them in the edges' Lua$/m)
})

test('without faults, edges answer nearly all reads, none older than a few message times', async () => {
  const { hits, reads, staleness_max_ms: oldestMs, refused, lost } = await simulate({
    seed: SEED, reads: 3_000, withFaults: false
  })
  assert.ok(hits > 0.6 * reads, `${hits} HITs`)
  assert.ok(oldestMs < 50, `${oldestMs} ms of virtual time`)
  assert.deepEqual([refused, lost], [0, 0])
})

for (const boundMs of [200, 500, 2_000]) {
  test(`under all faults no read is older than a bound of ${boundMs} ms`, async () => {
    for (const seed of [SEED, SEED + 1]) {
      const { violations, stale, hits } = await simulate({ seed, reads: 3_000, boundMs })
      assert.deepEqual(violations, [])
      assert.ok(stale > 10 && hits > 300, 'and some are older than the newest text')
    }
  })
}

test('under purge-url, reads are older than that: the command says after how many, and how to see it', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const { exitCode, stdout } = await sandbox.stevec(['simulate', '--policy', 'purge-url', '--reads', '1500'])
  assert.equal(exitCode, 1)
  const found = /^seed 1: found after (\d+) reads: (p\d) revision (\d+), .* see it with\n {2}stevec (.*)$/m.exec(stdout)
  assert.ok(found, stdout)
  const [, count, page, revision, replay] = found
  const replayed = await sandbox.stevec(replay.split(' '))
  assert.equal(replayed.exitCode, 1)
  const reads = replayed.stdout.split('\n').filter((line) => line.includes(' reader '))
  assert.equal(reads.length, Number(count))
  assert.match(/** @type {string} */ (reads.at(-1)), new RegExp(`: ${page} revision ${revision}, HIT`))
})

test('under purge-url without faults, none is', async () => {
  const { violations, stale, hits } = await simulate({ seed: SEED, reads: 2_000, policy: 'purge-url', withFaults: false })
  assert.deepEqual(violations, [])
  assert.ok(stale > 0 && hits > 1_000)
})

test('a page stays outdated if its purges are repeated sooner than a wiki finds the new primary', async () => {
  const left = async (/** @type {number} */ repeatAfterMs) =>
    (await simulate({ seed: OUTDATED_SEED, reads: 500, policy: 'purge-url', repeatAfterMs })).outdated
  assert.ok((await left(1_000)).length > 0)
  assert.deepEqual(await left(10_000), [])
})

for (const name of [
  'a lease never ends', 'a lost log makes nothing stale', 'a gap in the log is accepted',
  'a server with a shorter log may be elected'
]) {
  test(`a planted fault is found: ${name}`, async () => {
    const mutation = MUTANTS.find((mutant) => mutant.name === name)
    assert.ok(mutation)
    const { violations } = await simulate({ seed: 1, reads: 5_000, mutations: [mutation] })
    assert.ok(violations.length > 0)
  })
}

test('a planted fault that fits no line is an error, not a fault that is not found', async () => {
  for (const [where, file] of /** @type {const} */ ([
    ['edge', 'decide.lua'], ['wiki', 'purge-log/watch.js'], ['database', 'replica-set.js']
  ])) {
    const mutation = { name: 'none', where, file, from: 'no such line', to: '' }
    await assert.rejects(simulate({ seed: 1, reads: 10, mutations: [mutation] }), /does not fit/)
  }
})

test('wrong options are refused', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  for (const args of [['--seed', '-1'], ['--reads', '0'], ['--bound', '99'], ['--policy', 'ttl'], ['more']]) {
    assert.equal((await sandbox.stevec(['simulate', ...args])).exitCode, 2, args.join(' '))
  }
})
