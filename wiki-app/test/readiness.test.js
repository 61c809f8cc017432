import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createReadiness } from '../src/http/readiness.js'

/** How often nginx asks (nginx/lua/wikis.lua). */
const CHECK_MS = 500
const LONG_AGO_MS = 10_000
const isReady = async () => {}

/** A clock that stands still until the test lets time pass. */
function createClock () {
  let nowMs = 0
  /** @type {(() => void)[]} */
  const sleepers = []
  return {
    now: () => nowMs,
    /** @returns {Promise<void>} */
    sleep: () => new Promise((resolve) => { sleepers.push(resolve) }),
    /** @param {number} ms */
    async pass (ms) {
      nowMs += ms
      for (const wake of sleepers.splice(0)) wake()
      await nextTurn()
    }
  }
}

/** @param {{workers?: number}} [options] */
function createWatched (options) {
  const clock = createClock()
  const readiness = createReadiness({ ...options, clock })
  const server = createServer((_request, response) => { response.end('a page') })
  let ended = false
  return {
    clock,
    readiness,
    server,
    hasEnded: () => ended,
    async stop () {
      readiness.withdraw(server).then(() => { ended = true })
      await nextTurn()
    },
    /** A balancer asks, and time passes until it asks again. @param {number} times */
    async check (times, everyMs = CHECK_MS) {
      for (let time = 0; time < times; time++) {
        await readiness.answer(isReady).catch((error) => assert.equal(error.statusCode, 503))
        await clock.pass(everyMs)
      }
    }
  }
}

describe('a process that is asked to stop', () => {
  test('ends at once when nothing watches it', async () => {
    for (const [what, before] of /** @type {[string, (wiki: ReturnType<typeof createWatched>) => Promise<void>][]} */ ([
      ['no check ever', async () => {}],
      ['one check, as a script does that waits for its start', (wiki) => wiki.check(1)],
      ['checks long ago', async (wiki) => {
        await wiki.check(4)
        await wiki.clock.pass(LONG_AGO_MS)
      }],
      ['bad answers, after which a balancer has taken it out', async ({ readiness }) => {
        const away = () => readiness.answer(async () => { throw new Error('away') })
        for (let time = 0; time < 4; time++) await assert.rejects(away)
      }]
    ])) {
      const wiki = createWatched()
      await before(wiki)
      await wiki.stop()
      assert.ok(wiki.hasEnded(), what)
    }
  })

  test('says so at /readyz, and ends when a balancer has had three answers', async () => {
    const wiki = createWatched()
    await wiki.check(2)
    await wiki.stop()
    await assert.rejects(wiki.readiness.answer(isReady),
      { statusCode: 503, message: 'This process of the wiki is about to stop.' })
    await wiki.check(3)
    assert.ok(!wiki.hasEnded())
    await wiki.check(1)
    assert.ok(wiki.hasEnded())
  })

  test('does not wait for a balancer that has gone', async () => {
    const wiki = createWatched()
    await wiki.check(2)
    await wiki.stop()
    await wiki.clock.pass(1_000)
    assert.ok(wiki.hasEnded())
  })

  test('knows that its checks are shared by all workers', async () => {
    const wiki = createWatched({ workers: 4 })
    await wiki.check(2, 4 * CHECK_MS)
    await wiki.stop()
    assert.ok(!wiki.hasEnded())
  })

  test('serves on while requests arrive, for 3 s at most; each response ends its connection', async (t) => {
    const wiki = createWatched()
    wiki.server.listen(0, '127.0.0.1')
    t.after(() => { wiki.server.close() })
    await once(wiki.server, 'listening')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => { agent.destroy() })
    /** @returns {Promise<string | undefined>} its header Connection */
    const view = async () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (wiki.server.address())
      const [response] = await once(request({ host: '127.0.0.1', port, agent }).end(), 'response')
      assert.equal(response.statusCode, 200)
      response.resume()
      await once(response, 'end')
      return response.headers.connection
    }
    assert.equal(await view(), 'keep-alive')
    await wiki.check(2)
    await wiki.stop()
    for (let half = 0; half < 5; half++) {
      assert.equal(await view(), 'close', 'also on a connection that was kept before')
      await wiki.check(1, CHECK_MS - 1)
    }
    assert.ok(!wiki.hasEnded(), 'requests arrived less than 0.5 s ago')
    await wiki.check(2, CHECK_MS - 1)
    assert.ok(wiki.hasEnded())
  })
})
