import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { after, describe, test } from 'node:test'
import { waitUntil } from '../src/processes.js'
import { lockHolder, lockMachine, LockedError } from '../src/machine-lock.js'

process.env.STEVEC_LOCK = `test-${process.pid}`
const ALONE = fileURLToPath(new URL('../bin/alone.js', import.meta.url))

/** @type {import('node:child_process').ChildProcess[]} */
const children = []
after(() => children.forEach((child) => child.kill('SIGKILL')))

/** Starts another process that holds the lock. */
async function startHolder () {
  const script = `import { lockMachine } from ${JSON.stringify(new URL('../src/machine-lock.js', import.meta.url).href)}
    await lockMachine({ command: 'stevec run study' })
    console.log('ready')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

/** @param {string[]} args */
async function runAlone (...args) {
  const child = spawn(process.execPath, [ALONE, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (part) => { stderr += part })
  const [exitCode] = await once(child, 'close')
  return { exitCode, stderr }
}

describe('the lock of the machine', () => {
  test('is taken by one process, whose pid, command and start others are told', async () => {
    assert.equal(await lockHolder(), null)
    const release = await lockMachine({ command: 'stevec verify' })
    const holder = new RegExp(`process ${process.pid}, stevec verify, since \\d{4}-\\d\\d-\\d\\dT\\d\\d:`)
    assert.match(String(await lockHolder()), holder)
    await assert.rejects(lockMachine(), (error) => error instanceof LockedError && holder.test(error.message))
    await release()
    await (await lockMachine())()
  })

  test('goes to one of many that take it at once', async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockMachine()))
    const taken = attempts.flatMap((attempt) => attempt.status === 'fulfilled' ? [attempt.value] : [])
    assert.equal(taken.length, 1)
    for (const attempt of attempts) if (attempt.status === 'rejected') assert.ok(attempt.reason instanceof LockedError)
    await taken[0]()
  })

  test('is free at once when its holder is killed', async () => {
    const child = await startHolder()
    await assert.rejects(lockMachine(), new RegExp(`process ${child.pid}, stevec run study`))
    child.kill('SIGKILL')
    await once(child, 'exit')
    await (await lockMachine())()
  })

  test('is refused, too, when its holder is too busy to say who it is', async () => {
    const child = await startHolder()
    child.kill('SIGSTOP')
    await assert.rejects(lockMachine(), /under way on this machine: a process that does not say which it is/)
    child.kill('SIGKILL')
    await once(child, 'exit')
  })

  test('shows no control characters of what the holder says', async () => {
    const liar = createServer((socket) => {
      socket.end(JSON.stringify({ pid: 1, command: '\u001b[2Jrun', since: '2026-01-01' }))
    }).listen({ path: `\0stevec-lock-${process.env.STEVEC_LOCK}` })
    await once(liar, 'listening')
    assert.equal(await lockHolder(), 'process 1, ?[2Jrun, since 2026-01-01T00:00:00.000Z')
    liar.close()
    await once(liar, 'close')
  })

  test('is waited for on request, with a word about it, until it is free or the wait is interrupted', async () => {
    const child = await startHolder()
    const said = { holder: '' }
    const waiting = lockMachine({ wait: true, onWait: (holder) => { said.holder = holder } })
    const interrupt = new AbortController()
    await assert.rejects(
      lockMachine({ wait: true, onWait: () => interrupt.abort(), signal: interrupt.signal }),
      { name: 'AbortError' }
    )
    await waitUntil(() => said.holder !== '', 60_000)
    assert.match(said.holder, new RegExp(`process ${child.pid}`))
    child.kill()
    await (await waiting)()
  })

  test('asks its holder once who it is, and not again while it waits', async (t) => {
    let questions = 0
    const holder = createServer((socket) => {
      questions += 1
      socket.end('{}')
    }).listen({ path: `\0stevec-lock-${process.env.STEVEC_LOCK}` })
    await once(holder, 'listening')
    const attempts = t.mock.method(Server.prototype, 'listen')
    const waiting = lockMachine({ wait: true })
    assert.ok(await waitUntil(() => attempts.mock.callCount() >= 3, 60_000))
    assert.equal(questions, 1)
    holder.close()
    await (await waiting)()
  })
})

describe('a program that only measures', () => {
  test('runs when no other measures, and has its exit code', async () => {
    assert.equal((await runAlone('sh', '-c', 'exit 7')).exitCode, 7)
    assert.equal(await lockHolder(), null)
  })

  for (const signal of /** @type {const} */ (['SIGHUP', 'SIGINT', 'SIGTERM'])) {
    test(`gets ${signal}, and keeps the lock until it has ended`, async () => {
      const script = `for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
          process.on(signal, (name) => process.stdin.on('end', () => process.exit(name === '${signal}' ? 7 : 8)).resume())
        }
        setInterval(() => {}, 1000)
        console.log('ready')`
      const args = [ALONE, process.execPath, '--eval', script]
      const alone = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      children.push(alone)
      await once(alone.stdout, 'data')
      alone.kill(signal)
      await assert.rejects(lockMachine(), /another measurement is under way/)
      alone.stdin.end()
      assert.deepEqual(await once(alone, 'exit'), [7, null])
      await (await lockMachine())()
    })
  }

  test('that cannot be started, or is killed, is broken', async () => {
    const { exitCode, stderr } = await runAlone('/nowhere/measure')
    assert.deepEqual([exitCode, stderr], [3, '/nowhere/measure could not be started: spawn /nowhere/measure ENOENT\n'])
    assert.equal((await runAlone('sh', '-c', 'kill -9 $$')).exitCode, 3)
  })

  test('ends with exit code 3 and the name of the holder when another measures', async () => {
    const release = await lockMachine({ command: 'stevec run study' })
    const { exitCode, stderr } = await runAlone('true')
    assert.equal(exitCode, 3)
    assert.match(stderr, new RegExp(`process ${process.pid}, stevec run study, since .*wait for it`))
    await release()
  })
})
