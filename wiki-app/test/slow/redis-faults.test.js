import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient as createRedisClient } from '@redis/client'
import { isAlive, pauseProcess, waitUntil } from '@stevec/harness/processes'
import { createRandom } from '@stevec/harness/random'
import { newRedisPassword, redisUrl, startRedisGroup } from '@stevec/harness/redis'
import { hashOf } from '../../src/shared/key.js'
import { createClient } from '../../torture/client.js'
import { createEditors } from '../../torture/editors.js'
import { holds, judge } from '../../torture/oracle.js'
import { createTestbed } from '../../torture/testbed.js'
import { stored } from '../../torture/torture.js'

const WIKIS = 3
const FAULTS = 20
const EDITORS = 6
const READERS = 3
const WAIT_MAX_MS = 120_000
/** A silent Redis holds a write up for a second, once; the rest is a busy machine. */
const GAP_MAX_MS = 20_000
const SEED = 22

test('Redis may be killed and held up at any time: three wikis of two workers go on without an error, and lose no edit', {
  timeout: 900_000
}, async (t) => {
  const password = newRedisPassword()
  const group = await startRedisGroup({ sentinels: 3, password })
  t.after(group.stop)
  const settings = { REDIS_URL: group.url, WRITES_PER_MINUTE: '100000', WORKERS: '2' }
  const testbed = await createTestbed({ wikis: WIKIS, settings })
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, EDITORS + READERS)
  t.after(() => client.close())
  const editors = createEditors({ client, seed: SEED, editors: EDITORS, readers: READERS })
  t.after(() => editors.stop())
  editors.start()

  const random = createRandom(SEED)
  const parts = [group.master, group.replica, ...group.sentinels]
  /** @type {Record<string, number>} */
  const faults = { kill: 0, pause: 0 }
  for (let fault = 0; fault < FAULTS; fault++) {
    // Every other fault hits a server, not a sentinel.
    const part = parts[Math.floor(random() * (fault % 2 ? 2 : parts.length))]
    const kind = random() < 0.6 ? 'kill' : 'pause'
    faults[kind]++
    const forMs = 3_000 * random()
    if (kind === 'kill') {
      await part.kill()
      await delay(forMs)
      await part.start()
    } else {
      const { pid } = part.identity()
      await pauseProcess(pid)
      await delay(forMs)
      process.kill(pid, 'SIGCONT')
    }
    await delay(500 * random())
  }
  const acknowledged = editors.acknowledged()
  assert.ok(await waitUntil(() => editors.acknowledged() > acknowledged + 50, WAIT_MAX_MS), testbed.log())
  await editors.stop()
  assert.ok(parts.every((part) => isAlive(part.identity())))
  const findings = judge(editors.edits, editors.reads, await stored(testbed.uri))
  assert.ok(holds(findings), JSON.stringify(findings))

  const counts = async () => await Promise.all(Array.from({ length: WIKIS }, async (_, index) =>
    (await fetch(`${testbed.wikiUrl(index)}/wiki/stevec`, { method: 'HEAD' })).headers.get('counter-wikis')))
  const wanted = Array(WIKIS).fill(String(WIKIS)).join()
  assert.ok(await waitUntil(async () => (await counts()).join() === wanted, WAIT_MAX_MS, 500), 'all are wikis of one Redis')
  assert.ok(await waitUntil(() => areCommon(testbed, group, password), WAIT_MAX_MS, 500), 'limits are common again')

  t.diagnostic(`${FAULTS} faults (${JSON.stringify(faults)}), ${editors.acknowledged()} edits; the longest time without ` +
    `one ${editors.gapMs()} ms`)
  assert.ok(editors.gapMs() < GAP_MAX_MS, `${editors.gapMs()} ms without an edit`)
  assert.deepEqual(editors.unexpected, [])
  assert.deepEqual(testbed.mistakes(), [])
  assert.ok(!testbed.log().includes(password))
})

let clients = 0

/**
 * @param {Awaited<ReturnType<typeof createTestbed>>} testbed
 * @param {import('@stevec/harness/redis').RedisGroup} group
 * @param {string} password
 * @returns {Promise<boolean>} whether four writes of a new client at each wiki are twelve in Redis
 */
async function areCommon (testbed, group, password) {
  const address = `198.51.100.${++clients % 250}`
  const headers = { 'content-type': 'text/markdown', 'x-forwarded-for': address }
  for (let write = 0; write < 4 * WIKIS; write++) {
    const body = `${clients} ${write}`
    const { status } = await fetch(`${testbed.wikiUrl(write % WIKIS)}/wiki/common`, { method: 'POST', headers, body })
    assert.ok(status === 200 || status === 201, String(status))
  }
  const port = await group.masterPort()
  if (port === null) return false
  const redis = createRedisClient({ url: redisUrl({ port, password }), socket: { reconnectStrategy: false } })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await redis.get(`stevec:limit:write:${hashOf(address)}`) === String(4 * WIKIS)
  } catch {
    return false
  } finally {
    if (redis.isOpen) redis.destroy()
  }
}
