import assert from 'node:assert/strict'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { REPLICA_SET } from '@stevec/harness/mongod'
import { pauseProcess, waitUntil } from '@stevec/harness/processes'
import { judgeStaleness } from '../../src/histories/staleness.js'
import { OPEN_TO_TRIALS } from '../../src/lab/wiki-settings.js'
import { entrancesOf } from '../../src/stack/doors.js'
import { readState } from '../../src/stack/state.js'
import { startDoors } from '../doors.js'

/** BOUNDED_READS=100000 for as many reads. */
const READS = Number(process.env.BOUNDED_READS ?? 20_000)
const BOUND_MS = 500
const EDGES = 3
const READERS = 8
const PAGES = 4
const MINUTES_MAX = 8
const ANSWER_MAX_MS = 5_000
/** A client waits before it tries again. */
const REFUSED_PAUSE_MS = 100
const WAIT_MAX_MS = 60_000

/** @typedef {import('../../src/stack/state.js').StackState} StackState */

/** @param {http.Agent} agent @param {string} url @param {http.RequestOptions & {body?: string}} options */
function send (agent, url, { body, ...options }) {
  const { port, pathname } = new URL(url)
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port, path: pathname, agent, timeout: ANSWER_MAX_MS, ...options },
      (response) => {
        response.resume()
        response.on('error', reject)
        response.on('end', () => response.complete ? resolve(response) : reject(new Error('cut short')))
      })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', reject)
    request.end(body)
  })
}

function createHistory () {
  return {
    /** @type {import('../../src/histories/staleness.js').Save[]} */
    saves: [],
    /** @type {import('../../src/histories/staleness.js').Read[]} */
    reads: [],
    counts: { refused: 0, lost: 0, hits: 0, refused_saves: 0, backward: 0 }
  }
}

/**
 * One editor of each page, and readers that go from edge to edge. Every second reader says which revision it has seen.
 * @param {StackState} state @param {ReturnType<typeof createHistory>} history @param {() => boolean} isOver
 */
async function load (state, { saves, reads, counts }, isOver) {
  const agent = new http.Agent({ keepAlive: true })
  const entrances = entrancesOf(state.doors.cached)
  const source = entrancesOf(state.doors.source)[0]

  /** @param {string} page */
  async function edit (page) {
    while (!isOver()) {
      const body = `text ${saves.length} of ${page}`
      const options = { method: 'POST', body, headers: { ...source.headers, 'content-type': 'text/markdown' } }
      const answer = await send(agent, `${source.url}/wiki/${page}`, options).catch(() => null)
      const acknowledgedMs = performance.now()
      const revision = Number(answer?.headers['page-revision'])
      if (answer !== null && answer.statusCode < 300) saves.push({ page, revision, acknowledged_ms: acknowledgedMs })
      else counts.refused_saves++
      await sleep(50)
    }
  }

  /** @param {number} number */
  async function read (number) {
    /** @type {Record<string, number>} */
    const seen = {}
    for (let turn = number; !isOver(); turn++) {
      const page = `page-${turn % PAGES}`
      const { url, headers } = entrances[(turn >> 2) % entrances.length]
      const least = number % 2 === 0 && seen[page] !== undefined ? { 'page-revision-min': seen[page] } : {}
      const sentMs = performance.now()
      const answer = await send(agent, `${url}/wiki/${page}`, { headers: { ...headers, ...least } }).catch(() => null)
      if (answer?.statusCode !== 200) {
        if (answer === null) counts.lost++
        else counts.refused++
        await sleep(REFUSED_PAUSE_MS)
        continue
      }
      const revision = Number(answer.headers['page-revision'])
      if (answer.headers['cf-cache-status'] === 'HIT') counts.hits++
      if (number % 2 === 0 && revision < (seen[page] ?? 0)) counts.backward++
      seen[page] = Math.max(seen[page] ?? 0, revision)
      reads.push({ page, revision, sent_ms: sentMs })
    }
  }

  await Promise.all([
    ...Array.from({ length: PAGES }, (_, page) => edit(`page-${page}`)),
    ...Array.from({ length: READERS }, (_, number) => read(number))
  ])
  agent.destroy()
}

/** @param {StackState} state @returns {Promise<number>} the pid of the database's primary */
async function primaryOf ({ database_ports: ports = [], processes }) {
  const hosts = ports.map((port) => `127.0.0.1:${port}`)
  const client = new MongoClient(`mongodb://${hosts.join()}/?replicaSet=${REPLICA_SET}`)
  try {
    const { me } = await client.db().command({ hello: 1 })
    const index = hosts.indexOf(me)
    const name = index === 0 ? 'mongod' : `mongod ${index + 1}`
    return Number(processes.find((process) => process.name === name)?.pid)
  } finally {
    await client.close()
  }
}

