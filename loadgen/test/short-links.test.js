import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  isRightAnswer, linkedPage, linkId, LINKS_OF_EACH, newLinkedPage, newLinkId, pagesOfLinks
} from '../scenarios/short-links.js'
import { createShortLinks } from '../src/lab/links.js'
import { request } from '@stevec/harness/request'
import { createSandbox, samplesOf, trialsOf } from './helper.js'

/** At once, as in links.js. */
const WRITERS = 16

describe('short links', () => {
  test('have ids of their own, which are far apart, and are not too many for a page', () => {
    const ids = Array.from({ length: 5000 }, (_, link) => linkId(link))
    const made = ['t1', 't2', 'w1'].flatMap((mark) =>
      Array.from({ length: 5000 }, (_, index) => newLinkId(mark, index)))
    assert.equal(new Set([...ids, ...made]).size, 20_000)
    assert.ok([...ids, ...made].every((id) => /^[a-z0-9-]{2,40}$/.test(id)))
    assert.ok(new Set(ids.slice(0, 100).map((id) => id[1])).size > 20, 'neighbours begin alike')
    const targets = new Map()
    for (const link of ids.keys()) targets.set(linkedPage(link), (targets.get(linkedPage(link)) ?? 0) + 1)
    assert.equal(targets.size, pagesOfLinks(5000))
    assert.equal(Math.max(...targets.values()), LINKS_OF_EACH)
    assert.notEqual(newLinkedPage('t1', 0), newLinkedPage('t2', 0))
  })

  test('have one right answer', () => {
    const get = (/** @type {number} */ status, /** @type {string | undefined} */ location) =>
      isRightAnswer({ method: 'GET', status, location }, 'page-000001')
    assert.deepEqual(
      [
        get(302, '/wiki/page-000001'), get(301, 'http://source.localhost/wiki/page-000001'),
        get(302, '/wiki/page-000002'), get(302, '/wiki/page-0000011'), get(302, undefined), get(200, undefined),
        get(307, '/wiki/page-000001')
      ],
      [true, true, false, false, false, false, false]
    )
    const put = (/** @type {number} */ status) => isRightAnswer({ method: 'PUT', status, location: undefined }, 'x')
    assert.deepEqual([put(201), put(200)], [true, false])
  })
})

test('no more short links are written after the wiki has refused one', async (t) => {
  const asked = new Set()
  /** @type {import('node:http').ServerResponse[]} */
  const held = []
  const server = createServer(({ url }, response) => {
    if (url === '/turn') return response.end()
    asked.add(url)
    held.push(response)
    if (held.length === WRITERS) held[0].writeHead(400).end('no such page')
    else if (held.length > WRITERS) response.writeHead(201).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => { server.close(); server.closeAllConnections() })
  const wikiUrl = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  const settings = { resource: /** @type {const} */ ('short-link'), pages: 5000 }
  await assert.rejects(
    createShortLinks().write({ wikiUrl, settings, signal: new AbortController().signal }),
    /the wiki refused the short link [^ ]+ with 400: no such page/
  )
  for (const other of held.slice(1)) other.writeHead(201).end()
  // Many times as long as a writer takes to send the next one.
  for (let turn = 0; turn < 100; turn++) await request(`${wikiUrl}/turn`)
  assert.equal(asked.size, WRITERS)
})

describe('trials of short links', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, any>[]} */
  let trials
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    const file = sandbox.experiment({
      settings: {
        ...{ resource: 'short-link', pages: 60, page_size_chars: 200, requests: 200, vus: 4, connection_reuse: true },
        // All trials have one wiki, which is warmed up once.
        ...{ short_link_index: 'hashed', short_link_reads: 'redis', shared: 'redis', ttl_s: 600, duration_max_s: 60 }
      },
      factors: {
        way: { read: {}, write: { edit_ratio: 1 }, both: { edit_ratio: 0.5 }, cached: { door: 'cached' } }
      },
      presets: { quick: { repetitions: 1 } }
    })
    const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file])
    assert.equal(exitCode, 0, stdout + stderr)
    assert.match(stdout, /wrote 2 pages and 60 short links/)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
    trials = trialsOf(directory)
  })
  after(() => sandbox.remove())

  const of = (/** @type {string} */ way) => trials.filter(({ cell }) => cell.way === way)
  const samples = (/** @type {Record<string, any>} */ { name }) => samplesOf(path.join(directory, 'trials', name))

  test('keep the law, and their logs agree with the client on each address', () => {
    assert.equal(trials.length, 4)
    for (const { valid, invalid_reasons: reasons } of trials) assert.ok(valid, reasons.join())
  })

  test('count each status by itself', () => {
    for (const { statuses, failures } of of('read')) assert.deepEqual([statuses, failures], [{ GET: { 302: 200 } }, {}])
    for (const { statuses } of of('write')) assert.deepEqual(statuses, { PUT: { 201: 200 } })
    for (const { statuses, writes_sent: writes } of of('both')) {
      assert.deepEqual(statuses, { GET: { 302: 200 - writes }, PUT: { 201: writes } })
      assert.ok(writes > 50 && writes < 150)
    }
  })

  test('read links that exist and make links that no other trial makes', () => {
    const known = new Set(Array.from({ length: 60 }, (_, link) => linkId(link)))
    for (const trial of [...of('read'), ...of('cached')]) assert.ok(samples(trial).every(({ page }) => known.has(page)))
    const writes = [...of('write'), ...of('both')].flatMap(samples).filter(({ method }) => method === 'PUT')
    assert.ok(writes.length > 250)
    assert.equal(new Set(writes.map(({ page }) => page)).size, writes.length)
  })

  test('find each link cold at a door with a cache, which asks the origin for it once', () => {
    for (const { cold_proof: proof, counter, counter_expected: expected, cache_statuses: statuses } of of('cached')) {
      assert.deepEqual(proof.observed, ['MISS', 'HIT', 'MISS'])
      assert.equal(counter.requests, expected)
      assert.equal(statuses.MISS, counter.requests)
    }
  })
})
