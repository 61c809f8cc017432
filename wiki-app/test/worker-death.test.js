import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isAlive, waitUntil } from '@stevec/harness/processes'
import { createClient } from '../torture/client.js'
import { createTestbed } from '../torture/testbed.js'

const WORKERS = 3
const WAIT_MAX_MS = 60_000

describe('a worker that dies before it acknowledges a connection', () => {
  /** @type {import('../torture/testbed.js').Testbed} */
  let testbed
  /** @type {PromiseSettledResult<{status: number}>[]} */
  let outcomes
  before(async () => {
    testbed = await createTestbed({ settings: { WORKERS: String(WORKERS) } })
    await testbed.start()
    assert.ok(await waitUntil(() => testbed.log().includes('wiki listening on '), WAIT_MAX_MS), 'all workers listen')
    const [stopped] = testbed.workers()
    process.kill(stopped, 'SIGSTOP')
    let answered = 0
    const clients = Array.from({ length: 4 * WORKERS }, () => createClient(testbed.url, 1))
    const requests = clients.map((client) => client.ask('GET', '/healthz').finally(() => { answered++ }))
    const settled = Promise.allSettled(requests)
    const others = await waitUntil(() => answered === clients.length - 1, WAIT_MAX_MS)
    process.kill(stopped, 'SIGKILL')
    outcomes = await settled
    for (const client of clients) client.close()
    assert.ok(others, 'the stopped worker was given one connection, the others serve the rest')
  })
  after(() => testbed.remove())

  test('its connection is closed, and the client learns it', () => {
    const failures = outcomes.flatMap((outcome) => outcome.status === 'rejected' ? [outcome.reason] : [])
    assert.deepEqual(failures.map(({ code }) => code), ['ECONNRESET'])
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' || outcome.value.status === 200))
  })

  test('the counter goes on without it, and its replacement serves', async () => {
    assert.ok(await waitUntil(() => /"worker":1,.*a worker has been replaced/.test(testbed.log()), WAIT_MAX_MS))
    const client = createClient(testbed.url, 1)
    try {
      const { status, body } = await client.ask('GET', '/wiki/stevec')
      assert.equal(status, 200, body)
    } finally {
      client.close()
    }
  })

  test('the wiki still ends in order', async () => {
    const wiki = testbed.wiki()
    assert.ok(wiki)
    await testbed.stopWiki(0)
    assert.ok(!isAlive(wiki))
    assert.doesNotMatch(testbed.log(), /killed by timeout|not every worker has ended in order/)
  })
})