/** What happens to the stack, again and again, until enough was read. @param {StackState} state */
function faultsOf (state) {
  const api = /** @type {string} */ (state.links_api)
  const pids = (/** @type {RegExp} */ name) =>
    state.processes.filter((process) => name.test(process.name)).map(({ pid }) => pid)
  const one = (/** @type {number[]} */ list) => list[Math.floor(Math.random() * list.length)]
  const post = (/** @type {string} */ path, /** @type {object} */ body) =>
    fetch(`${api}${path}`, { method: 'POST', body: JSON.stringify(body) })
  const toEdge = () => `${one(/** @type {any[]} */ (['edge', 'edge-2', 'edge-3']))}-origin`

  /** @param {number} pid @param {number} ms */
  async function pause (pid, ms) {
    await pauseProcess(pid)
    await sleep(ms)
    process.kill(pid, 'SIGCONT')
  }

  /** @param {string} link @param {object} toxic @param {number} ms */
  async function poison (link, toxic, ms) {
    await post(`/proxies/${link}/toxics`, { name: 'fault', stream: 'downstream', toxicity: 1, ...toxic })
    await sleep(ms)
    await fetch(`${api}/proxies/${link}/toxics/fault`, { method: 'DELETE' })
  }

  return {
    'the link of an edge is cut': async () => {
      const link = toEdge()
      await post(`/proxies/${link}`, { enabled: false })
      await sleep(1_500)
      await post(`/proxies/${link}`, { enabled: true })
    },
    'the link of an edge swallows everything': () =>
      poison(toEdge(), { type: 'timeout', attributes: { timeout: 0 } }, 1_500),
    'the link of an edge is slow': () =>
      poison(toEdge(), { type: 'latency', attributes: { latency: 300, jitter: 250 } }, 2_000),
    'a wiki is stopped for a while': () => pause(one(pids(/^wiki/)), 1_500),
    'a server of the database is stopped for a while': () => pause(one(pids(/^mongod/)), 2_000),
    'the primary is stopped until another one is elected, then comes back': async () =>
      pause(await primaryOf(state), 14_000)
  }
}

/** @param {StackState} state */
async function underFaults (state) {
  const faults = Object.values(faultsOf(state))
  const history = createHistory()
  let over = false
  const loading = load(state, history, () => over)
  const endsMs = performance.now() + MINUTES_MAX * 60_000
  for (let turn = 0; performance.now() < endsMs; turn++) {
    if (turn >= faults.length && history.reads.length >= READS) break
    await faults[turn % faults.length]()
    await sleep(500)
  }
  over = true
  await loading
  return history
}

describe('a wiki of two processes on a replica set of three, behind three edges', () => {
  /** @type {Awaited<ReturnType<typeof startDoors>>} */
  let stack
  /** @type {StackState} */
  let state

  /** @param {Record<string, string>} settings */
  async function start (settings) {
    stack = await startDoors({ ...OPEN_TO_TRIALS, ...settings }, {
      edges: EDGES, wikis: 2, database: 'replica-set-3', links: true
    })
    state = /** @type {StackState} */ (readState(stack.directory))
    const answers = () => fetch(`${stack.doors.source.replace('source.localhost', '127.0.0.1')}/healthz`)
      .then(({ ok }) => ok, () => false)
    assert.ok(await waitUntil(answers, WAIT_MAX_MS))
  }

  describe('under bounded', () => {
    before(() => start({ CACHE_POLICY: 'bounded', CACHE_BOUND_MS: String(BOUND_MS) }))
    after(() => stack.stop())

    test('no read is older than the bound, whatever fails', async (t) => {
      const { reads, saves, counts } = await underFaults(state)
      const judged = judgeStaleness({ reads, saves }, BOUND_MS)
      t.diagnostic(JSON.stringify({ ...judged, violations: judged.violations.length, saves: saves.length, ...counts }))
      assert.ok(reads.length >= READS, `only ${reads.length} reads were answered in ${MINUTES_MAX} minutes`)
      assert.ok(saves.length > 100 && counts.hits > reads.length / 2, 'edits are stored, and the edges answer most reads')
      assert.ok(counts.refused < reads.length, 'most reads are answered')
      assert.deepEqual(judged.violations, [])
      assert.equal(counts.backward, 0, 'no reader that says what it has seen gets an older revision')
    })
  })

  describe('under purge-tag', () => {
    before(() => start({ CACHE_POLICY: 'purge-tag' }))
    after(() => stack.stop())

    test('the same faults make reads older than that', async (t) => {
      const { reads, saves, counts } = await underFaults(state)
      const judged = judgeStaleness({ reads, saves }, BOUND_MS)
      t.diagnostic(JSON.stringify({ ...judged, violations: judged.violations.length, saves: saves.length, ...counts }))
      assert.ok(judged.violations.length > 0)
    })
  })
})
