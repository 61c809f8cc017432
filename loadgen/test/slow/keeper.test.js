import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { isAlive, killGroup, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { readState } from '../../src/stack/state.js'
import { createSandbox, json, STARTED_WITHIN_MS } from '../helper.js'

const BACK_MAX_MS = 120_000

test('whatever dies in the stack of `stevec up` comes back with the pages, and the status says so', {
  timeout: 2 * STARTED_WITHIN_MS
}, async (t) => {
  const sandbox = await createSandbox()
  t.after(async () => { await sandbox.stevec(['down']); sandbox.remove() })
  const up = await sandbox.stevec(['up'])
  assert.equal(up.exitCode, 0, up.stderr)
  const directory = path.join(sandbox.directory, 'state/wiki')
  const state = () => /** @type {import('../../src/stack/state.js').StackState} */ (readState(directory))
  const source = `http://127.0.0.1:${state().ports.origin}`
  const statusOf = async () => (await fetch(`${source}/status.json`)).json()
  const saved = await fetch(`${source}/api/v1/pages/Kept`, {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ content: 'kept text' })
  })
  assert.equal(saved.status, 201)

  const names = state().processes.map(({ name }) => name)
  assert.deepEqual(names, ['mongod', 'wiki', 'nginx origin', 'nginx edge', 'nginx local'])
  for (const name of names) {
    const identity = state().processes.find((process) => process.name === name)
    assert.ok(identity)
    await (name.startsWith('nginx') ? process.kill(identity.pid, 'SIGKILL') : killGroup(identity))
    const works = await waitUntil(async () => {
      const again = state().processes.find((process) => process.name === name)
      if (again === undefined || again.pid === identity.pid || !isAlive(again)) return false
      const doors = Object.values(state().doors).map(({ url }) => request(`${url}/wiki/Kept`)
        .then(({ status, body }) => status === 200 && body.includes('kept text'), () => false))
      return (await Promise.all(doors)).every(Boolean)
    }, BACK_MAX_MS, 100)
    assert.ok(works, `${name}: ${readFileSync(path.join(directory, 'keeper.log'), 'utf8')}`)
  }
  const reported = await waitUntil(async () => {
    const { status, stack } = await statusOf()
    return status === 'ok' && stack.services.every((/** @type {any} */ { restarts }) => restarts >= 1) && stack
  }, BACK_MAX_MS)
  assert.deepEqual(reported?.services.map((/** @type {any} */ { name, state }) => [name, state]),
    names.map((name) => [name, 'running']))
  const { stdout } = await sandbox.stevec(['status'])
  assert.match(stdout, /nginx edge was started again (once|\d+ times), the last time at 20/)

  // One that hangs, and keeps its port, is killed first.
  const hanging = state().processes.find(({ name }) => name === 'wiki')
  assert.ok(hanging)
  process.kill(hanging.pid, 'SIGSTOP')
  const isBack = await waitUntil(async () => {
    const again = state().processes.find(({ name }) => name === 'wiki')
    return again?.pid !== hanging.pid && (await request(`${source}/wiki/Kept`).catch(() => null))?.status === 200
  }, BACK_MAX_MS, 100)
  const keeperLog = readFileSync(path.join(directory, 'keeper.log'), 'utf8')
  assert.ok(isBack, keeperLog)
  assert.match(keeperLog, /wiki has not answered for 30 s, and is killed/)

  // A second `up` replaces a dead keeper, and starts no second one.
  const keeper = json(path.join(directory, 'keeper.lock'))
  process.kill(keeper.pid, 'SIGKILL')
  assert.ok(await waitUntil(() => !isAlive(keeper), BACK_MAX_MS))
  assert.match((await sandbox.stevec(['up'])).stdout, /its keeper had ended; a new one watches it/)
  const second = json(path.join(directory, 'keeper.lock'))
  assert.doesNotMatch((await sandbox.stevec(['up'])).stdout, /its keeper had ended/)
  assert.deepEqual(json(path.join(directory, 'keeper.lock')), second)

  // What dies while `down` runs stays dead.
  const processes = state().processes
  process.kill(/** @type {any} */ (processes.find(({ name }) => name === 'wiki')).pid, 'SIGKILL')
  const down = await sandbox.stevec(['down'])
  assert.equal(down.exitCode, 0, down.stderr)
  assert.ok(!isAlive(second), 'the keeper has ended')
  assert.ok(processes.every((identity) => !isAlive(identity)))
  await assert.rejects(fetch(`${source}/healthz`))
  assert.throws(() => statSync(path.join(directory, 'recipes.json')), /ENOENT/)
})
