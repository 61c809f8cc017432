import assert from 'node:assert/strict'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { judgeStaleness } from '../../src/histories/staleness.js'
import { OPEN_TO_TRIALS, WITHOUT_QUEUE } from '../../src/lab/wiki-settings.js'
import { entrancesOf } from '../../src/stack/doors.js'
import { EDGE_NAMES } from '../../src/stack/edge-names.js'
import { readState } from '../../src/stack/state.js'
import { startDoors } from '../doors.js'
import { faultsOf, keepRunning } from './bounded-faults.js'

/** BOUNDED_READS=100000 for as many reads. */
const READS = Number(process.env.BOUNDED_READS ?? 20_000)
const BOUND_MS = 500
const EDGES = 5
const WIKIS = 3
const READERS = 8
const PAGES = 4
const MINUTES_MAX = Math.max(8, READS / 4_000)
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
    /** @type {(import('../../src/histories/staleness.js').Read & {edge: number, cache: string})[]} */
    reads: [],
    /** @type {{name: string, began_ms: number, ended_ms: number}[]} */
    faults: [],
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
      const edge = (turn >> 2) % entrances.length
      const { url, headers } = entrances[edge]
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
      const cache = String(answer.headers['cf-cache-status'])
      if (cache === 'HIT') counts.hits++
      if (number % 2 === 0 && revision < (seen[page] ?? 0)) counts.backward++
      seen[page] = Math.max(seen[page] ?? 0, revision)
      reads.push({ page, revision, sent_ms: sentMs, done_ms: performance.now(), edge, cache })
    }
  }

  await Promise.all([
    ...Array.from({ length: PAGES }, (_, page) => edit(`page-${page}`)),
    ...Array.from({ length: READERS }, (_, number) => read(number))
  ])
  agent.destroy()
}

/** Until enough was read. @param {string} directory  of the stack */
async function underFaults (directory) {
  const state = /** @type {StackState} */ (readState(directory))
  const faults = Object.entries(faultsOf(directory, EDGE_NAMES.slice(0, EDGES)))
  const history = createHistory()
  let over = false
  const loading = load(state, history, () => over)
  const endsMs = performance.now() + MINUTES_MAX * 60_000
  for (let turn = 0; performance.now() < endsMs; turn++) {
    if (turn >= faults.length && history.reads.length >= READS) break
    const [name, happen] = faults[turn % faults.length]
    const beganMs = performance.now()
    await happen()
    history.faults.push({ name, began_ms: beganMs, ended_ms: performance.now() })
    await sleep(500)
  }
  over = true
  await loading
  return history
}

/** @param {ReturnType<typeof createHistory>} history @param {ReturnType<typeof judgeStaleness>} judged */
const summaryOf = ({ saves, faults, counts }, judged) => JSON.stringify({
  ...judged, violations: judged.violations.length, saves: saves.length, faults: faults.length, ...counts
})

/**
 * What failed when a read was sent, or within ten seconds before.
 * @param {ReturnType<typeof createHistory>} history @param {{sent_ms: number}} read
 */
const during = ({ faults }, { sent_ms: sentMs }) => faults
  .filter(({ began_ms: beganMs, ended_ms: endedMs }) => beganMs <= sentMs && endedMs + 10_000 >= sentMs)
  .map(({ name, began_ms: beganMs, ended_ms: endedMs }) =>
    `${name}, from ${Math.round(beganMs - sentMs)} to ${Math.round(endedMs - sentMs)} ms`)

describe('a wiki of three processes on a replica set of three, behind five edges', () => {
  /** @type {Awaited<ReturnType<typeof startDoors>>} */
  let stack
  let leave = async () => {}

  /** @param {Record<string, string>} settings */
  async function start (settings) {
    stack = await startDoors({ ...OPEN_TO_TRIALS, ...WITHOUT_QUEUE, ...settings }, {
      edges: EDGES, wikis: WIKIS, database: 'replica-set-3', links: true, outlive: true, edgeOptions: { warm: true }
    })
    const answers = () => fetch(`${stack.doors.source.replace('source.localhost', '127.0.0.1')}/healthz`)
      .then(({ ok }) => ok, () => false)
    assert.ok(await waitUntil(answers, WAIT_MAX_MS))
    leave = keepRunning(stack.directory)
  }

  async function stop () {
    await leave()
    await stack.stop()
  }

  describe('under bounded', () => {
    before(() => start({ CACHE_POLICY: 'bounded', CACHE_BOUND_MS: String(BOUND_MS) }))
    after(stop)

    test('no read is older than the bound, whatever fails', async (t) => {
      const history = await underFaults(stack.directory)
      const { reads, saves, counts } = history
      const judged = judgeStaleness(history, BOUND_MS)
      t.diagnostic(summaryOf(history, judged))
      assert.ok(reads.length >= READS, `only ${reads.length} reads were answered in ${MINUTES_MAX} minutes`)
      assert.ok(saves.length > 100 && counts.hits > reads.length / 2, 'edits are stored, and the edges answer most reads')
      assert.ok(counts.refused < reads.length, 'most reads are answered')
      assert.deepEqual(judged.violations.map((read) => ({ ...read, faults: during(history, read) })), [])
      assert.ok(judged.atomic_delta_ms <= BOUND_MS, 'nor older than what another read had that long before')
      assert.equal(counts.backward, 0, 'no reader that says what it has seen gets an older revision')
    })
  })

  describe('under purge-tag', () => {
    before(() => start({ CACHE_POLICY: 'purge-tag' }))
    after(stop)

    test('the same faults make reads older than that', async (t) => {
      const history = await underFaults(stack.directory)
      const judged = judgeStaleness(history, BOUND_MS)
      t.diagnostic(summaryOf(history, judged))
      assert.ok(judged.violations.length > 0)
    })
  })
})
