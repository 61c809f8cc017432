import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { warmUp } from '../src/lab/warm-up.js'
import { atOnceOf, newPageMessages, pageMessages } from '../src/lab/warm-up-messages.js'
import { createWarmUpEdits } from '../src/lab/warm-up-pages.js'
import { acceptedStatuses } from '../src/saves/strategy.js'
import { createSandbox, json, samplesOf, trialsOf } from './helper.js'

describe('the warm-up', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {string} */
  let stdout
  /** @type {string} */
  let directory
  /** @type {Record<string, any>[]} */
  let trials
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      settings: { pages: 10, page_size_chars: 500, requests: 50, edit_ratio: 0.5, duration_max_s: 60, ttl_s: 60 },
      factors: {
        way: {
          purged: { door: 'cached', policy: 'purge-tag' },
          kept: { door: 'cached', policy: 'ttl' },
          local: { door: 'local', policy: 'ttl' },
          source: { door: 'source', policy: 'ttl' },
          nginx: { door: 'cached', policy: 'ttl', cache: 'nginx' }
        }
      }
    })
    const run = await sandbox.stevec(['run', file])
    stdout = run.stdout
    assert.equal(run.exitCode, 0, stdout + run.stderr)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
    assert.equal(trials.length, 5)
  })
  after(() => sandbox.remove())

  const of = (/** @type {string} */ way) =>
    /** @type {Record<string, any>} */ (trials.find(({ cell }) => cell.way === way))

  test('of each wiki sends reads and edits in rounds, and says whether their times stopped falling', () => {
    for (const { warm_up: found } of trials) {
      assert.ok(found.rounds >= 12 && found.rounds <= 24)
      assert.deepEqual([found.requests, found.writes], [250 * found.rounds, 25 * found.rounds])
      assert.equal(typeof found.steady, 'boolean')
      assert.ok(found.read_mean_ms > 0 && found.write_mean_ms > 0)
    }
    assert.equal(json(path.join(directory, 'manifest.json')).warm_up_requests, trials[0].warm_up.requests)
    const said = stdout.match(/^wrote \d+ pages; warmed up by \d+ requests, \d+ edits among them; a read took .* at last/gm)
    const found = new Set(trials.map(({ warm_up: warmUp }) => JSON.stringify(warmUp)))
    assert.equal(said?.length, found.size, 'one line for each wiki that was started')
    assert.ok(found.size >= 2, 'another policy is another wiki')
  })

  test('sends each emptied cache the same requests, and none where no cache is', () => {
    for (const way of ['purged', 'kept', 'local', 'nginx']) {
      const { cold, warm_up: warmUp } = of(way).cold_proof
      assert.deepEqual([way, cold, warmUp], [way, true, { requests: 100, origin_requests: 10 }])
    }
    assert.deepEqual(of('source').cold_proof.warm_up, null)
  })

  test('leaves nothing in a trial: neither requests, nor purges, nor edits of its pages', () => {
    for (const { name, cell, purges, writes_sent: writes, counter } of trials) {
      const folder = path.join(directory, 'trials', name)
      for (const role of ['edge', 'origin', 'local']) {
        const log = gunzipSync(readFileSync(path.join(folder, `${role}.log.gz`))).toString()
        assert.doesNotMatch(log, /warm-up/, `${cell.way} ${role}`)
      }
      assert.ok(writes > 10 && counter.writes === writes)
      // Each edit's tag is sent twice; those of two edits of a page may be sent as one.
      if (purges !== null) assert.ok(purges.tags > 0 && purges.tags <= 2 * writes, `${purges.tags} tags`)
    }
    const first = samplesOf(path.join(directory, 'trials', trials[0].name)).filter(({ method }) => method === 'POST')
    assert.equal(Math.min(...first.map(({ revision }) => revision)), 2)
  })
})

