import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { tryLimits } from '../src/profile/limits.js'
import { readProfile } from '../src/profile/profile.js'
import { waitUntil } from '@stevec/harness/processes'
import { readState } from '../src/stack/state.js'
import { createSandbox } from './helper.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-cgroup-'))
after(() => rmSync(directory, { recursive: true }))

const ORIGIN = readProfile('banana-pi').profile.origin
const { applied, missing } = tryLimits(ORIGIN, true)
const skip = applied.cpu && applied.memory ? false : `cgroups cannot be created here: ${missing.join('; ')}`

/** @param {string} groupDirectory */
const pidsIn = (groupDirectory) =>
  readFileSync(path.join(groupDirectory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)

describe('limits that cannot be applied', () => {
  test('are reported in sentences and cause no error', () => {
    const reason = '/sys/fs/cgroup is mounted read-only'
    assert.deepEqual(tryLimits(ORIGIN, true, { cpu: { reason }, memory: { reason } }), {
      applied: { cpu: false, memory: false },
      missing: [`the origin has all of this machine's CPU: ${reason}`, `the origin's memory is not limited: ${reason}`]
    })
  })

  test('are reported as missing if the folder is on no cgroup filesystem', () => {
    const plain = /** @type {const} */ ({ version: 1, directory })
    const { applied, missing } = tryLimits(ORIGIN, true, { cpu: plain, memory: plain })
    assert.deepEqual(applied, { cpu: false, memory: false })
    assert.match(missing[0], /refuses a new cgroup \(it is not a cgroup filesystem\)/)
  })

  test('are each reported to a user who may not create cgroups', {
    skip: process.getuid?.() === 0 ? false : 'only root can become another user'
  }, () => {
    const script = `import { tryLimits } from ${JSON.stringify(path.join(ROOT, 'loadgen/src/profile/limits.js'))}
      console.log(JSON.stringify(tryLimits(${JSON.stringify(ORIGIN)}, true)))`
    const { stdout, stderr } = spawnSync('setpriv', [
      '--reuid=65534', '--regid=65534', '--clear-groups',
      process.execPath, '--input-type=module', '--eval', script
    ], { encoding: 'utf8', cwd: '/' })
    assert.equal(stderr, '')
    const { applied, missing } = JSON.parse(stdout)
    assert.deepEqual(applied, { cpu: false, memory: false })
    assert.equal(missing.length, 2)
  })

  test('are reported as missing for the user\'s own database (MONGODB_URI)', { skip }, () => {
    assert.match(tryLimits(ORIGIN, false).missing.join(), /MONGODB_URI/)
  })
})

describe('a stack with a profile', { skip }, () => {
  test('starts its origin in cgroups, and no other process; `down` removes the cgroups of a killed stack', async () => {
    const sandbox = await createSandbox()
    const lab = path.join(sandbox.env.STEVEC_STATE, 'lab')
    const script = `import { startStack } from ${JSON.stringify(path.join(ROOT, 'loadgen/src/stack/stack.js'))}
      import { loadProfile } from ${JSON.stringify(path.join(ROOT, 'loadgen/src/profile/profile.js'))}
      const profile = loadProfile('banana-pi', { stateDirectory: ${JSON.stringify(sandbox.env.STEVEC_STATE)} })
      await startStack({ directory: ${JSON.stringify(lab)}, ports: ${JSON.stringify(sandbox.ports)}, profile })
      console.log('up')
      setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: sandbox.env
    })
    await once(parent.stdout, 'data')

    const state = /** @type {NonNullable<ReturnType<typeof readState>>} */ (readState(lab))
    const { cgroups, processes } = state
    const origin = processes
      .filter(({ name }) => ['mongod', 'wiki', 'nginx origin'].includes(name))
      .map(({ pid }) => pid)
    const others = processes.filter(({ pid }) => !origin.includes(pid)).map(({ pid }) => pid)
    assert.deepEqual([origin.length, others.length], [3, 3])
    for (const each of cgroups) {
      assert.ok(origin.every((pid) => pidsIn(each).includes(pid)))
      assert.ok(!others.some((pid) => pidsIn(each).includes(pid)))
    }

    parent.kill('SIGKILL')
    await once(parent, 'exit')
    assert.ok(await waitUntil(() => sandbox.processes().length === 0, 60_000), JSON.stringify(sandbox.processes()))
    assert.ok(cgroups.length > 0 && cgroups.every(existsSync))
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    assert.deepEqual(cgroups.filter(existsSync), [])
    assert.equal(readState(lab), null)
    sandbox.remove()
  })
})
