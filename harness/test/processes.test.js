import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, pauseProcess, startProcess, startTicks, stopProcess, waitUntil } from '../src/processes.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-processes-'))
after(() => rmSync(directory, { recursive: true }))
const logFile = path.join(directory, 'log')

const sleeper = (/** @type {Partial<Parameters<typeof startProcess>[0]>} */ options = {}) =>
  startProcess({ name: 'sleeper', command: 'sleep', args: ['300'], logFile, ...options })

describe('a started process', () => {
  test('is stopped by its pid and start time', async () => {
    const identity = await sleeper()
    assert.ok(isAlive(identity))
    await stopProcess(identity)
    assert.ok(!isAlive(identity))
  })

  test('is not stopped if the identity has its pid but another start time', async () => {
    const stranger = await sleeper()
    const stale = { ...stranger, start_ticks: stranger.start_ticks - 1 }
    await stopProcess(stale)
    assert.ok(isAlive(stranger))
    await stopProcess(stranger)
  })

  test('that ignores SIGTERM is killed', async () => {
    const stubborn = await startProcess({
      name: 'stubborn',
      command: 'bash',
      args: ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'],
      logFile
    })
    await waitUntil(() => readFileSync(logFile, 'utf8').includes('ready'), 60_000)
    await stopProcess(stubborn, 200)
    assert.ok(!isAlive(stubborn))
  })

  for (const [what, trap, timeoutMs] of /** @type {const} */ ([
    ['ends in order', 'exit', 60_000],
    ['ignores SIGTERM', '', 200]
  ])) {
    test(`that ${what} takes along grandchildren that ignore SIGTERM`, async () => {
      const pidFile = path.join(directory, `grandchild-${timeoutMs}`)
      const grandchild = `trap "" TERM; echo $BASHPID > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; ` +
        'while :; do sleep 0.1; done'
      const leader = await startProcess({
        name: 'leader',
        command: 'bash',
        args: ['-c', `trap "${trap}" TERM; (bash -c '${grandchild}' & wait) & while :; do sleep 0.1; done`],
        logFile
      })
      assert.ok(await waitUntil(() => existsSync(pidFile), 60_000))
      const pid = Number(readFileSync(pidFile, 'utf8'))
      const last = { name: 'grandchild', pid, start_ticks: /** @type {number} */ (startTicks(pid)) }
      assert.ok(isAlive(last))
      await stopProcess(leader, timeoutMs)
      assert.ok(!isAlive(leader))
      assert.ok(!isAlive(last))
    })
  }

  test('runs no further once it is paused, beside more busy threads than cores', async (t) => {
    const counts = path.join(directory, 'counts')
    const program = `const { isMainThread, Worker, workerData } = require('node:worker_threads')
      const { appendFileSync } = require('node:fs')
      if (isMainThread) for (let index = 0; index < 8; index++) new Worker(__filename, { workerData: process.argv[2] })
      else for (;;) appendFileSync(workerData, '.')`
    const file = path.join(directory, 'busy.cjs')
    writeFileSync(file, program)
    const busy = await startProcess({ name: 'busy', command: process.execPath, args: [file, counts], logFile })
    t.after(() => stopProcess(busy, 0))
    assert.ok(await waitUntil(() => existsSync(counts), 60_000))
    await pauseProcess(busy.pid)
    const { size } = statSync(counts)
    await delay(200)
    assert.equal(statSync(counts).size, size)
    process.kill(busy.pid, 'SIGCONT')
    assert.ok(await waitUntil(() => statSync(counts).size > size, 60_000))
  })

  test('that ends by itself leaves nothing of its group behind', async () => {
    const pidFile = path.join(directory, 'left-behind')
    const left = `trap "" TERM; echo $BASHPID > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; ` +
        'while :; do sleep 0.1; done'
    const leader = await startProcess({
      name: 'leader',
      command: 'bash',
      args: ['-c', `(bash -c '${left}' & wait) & until [ -e ${pidFile} ]; do sleep 0.1; done; exit 7`],
      logFile
    })
    assert.equal(await leader.exited, 7)
    assert.equal(startTicks(Number(readFileSync(pidFile, 'utf8'))), null)
  })

  test('that cannot be started causes an error with its name', async () => {
    await assert.rejects(
      startProcess({ name: 'k6', command: '/nowhere/k6', args: [], logFile, outlive: true }),
      /k6 could not be started/
    )
  })

  for (const [outlive, what] of /** @type {const} */ ([
    [false, 'ends with its parent, even if the parent is killed'],
    [true, 'survives its parent with the option outlive']
  ])) {
    test(what, async () => {
      const script = `import { startProcess } from ${JSON.stringify(new URL('../src/processes.js', import.meta.url).href)}
        const { pid } = await startProcess({ name: 'child', command: 'sleep', args: ['300'], logFile: ${JSON.stringify(logFile)}, outlive: ${outlive} })
        console.log(pid)
        setInterval(() => {}, 1000)`
      const parent = spawn(
        process.execPath,
        ['--input-type=module', '--eval', script],
        { stdio: ['ignore', 'pipe', 'inherit'] }
      )
      const [line] = await once(parent.stdout, 'data')
      const pid = Number(line)
      const child = { name: 'child', pid, start_ticks: /** @type {number} */ (startTicks(pid)) }
      assert.ok(isAlive(child))
      // Until then it is setpriv, which may not have bound itself to its parent yet.
      assert.ok(await waitUntil(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep'), 60_000))
      parent.kill('SIGKILL')
      await once(parent, 'exit')
      if (outlive) assert.ok(isAlive(child))
      else assert.ok(await waitUntil(() => !isAlive(child), 60_000))
      await stopProcess(child)
    })
  }
})
