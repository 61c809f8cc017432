// People read pages and save them at a low constant rate, beside crawlers that ask for each history, old revision and
// difference once, at a high constant rate; or without these. From the environment: URL, CRAWLS_PER_S (0: none),
// READS_PER_S, DURATION_S, PAGES, REVISIONS.
import exec from 'k6/execution'
import http from 'k6/http'
import { Counter, Trend } from 'k6/metrics'

const { URL, CRAWLS_PER_S, READS_PER_S, DURATION_S, PAGES, REVISIONS } = __ENV
const [pages, revisions] = [Number(PAGES), Number(REVISIONS)]
/** One in so many requests of people is a save. */
const EDIT_EVERY = 10
/** Requests in flight that k6 can have here; it drops and counts arrivals beyond this. */
const VUS_MAX = 1_500

const atRate = (/** @type {number} */ rate, /** @type {string} */ exec, /** @type {number} */ vus) => ({
  executor: /** @type {const} */ ('constant-arrival-rate'),
  ...{ exec, rate, timeUnit: '1s', duration: `${DURATION_S}s`, preAllocatedVUs: vus, maxVUs: VUS_MAX },
  gracefulStop: '10s'
})

export const options = {
  scenarios: {
    people: atRate(Number(READS_PER_S), 'visit', 50),
    ...Number(CRAWLS_PER_S) > 0 && { crawlers: atRate(Number(CRAWLS_PER_S), 'crawl', 300) }
  },
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(99)', 'max']
}

const viewed = new Trend('viewed_ms')
const counts = Object.fromEntries(['people_failed', 'people_served', 'crawls_served', 'crawls_refused', 'crawls_other']
  .map((name) => [name, new Counter(name)]))

export function visit () {
  const number = exec.scenario.iterationInTest
  const page = `page-${number % pages}`
  const isEdit = number % EDIT_EVERY === 0
  const answer = isEdit
    ? http.put(`${URL}/api/v1/pages/${page}`, JSON.stringify({ content: `text ${number}` }), {
      timeout: '20s', headers: { 'content-type': 'application/json' }
    })
    : http.get(`${URL}/wiki/${page}`, { timeout: '20s' })
  if (!isEdit) viewed.add(answer.timings.blocked + answer.timings.duration)
  counts[answer.status === 200 ? 'people_served' : 'people_failed'].add(1)
}

/** No address comes twice before all have come. */
export function crawl () {
  const number = exec.scenario.iterationInTest
  const turn = Math.floor(number / 3)
  const page = `page-${turn % pages}`
  const revision = 2 + Math.floor(turn / pages) % (revisions - 1)
  const url = [
    `/difference/${page}?from=${revision - 1}&to=${revision}`, `/revision/${page}/${revision}`,
    `/history/${page}?before=${revision}`
  ][number % 3]
  const { status } = http.get(URL + url, { timeout: '20s' })
  counts[status === 200 ? 'crawls_served' : status === 503 ? 'crawls_refused' : 'crawls_other'].add(1)
}

/** @param {{metrics: Record<string, {values: Record<string, number>}>}} summary */
export function handleSummary ({ metrics }) {
  const value = (/** @type {string} */ metric, /** @type {string} */ name) =>
    (metrics[metric] ? metrics[metric].values[name] : 0)
  return {
    stdout: JSON.stringify({
      med_ms: value('viewed_ms', 'med'),
      p99_ms: value('viewed_ms', 'p(99)'),
      max_ms: value('viewed_ms', 'max'),
      dropped: value('dropped_iterations', 'count'),
      ...Object.fromEntries(Object.keys(counts).map((name) => [name, value(name, 'count')]))
    })
  }
}
