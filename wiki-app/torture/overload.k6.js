// Readers and editors arrive at a constant rate, whether the requests before them are done or not. The outcome of each
// edit is a line on stderr. From the environment: URL, RATE (a second), DURATION_S, PAGES, EDIT_EVERY (requests), TEXT.
import { check } from 'k6'
import exec from 'k6/execution'
import http from 'k6/http'
import { Counter, Trend } from 'k6/metrics'

const { URL, RATE, DURATION_S, PAGES, EDIT_EVERY, TEXT } = __ENV
/** Requests in flight that k6 can have here; it drops and counts arrivals beyond this. */
const VUS_MAX = 1_500

export const options = {
  scenarios: {
    readers: {
      executor: 'constant-arrival-rate',
      rate: Number(RATE),
      timeUnit: '1s',
      duration: `${DURATION_S}s`,
      preAllocatedVUs: 400,
      maxVUs: VUS_MAX,
      gracefulStop: '10s'
    }
  },
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(99)', 'max']
}

const accepted = new Trend('accepted_ms')
const refused = new Trend('refused_ms')
const acceptedCount = new Counter('accepted')
const refusedCount = new Counter('refused')
const otherCount = new Counter('other')

export default function ask () {
  const number = exec.scenario.iterationInTest
  const page = `page-${Math.floor(Math.random() * Number(PAGES))}`
  if (number % Number(EDIT_EVERY) === 0) edit(page, `edit-${number}`)
  else note(http.get(`${URL}/wiki/${page}`, { timeout: '20s' }))
}

/**
 * @param {string} page
 * @param {string} id  in the summary of the revision
 */
function edit (page, id) {
  const options = {
    timeout: '20s',
    headers: { 'content-type': 'application/json' },
    responseType: /** @type {const} */ ('text')
  }
  const answer = http.put(
    `${URL}/api/v1/pages/${page}`,
    JSON.stringify({ content: `${id} ${TEXT}`, summary: id }),
    options
  )
  const made = answer.status === 200 && { revision: JSON.parse(String(answer.body)).revision }
  console.log(JSON.stringify({ id, page, status: answer.status, ...made }))
  note(answer)
}

/** @param {import('k6/http').Response} answer */
function note (answer) {
  const durationMs = answer.timings.blocked + answer.timings.duration
  if (answer.status === 200) {
    acceptedCount.add(1)
    accepted.add(durationMs)
  } else if (check(answer, {
    'a 503 says when to come again': ({ status, headers }) => status === 503 && Number(headers['Retry-After']) > 0
  })) {
    refusedCount.add(1)
    refused.add(durationMs)
  } else {
    otherCount.add(1, { status: String(answer.status), error: answer.error })
  }
}

/** @param {{metrics: Record<string, {values: Record<string, number>}>}} summary */
export function handleSummary ({ metrics }) {
  const value = (/** @type {string} */ metric, /** @type {string} */ name) =>
    (metrics[metric] ? metrics[metric].values[name] : 0)
  const times = (/** @type {string} */ metric) => ({
    med_ms: value(metric, 'med'),
    p99_ms: value(metric, 'p(99)'),
    max_ms: value(metric, 'max')
  })
  return {
    stdout: JSON.stringify({
      accepted: { count: value('accepted', 'count'), ...times('accepted_ms') },
      refused: { count: value('refused', 'count'), ...times('refused_ms') },
      other: value('other', 'count'),
      dropped: value('dropped_iterations', 'count')
    })
  }
}
