import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../torture/client.js'
import { createTestbed } from '../torture/testbed.js'

/** @typedef {{requests: number, reads: number, writes: number}} Count */

/**
 * @param {import('../torture/client.js').Client} client
 * @returns {Promise<{instance: string, count: Count}>}
 */
async function read (client) {
  const { status, headers, body } = await client.ask('GET', '/wiki/stevec')
  assert.equal(status, 200)
  return { instance: String(headers['counter-instance']), count: JSON.parse(body) }
}

/**
 * Sends requests over many connections at once, and reads the counter at random moments between them.
 * @param {import('../torture/client.js').Client} client
 * @param {number} requests  a fifth of them writes
 */
async function sendAndRead (client, requests) {
  const sent = []
  const readings = []
  for (let index = 0; index < requests; index++) {
    sent.push(index % 5 === 0
      ? client.ask('PUT', `/api/v1/pages/counted%20${index % 7}`, { json: { content: `text ${index}` } })
      : client.ask('GET', ['/wiki/counted%200', '/nowhere', '/', '/wiki/%zz'][index % 4]))
    if (Math.random() < 0.05) readings.push(read(client))
  }
  await Promise.all(sent)
  return Promise.all(readings)
}

const total = (/** @type {{count: Count}[]} */ readings) => readings.reduce((sum, { count }) => ({
  requests: sum.requests + count.requests,
  reads: sum.reads + count.reads,
  writes: sum.writes + count.writes
}), { requests: 0, reads: 0, writes: 0 })

test('counter readings add up to the requests sent; after a kill, a new instance shows that counts were lost', {
  timeout: 400_000
}, async (t) => {
  const testbed = await createTestbed()
  t.after(() => testbed.remove())
  await testbed.start()
  const client = createClient(testbed.url, 24)
  t.after(() => client.close())

  const first = await read(client)
  const before = [...await sendAndRead(client, 500), await read(client)]
  assert.deepEqual(total(before), { requests: 500, reads: 400, writes: 100 })
  assert.deepEqual([...new Set(before.map(({ instance }) => instance))], [first.instance])

  const unread = 25
  for (let index = 0; index < unread; index++) assert.equal((await client.ask('GET', '/nowhere')).status, 404)
  await testbed.killWiki()
  await testbed.startWiki(0, '/readyz')

  const after = [await read(client), ...await sendAndRead(client, 200), await read(client)]
  assert.deepEqual(after[0].count, { requests: 0, reads: 0, writes: 0 }, 'the count starts at 0 after the loss')
  assert.notEqual(after[0].instance, first.instance, 'a new instance shows that counts were lost')
  assert.deepEqual(total(after), { requests: 200, reads: 160, writes: 40 })
})
