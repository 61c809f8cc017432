// People, or crawlers, as ROLE says, at a constant rate of arrivals; main.js runs both beside each other. From the
// environment: ROLE, WIKI, FIRST (see crawl-addresses.js), URL, SECONDS, PAGES, REVISIONS; of people VIEWS_PER_S,
// EDITS_PER_S, SEED; of crawlers CRAWLS_PER_S, FROM (the first address of the sweep), ADDRESSES (of clients).
import exec from 'k6/execution'
import http from 'k6/http'
import { Counter, Trend } from 'k6/metrics'
import { draw } from '../../scenarios/plan.js'
import { choosePage } from '../../scenarios/popularity.js'
import { addressesOf, pathOfSweep } from '../../scenarios/crawl-addresses.js'

const { ROLE, WIKI, URL, SECONDS, VIEWS_PER_S, EDITS_PER_S, SEED, CRAWLS_PER_S, FROM, ADDRESSES, READY_URL } = __ENV
const size = { pages: Number(__ENV.PAGES), revisions: Number(__ENV.REVISIONS) }
const addresses = addressesOf(WIKI, size, Number(__ENV.FIRST))
/** Of Zipf's law, see popularity.js. */
const EXPONENT = 1
const EDIT_STREAM = 100
const PATIENCE = '20s'
const PEOPLE_AT_ONCE_MAX = 500

const atRate = (/** @type {string} */ exec, /** @type {number} */ perS, /** @type {number} */ vus) => ({
  executor: /** @type {const} */ ('constant-arrival-rate'),
  ...{ exec, rate: Math.round(60 * perS), timeUnit: '1m', duration: `${SECONDS}s` },
  ...{ preAllocatedVUs: vus, maxVUs: Math.max(vus, PEOPLE_AT_ONCE_MAX), gracefulStop: PATIENCE }
})

/** @type {import('k6/options').Options} */
export const options = {
  scenarios: ROLE === 'people'
    ? { readers: atRate('view', Number(VIEWS_PER_S), 50), editors: atRate('edit', Number(EDITS_PER_S), 5) }
    // Each VU has one address of --local-ips, and arrivals go round all idle VUs.
    : { crawlers: atRate('crawl', Number(CRAWLS_PER_S), Number(ADDRESSES)) },
  // Names under .localhost are loopback by RFC 6761, but Go's resolver asks DNS for them.
  hosts: { '*.localhost': '127.0.0.1' },
  noConnectionReuse: ROLE !== 'people',
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(99)', 'max']
}

const times = { view: new Trend('view_ms'), edit: new Trend('edit_ms') }
const counts = Object.fromEntries(['views', 'hits', 'edits', 'failed', 'served', 'refused', 'unanswered', 'other']
  .map((name) => [name, new Counter(name)]))

/** k6 calls it once it has all clients. */
export function setup () {
  if (READY_URL) http.get(READY_URL)
}

/** @param {number} stream @returns {number} a page by Zipf's law */
const choose = (stream) => choosePage({ zipf: EXPONENT }, size.pages, (attempt) =>
  draw(Number(SEED), stream + attempt, exec.scenario.iterationInTest))

/** @param {import('k6/http').Response} answer @param {'view' | 'edit'} kind */
function note ({ status, timings }, kind) {
  times[kind].add(timings.blocked + timings.duration)
  counts[`${kind}s`].add(1)
  if (status !== 200) counts.failed.add(1)
}

export function view () {
  const answer = http.get(URL + addresses.view(choose(0)), { timeout: PATIENCE })
  note(answer, 'view')
  if (answer.headers['Cf-Cache-Status'] === 'HIT') counts.hits.add(1)
}

export function edit () {
  const text = `Edit ${exec.scenario.iterationInTest} of ${SEED}. ${'words and words '.repeat(300)}`
  const { method, path, type, body } = addresses.save(choose(EDIT_STREAM), text)
  note(http.request(method, URL + path, body, { timeout: PATIENCE, headers: { 'content-type': type } }), 'edit')
}

export function crawl () {
  const path = pathOfSweep(addresses, Number(FROM) + exec.scenario.iterationInTest, size)
  const { status } = http.get(URL + path, { timeout: PATIENCE })
  counts[status === 200 ? 'served' : status === 503 ? 'refused' : status === 0 ? 'unanswered' : 'other'].add(1)
}

/** @param {{metrics: Record<string, {values: Record<string, number>}>}} summary */
export function handleSummary ({ metrics }) {
  const value = (/** @type {string} */ metric, /** @type {string} */ name) => metrics[metric]?.values[name] ?? 0
  const timesOf = (/** @type {string} */ kind) => ({
    med_ms: value(`${kind}_ms`, 'med'), p99_ms: value(`${kind}_ms`, 'p(99)'), max_ms: value(`${kind}_ms`, 'max')
  })
  return {
    stdout: JSON.stringify({
      view: timesOf('view'),
      edit: timesOf('edit'),
      not_sent: value('dropped_iterations', 'count'),
      ...Object.fromEntries(Object.keys(counts).map((name) => [name, value(name, 'count')]))
    })
  }
}
