import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import {
  createGroup, dropGroup, findParentGroups, parentGroupsFrom, quotaFor, removeGroups, setCpuShare, setMemoryLimit
} from '../src/cgroup.js'
import { createLimits } from '../src/limits.js'
import { startProcess, stopProcess, waitUntil } from '../src/processes.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-cgroup-'))
after(() => rmSync(directory, { recursive: true }))

const { directories, missing } = createLimits({ cpu_share: 0.1, memory_bytes: 1024 ** 3 }, () => {})
dropGroup(directories)
const skip = Object.keys(missing).length === 0
  ? false
  : `cgroups cannot be created here: ${Object.values(missing).join('; ')}`

/** @param {string} groupDirectory */
const pidsIn = (groupDirectory) => readFileSync(path.join(groupDirectory, 'cgroup.procs'), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(Number)

describe('the parent cgroup for new cgroups', () => {
  const cases = /** @type {[string, string, string, Record<string, string>, unknown][]} */ ([
    [
      'in v1 is this process\'s own cgroup, for each controller',
      '33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n' +
      '34 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n' +
      '35 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      '4:memory:/user.slice/one\n2:cpu,cpuacct:/user.slice\n0::/user.slice/scope',
      {},
      {
        cpu: { version: 1, directory: '/sys/fs/cgroup/cpu,cpuacct/user.slice' },
        memory: { version: 1, directory: '/sys/fs/cgroup/memory/user.slice/one' }
      }
    ],
    [
      'in v1 in a container is the mount point of the container\'s cgroup',
      '33 31 0:29 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n' +
      '34 31 0:30 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
      '4:memory:/docker/ab\n2:cpu:/',
      {},
      {
        cpu: { version: 1, directory: '/sys/fs/cgroup/cpu' },
        memory: { version: 1, directory: '/sys/fs/cgroup/memory' }
      }
    ],
    [
      'in v2 is the nearest ancestor that delegates the controller',
      '30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate',
      '0::/user.slice/user-0.slice/session-1.scope',
      { '/sys/fs/cgroup': 'cpu memory pids', '/sys/fs/cgroup/user.slice': 'memory pids' },
      {
        cpu: { version: 2, directory: '/sys/fs/cgroup' },
        memory: { version: 2, directory: '/sys/fs/cgroup/user.slice' }
      }
    ],
    [
      'in v2 is missing if no ancestor delegates the controller',
      '30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
      '0::/',
      {},
      {
        cpu: {
          reason: 'no cgroup above this process delegates the controller cpu to new ones (cgroup.subtree_control)'
        },
        memory: {
          reason: 'no cgroup above this process delegates the controller memory to new ones (cgroup.subtree_control)'
        }
      }
    ],
    [
      'is missing if the mount is read-only',
      '30 24 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw',
      '0::/',
      { '/sys/fs/cgroup': 'cpu memory' },
      {
        cpu: { reason: '/sys/fs/cgroup is mounted read-only' },
        memory: { reason: '/sys/fs/cgroup is mounted read-only' }
      }
    ],
    [
      'is missing if no cgroup filesystem is mounted',
      '22 1 254:0 / / rw - ext4 /dev/root rw',
      '0::/',
      {},
      {
        cpu: { reason: 'no cgroup filesystem with the controller cpu is mounted' },
        memory: { reason: 'no cgroup filesystem with the controller memory is mounted' }
      }
    ]
  ])
  for (const [what, mountinfo, membership, handedDown, expected] of cases) {
    test(what, () => assert.deepEqual(parentGroupsFrom(mountinfo, membership, (group) => handedDown[group] ?? ''), expected))
  }
})

test('quotaFor returns the shortest period that the kernel accepts for a share', () => {
  assert.deepEqual(quotaFor(0.04), { quota_us: 1_000, period_us: 25_000 })
  assert.deepEqual(quotaFor(2), { quota_us: 2_000, period_us: 1_000 })
  assert.deepEqual(quotaFor(0.001), { quota_us: 1_000, period_us: 1_000_000 })
  assert.throws(() => quotaFor(0.0005), /less than the smallest share that the kernel can enforce/)
})

describe('a new cgroup', { skip }, () => {
  const group = () => createGroup(['cpu', 'memory'], () => {})

  test('is announced before it is created, and removed after its last process has ended', async () => {
    /** @type {string[]} */
    let planned = []
    const { directories } = createGroup(['cpu', 'memory'], (all) => {
      planned = all
      assert.deepEqual(all.filter(existsSync), [])
    })
    assert.deepEqual(directories, planned)
    const sleeper = await startProcess({
      name: 'sleeper',
      command: 'sleep',
      args: ['300'],
      logFile: path.join(directory, 'log'),
      cgroups: directories
    })
    await waitUntil(() => directories.every((each) => pidsIn(each).includes(sleeper.pid)), 60_000)
    for (const each of directories) assert.deepEqual(pidsIn(each), [sleeper.pid])
    await stopProcess(sleeper)
    assert.deepEqual(await removeGroups(directories), [])
    assert.deepEqual(directories.filter(existsSync), [])
  })

  test('limits a busy process to its share of a core', async () => {
    const made = group()
    setCpuShare(made, 0.1)
    const logFile = path.join(directory, 'busy')
    const script = 'const began = process.hrtime.bigint(), before = process.cpuUsage(); ' +
      'while (process.hrtime.bigint() - began < 1_500_000_000n); ' +
      'const used = process.cpuUsage(before); console.log((used.user + used.system) / 1.5e6)'
    const busy = await startProcess({
      name: 'busy',
      command: process.execPath,
      args: ['--eval', script],
      logFile,
      cgroups: made.directories
    })
    await busy.exited
    const share = Number(readFileSync(logFile, 'utf8'))
    assert.ok(share > 0 && share < 0.2, `${share} of a core`)
    const stat = readFileSync(path.join(String(made.controllers.cpu?.directory), 'cpu.stat'), 'utf8')
    assert.ok(Number(/nr_throttled (\d+)/.exec(stat)?.[1]) > 0, stat)
    await removeGroups(made.directories)
  })

  test('has the requested memory limit, and a CPU limit that can be removed', async () => {
    const made = group()
    setMemoryLimit(made, 1024 ** 3)
    setCpuShare(made, 0.1)
    setCpuShare(made, null)
    const value = (/** @type {'cpu' | 'memory'} */ controller, /** @type {Record<1 | 2, string>} */ names) => {
      const found = /** @type {NonNullable<typeof made.controllers.cpu>} */ (made.controllers[controller])
      return readFileSync(path.join(found.directory, names[found.version]), 'utf8').trim()
    }
    assert.equal(value('memory', { 1: 'memory.limit_in_bytes', 2: 'memory.max' }), String(1024 ** 3))
    assert.match(value('cpu', { 1: 'cpu.cfs_quota_us', 2: 'cpu.max' }), /^(-1|max \d+)$/)
    await removeGroups(made.directories)
  })

  test('that createGroup did not create is not removed by removeGroups', async () => {
    const parent = findParentGroups().cpu
    assert.ok('directory' in parent)
    const others = path.join(parent.directory, `others-${process.pid}`)
    mkdirSync(others)
    assert.deepEqual(await removeGroups([others]), [])
    assert.ok(existsSync(others))
    rmdirSync(others)
  })
})