describe('a warm-up', () => {
  /**
   * Starts a server that counts requests by method and page.
   * @param {import('node:test').TestContext} t
   * @param {(request: http.IncomingMessage, sent: number) => number} statusOf
   */
  async function listen (t, statusOf) {
    /** @type {string[]} */
    const asked = []
    const server = http.createServer((request, response) => {
      request.resume().on('end', () => {
        asked.push(`${request.method} ${request.url}`)
        response.writeHead(statusOf(request, asked.length)).end()
      })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    t.after(() => { server.close(); server.closeAllConnections() })
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    return { door: { url: `http://127.0.0.1:${port}` }, asked }
  }
  const { signal } = new AbortController()
  const settings = { edit_size_chars: null, page_size_chars: /** @type {[number, number]} */ ([100, 30_000]) }

  test('ends after the most rounds, and says that times were not known to be steady', async (t) => {
    const { door, asked } = await listen(t, () => 200)
    const nextEdit = createWarmUpEdits(1).like(settings)
    // The rule needs five rounds.
    const rounds = { requests: 20, least: 1, most: 4 }
    const messages = pageMessages({ pages: 3, nextEdit })
    const { steady, requests, writes } = await warmUp({ door, messages, rounds, signal })
    assert.deepEqual([steady, requests, writes], [false, 80, 8])
    assert.equal(asked.filter((request) => /^GET \/wiki\/page-00000[123]$/.test(request)).length, 72)
    assert.equal(asked.filter((request) => /^POST \/wiki\/warm-up-[1-8]$/.test(request)).length, 8)
  })

  test('without edits sends none', async (t) => {
    const { door, asked } = await listen(t, () => 200)
    const rounds = { requests: 20, least: 2, most: 2 }
    const found = await warmUp({ door, messages: pageMessages({ pages: 3 }), rounds, signal })
    assert.deepEqual([found.requests, found.writes, found.write_mean_ms], [40, 0, null])
    assert.ok(asked.every((request) => request.startsWith('GET')))
  })

  test('for trials that create pages creates some, and reads each after it', async (t) => {
    const { door, asked } = await listen(t, ({ method }) => method === 'POST' ? 201 : 200)
    const rounds = { requests: 40, least: 2, most: 2 }
    const nextEdit = createWarmUpEdits(1).like(settings)
    const messages = newPageMessages({ mark: 'w1', atOnce: 10, nextEdit })
    const { requests, writes, ...means } = await warmUp({ door, messages, rounds, signal })
    assert.deepEqual([requests, writes, asked.length], [80, 40, 80])
    assert.ok(means.read_mean_ms > 0 && Number(means.write_mean_ms) > 0)
    for (let page = 1; page <= 40; page++) {
      const path = `/wiki/new-w1-${page}`
      assert.deepEqual(asked.filter((request) => request.endsWith(` ${path}`)), [`POST ${path}`, `GET ${path}`])
    }
    assert.deepEqual(asked.slice(0, 10).map((request) => request.slice(0, 4)), Array(10).fill('POST'), 'ten at once')
  })

  test('of wikis with shares of a core sends as many at once as the trial has clients of each, up to 32', () => {
    const atOnce = (/** @type {number} */ vus, /** @type {number | null} */ share, wikis = 1) =>
      atOnceOf({ vus, wiki_cpu_share: share }, wikis)
    assert.deepEqual([atOnce(300, null), atOnce(1, 0.15), atOnce(31, 0.15, 2), atOnce(300, 0.15, 3)], [4, 4, 16, 32])
  })

  test('sends a request again that a starved wiki refuses, and fails at any other refusal', async (t) => {
    const starved = await listen(t, (_, sent) => sent === 5 ? 503 : 200)
    const rounds = { requests: 20, least: 1, most: 1 }
    await warmUp({ door: starved.door, messages: pageMessages({ pages: 3 }), rounds, signal })
    assert.equal(starved.asked.length, 21)
    const closed = await listen(t, ({ method }) => method === 'POST' ? 403 : 200)
    const nextEdit = createWarmUpEdits(1).like(settings)
    await assert.rejects(
      warmUp({ door: closed.door, messages: pageMessages({ pages: 3, nextEdit }), rounds, signal }),
      /warm-up-\d answered 403 during the warm-up/
    )
  })

  test('takes 202 for an edit only where saves are answered before they are stored', async (t) => {
    const rounds = { requests: 20, least: 1, most: 1 }
    const nextEdit = createWarmUpEdits(1).like(settings)
    /** @param {'sync' | 'unsafe-bulk'} strategy */
    async function warmUpWith (strategy) {
      const { door } = await listen(t, ({ method }) => method === 'POST' ? 202 : 200)
      const messages = pageMessages({ pages: 3, nextEdit, accepted: acceptedStatuses({ write_strategy: strategy }) })
      return warmUp({ door, messages, rounds, signal })
    }
    await assert.rejects(warmUpWith('sync'), /warm-up-\d answered 202 during the warm-up/)
    assert.equal((await warmUpWith('unsafe-bulk')).writes, 2)
  })

  test('edits ten pages in turn with texts that all differ, in the sizes of the trial up to a limit', () => {
    const edits = createWarmUpEdits(1)
    const [before, after] = [edits.like(settings), edits.like(settings)]
    const made = Array.from({ length: 60 }, (_, index) => index < 30 ? before() : after())
    assert.equal(new Set(made.map(({ text }) => text)).size, 60)
    assert.deepEqual(new Set(made.map(({ name }) => name)).size, 10)
    const sizes = made.map(({ text }) => text.length)
    assert.ok(Math.min(...sizes) >= 100 && Math.max(...sizes) === 20_000 && new Set(sizes).size > 20, String(sizes))
  })
})
