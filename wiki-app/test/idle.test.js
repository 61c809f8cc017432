import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@stevec/harness/ports'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { sleeps } from '../bench/process.js'
import { createTestbed } from '../torture/testbed.js'

/** Of all threads. Constant pings of the database would make it 40, sampling the event loop's lag 100. */
const SLEEPS_PER_S_MAX = 5
const WINDOW_S = 4
/** Far longer than the work after a start, and than pages stay in memory. */
const REST_MAX_MS = 120_000
/** The promise is 1 s; the rest is for slow machines. The test prints the measured time. */
const REFUSAL_MAX_MS = 4_000
const NOTICE_MAX_MS = 20_000

/**
 * Waits until a process hardly wakes up any more. The number of wake-ups does not depend on the machine's speed.
 * @param {number} pid
 * @returns {Promise<boolean>} whether it came to rest in time
 */
async function comesToRest (pid) {
  const rested = await waitUntil(async () => {
    const before = sleeps(pid)
    await sleep(1_000 * WINDOW_S)
    return sleeps(pid) - before <= SLEEPS_PER_S_MAX * WINDOW_S
  }, REST_MAX_MS)
  return rested === true
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [settings]
 */
async function startTestbed (t, settings) {
  const testbed = await createTestbed({ settings })
  t.after(() => testbed.remove())
  await testbed.start()
  const pid = Number(testbed.wiki()?.pid)
  const page = `${testbed.url}/wiki/page`
  const saved = await fetch(page, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'text' })
  assert.equal(saved.status, 201)
  assert.equal((await fetch(page)).status, 200)
  return { testbed, pid, page }
}

describe('an idle wiki', { concurrency: true }, () => {
  test('hardly wakes up, even with metrics, an origin cache and purging turned on', async (t) => {
    const [metricsPort] = await freePorts(1)
    const { testbed, pid, page } = await startTestbed(t, {
      LOG_LEVEL: 'info',
      METRICS_PORT: String(metricsPort),
      ORIGIN_CACHE_MIB: '8',
      CACHE_POLICY: 'purge-url',
      PURGE_ZONE: 'zone',
      PURGE_URL: 'http://127.0.0.1:1',
      PURGE_TOKEN: 'token-in-the-environment',
      PUBLIC_URL: 'http://wiki.localhost'
    })
    assert.equal((await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).status, 200)
    assert.ok(await comesToRest(pid), testbed.log())
    assert.equal((await fetch(page)).status, 200)
  })

  test('hardly wakes up with two workers', async (t) => {
    const { testbed, pid } = await startTestbed(t, { WORKERS: '2' })
    assert.ok(await comesToRest(pid), testbed.log())
  })

  test('refuses a request soon after its database falls silent, and recovers with it', async (t) => {
    const { testbed, pid, page } = await startTestbed(t)
    assert.ok(await comesToRest(pid))
    const mongod = Number(testbed.mongod()?.pid)
    await pauseProcess(mongod)
    try {
      const start = performance.now()
      assert.equal((await fetch(page)).status, 503)
      const refusalMs = performance.now() - start
      t.diagnostic(`refused after ${Math.round(refusalMs)} ms`)
      assert.ok(refusalMs < REFUSAL_MAX_MS)
      assert.match(testbed.log(), /database lost/)
      assert.equal((await fetch(`${testbed.url}/readyz`)).status, 503)
    } finally {
      process.kill(mongod, 'SIGCONT')
    }
    assert.ok(await waitUntil(async () => (await fetch(page)).status === 200, NOTICE_MAX_MS))
    assert.ok(await comesToRest(pid))
  })

  test('notices without a request that its database stops and that it is back', async (t) => {
    const { testbed, pid, page } = await startTestbed(t)
    assert.ok(await comesToRest(pid))
    await testbed.killMongod()
    assert.ok(await waitUntil(() => testbed.log().includes('database lost'), NOTICE_MAX_MS), testbed.log())
    await testbed.startDatabase()
    assert.ok(await waitUntil(() => testbed.log().includes('database found'), NOTICE_MAX_MS), testbed.log())
    assert.equal((await fetch(page)).status, 200)
    assert.ok(await comesToRest(pid))
  })
})
