// k6's script, for probe and background alike. All input is in the environment; see loadgen/src/lab/generator.js.
import exec from 'k6/execution'
import http from 'k6/http'
import { sleep } from 'k6'
import { SharedArray } from 'k6/data'
import { Trend } from 'k6/metrics'
import { arrivalTimesOf, BEGIN_MS } from './arrivals.js'
import { cacheStatusOf } from './cache-status.js'
import { createErrorCodes } from './error-code.js'
import { createMessages, needsText, textOf } from './messages.js'
import { requestAt } from './plan.js'
import { traceparentOf } from './traceparent.js'

/** @type {import('../src/lab/generator.js').GeneratorSettings} */
const settings = JSON.parse(__ENV.STEVEC_GENERATOR)
const { plan } = settings

/** All generators of a trial have called the lab by then: slow machines start k6 slowly. */
const setupTimeout = '180s'

/** k6 waits for requests in flight when the time is up: the wiki would count a cut-off request, but this script not. */
const gracefulStop = `${settings.timeout_s + 5}s`

/** When each request of the open model is to be sent, from `BEGIN_MS` on. */
const plannedMs = plannedTimes()

function plannedTimes () {
  if (settings.model !== 'open') return () => 0
  if (settings.arrivals === 'constant') return arrivalTimesOf(settings, plan)
  // Shared by all VUs: each of them would need the sums of all draws.
  const times = new SharedArray('arrivals', () => {
    const timeOf = arrivalTimesOf(settings, plan)
    return Array.from({ length: plan.requests }, (_, index) => timeOf(index))
  })
  return (/** @type {number} */ index) => times[index]
}

/** @type {Record<string, () => Record<string, import('k6/options').Scenario>>} */
const SCENARIOS = {
  groups: () => ({
    requests: {
      executor: 'per-vu-iterations',
      vus: settings.vus,
      iterations: plan.requests / settings.vus,
      maxDuration: `${settings.duration_max_s}s`,
      gracefulStop
    }
  }),
  closed: () => ({
    requests: {
      executor: 'shared-iterations',
      vus: Math.min(settings.vus, plan.requests),
      iterations: plan.requests,
      maxDuration: `${settings.duration_max_s}s`,
      gracefulStop
    }
  }),
  // k6's arrival-rate executors know no Poisson arrivals, and give a dropped iteration no index: here VUs take the next
  // index and wait for its planned time.
  open: () => ({
    requests: {
      executor: 'shared-iterations',
      vus: Math.min(settings.vus, plan.requests),
      iterations: plan.requests,
      maxDuration: `${Math.ceil((BEGIN_MS + plannedMs(plan.requests - 1)) / 1000) + settings.timeout_s}s`,
      gracefulStop
    }
  }),
  // k6 has no external command for an orderly end. One VU sends a request that the lab answers when it is time; the
  // others check whether that VU has finished.
  until: () => ({
    requests: {
      executor: 'per-vu-iterations',
      exec: 'readUntilTold',
      vus: settings.vus,
      iterations: 1,
      maxDuration: `${settings.duration_max_s}s`,
      gracefulStop
    },
    wait: {
      executor: 'per-vu-iterations',
      exec: 'waitUntilTold',
      vus: 1,
      iterations: 1,
      maxDuration: `${settings.duration_max_s}s`,
      gracefulStop: '1s'
    }
  })
}

export const options = {
  scenarios: SCENARIOS[settings.until_url !== null ? 'until' : settings.groups !== null ? 'groups' : settings.model](),
  setupTimeout,
  // The same as `stevec cloudflare verify` sends: it shows before the load whether a CDN refuses this client.
  userAgent: 'stevec',
  noConnectionReuse: !settings.connection_reuse,
  discardResponseBodies: true,
  // Names under .localhost are loopback by RFC 6761, but Go's resolver asks DNS for them.
  hosts: { '*.localhost': '127.0.0.1', localhost: '127.0.0.1', ...settings.hosts },
  systemTags: ['status', 'method', 'name']
}

/** A client keeps to one edge, the nearest, whatever it sends. */
const edges = settings.urls ?? [settings.url]
const [, host] = /^https?:\/\/([^/]+)/.exec(settings.url) ?? []
/** As with anycast, all edges have one name. @type {Record<string, string>} */
const toEdge = { ...edges.length === 1 ? {} : { Host: host }, ...settings.headers }

/** @type {(index: number) => Record<string, string>} */
const headersOf = settings.traceparent
  ? (index) => ({ ...toEdge, traceparent: traceparentOf(plan, index, settings.trace_ratio ?? 0) })
  : () => toEdge

const errorCodeOf = createErrorCodes(settings.protocol)

/** Shared by all VUs. */
const shared = (/** @type {string} */ name, /** @type {() => string[]} */ make) => new SharedArray(name, make)
const paths = settings.paths_file === undefined
  ? null
  : shared('paths', () => JSON.parse(open(/** @type {string} */ (settings.paths_file))))
const base = needsText(settings) ? shared('text', () => [textOf(settings)])[0] : ''
const { readOf, editOf } = createMessages(settings, { paths, base })

/** One sample per request, with facts of the response that k6's own metrics cannot carry. */
const sample = new Trend('stevec_request', true)

/** Ms since the begin of the test, by the wall clock and with fractions; Date has whole ones. */
const clockMs = () => (instance ??= exec.instance).currentTestRunDuration

// k6 makes each of these objects anew at each access, and only while the test runs.
/** @type {typeof exec.instance | undefined} */
let instance
/** @type {typeof exec.scenario | undefined} */
let scenario
/** Of the edge of this VU. @type {string | undefined} */
let url
/** Of this VU's samples. @type {typeof exec.vu.metrics.metadata | undefined} */
let metadata

/** Of this VU: the record service is stopped. What is left of the plan is not sent. */
let isOver = false

/** Ticks of Date by which the begin of the test is found. */
const TICKS = 5

/** @typedef {{testBeganAtUs: number, beginMs: number}} Began  since 1970; the plan's begin, ms of `clockMs` */

/** @returns {Began} */
export function setup () {
  const beginAtUs = settings.begin_url === undefined ? null : commonBegin(settings.begin_url)
  const testBeganAtUs = findTestBegin()
  return { testBeganAtUs, beginMs: beginAtUs === null ? BEGIN_MS : (beginAtUs - testBeganAtUs) / 1000 }
}

/**
 * Waits until all generators of the trial are ready.
 * @param {string} url
 * @returns {number} when the plan of all begins, by this machine's clock, microseconds since 1970
 * @throws {Error} when one of the others has ended
 */
function commonBegin (url) {
  const response = http.get(url, { timeout: setupTimeout, responseType: 'text', tags: { name: 'begin' } })
  if (response.status !== 200) throw new Error('the generators of this trial did not begin together')
  return Number(response.body)
}

/**
 * Finds when the test began. The script notices a tick of Date a little late, so the latest begin is the best.
 * @returns {number} microseconds since 1970
 */
function findTestBegin () {
  let testBeganAtUs = 0
  for (let ticks = settings.model === 'open' ? TICKS : 0; ticks > 0; ticks--) {
    const before = Date.now()
    let now = before
    while (now === before) now = Date.now()
    testBeganAtUs = Math.max(testBeganAtUs, Math.round(1000 * (now - clockMs())))
  }
  return testBeganAtUs
}

/**
 * Ends the test with exit code 108 if an iteration throws. k6 itself logs that and goes on, and the lab would take the
 * request for one that was never sent.
 * @template Argument
 * @param {(argument: Argument) => void} iterate
 * @returns {(argument: Argument) => void}
 */
const orAbort = (iterate) => (argument) => {
  try {
    iterate(argument)
  } catch (error) {
    exec.test.abort(`the script failed: ${/** @type {Error} */ (error).stack || error}`)
  }
}

export default orAbort(oneIteration)
export const readUntilTold = orAbort(readOn)

/** @param {Began} began */
function oneIteration ({ testBeganAtUs, beginMs }) {
  if (isOver) return
  const index = settings.groups === null
    ? (scenario ??= exec.scenario).iterationInTest
    : indexOfClient(settings.vus)
  // Everything that takes time comes before the wait, so that none of it is in the response time.
  const { page, edit } = requestAt(plan, index)
  const creates = edit && settings.edit === 'create-get'
  const editing = edit ? editOf(index, page) : null
  const reading = creates && editing !== null ? { ...readOf(page), path: editing.path } : readOf(page)
  const reads = !edit || settings.edit === 'get-post'
  waitForGroup()
  const dueMs = settings.model === 'open' ? beginMs + plannedMs(index) : null
  if (dueMs !== null) {
    const earlyMs = dueMs - clockMs()
    // A visitor who has waited for that long has gone. Samples lack the request, so the lab sees that it was not sent.
    if (earlyMs < -1000 * settings.timeout_s) return
    if (earlyMs > 0) sleep(earlyMs / 1000)
  }
  const atUs = (/** @type {number} */ clock) => testBeganAtUs + Math.round(1000 * clock)
  const plannedAtUs = dueMs === null ? null : atUs(dueMs)
  if (reads) send(reading, index, plannedAtUs)
  // The POST of `get-post` follows its GET.
  if (editing !== null) send(editing, index, reads && dueMs !== null ? atUs(clockMs()) : plannedAtUs)
  if (creates) send(reading, index, null)
  if (settings.pause_s > 0) sleep(settings.pause_s)
}

/** The clients take turns in the plan: `iterationInTest` has gaps in a k6 with a part. @param {number} clients */
const indexOfClient = (clients) => exec.vu.idInTest - 1 + clients * exec.vu.iterationInScenario

/** Before its first iteration, a client waits for the turn of its group. */
function waitForGroup () {
  if (settings.groups === null || exec.vu.iterationInScenario > 0) return
  sleep(Math.floor((exec.vu.idInTest - 1) / settings.groups.vus) * settings.groups.every_s)
}

function readOn () {
  // Not by the VU's number: the one that waits for the end has one of these, too.
  url = edges[exec.scenario.iterationInTest % edges.length]
  for (let index = exec.scenario.iterationInTest; exec.instance.iterationsCompleted === 0; index += settings.vus) {
    send(readOf(requestAt(plan, index).page), index, null)
    // Once per reader: the lab starts the probe only after all of them.
    if (index < settings.vus) http.get(`${settings.until_url}/answered`, { tags: { name: 'until' } })
    if (settings.pause_s > 0) sleep(settings.pause_s)
  }
}

export function waitUntilTold () {
  // Ends also when the lab is gone, as the background then has no purpose.
  http.get(/** @type {string} */ (settings.until_url), {
    timeout: `${settings.duration_max_s}s`,
    tags: { name: 'until' }
  })
}

/**
 * @param {import('./messages.js').Request} request
 * @param {number} index
 * @param {number | null} plannedAtUs  null: not planned
 */
function send ({ method, path, body, type = '', linksTo }, index, plannedAtUs) {
  url ??= edges[(exec.vu.idInTest - 1) % edges.length]
  const beganMs = clockMs()
  const response = http.request(method, (body === null ? url : settings.edit_url ?? url) + path, body, {
    redirects: 0,
    timeout: `${settings.timeout_s}s`,
    headers: body === null ? headersOf(index) : { ...headersOf(index), 'Content-Type': type },
    // A constant name limits the number of time series.
    tags: { name: 'page' }
  })
  const endedMs = clockMs()
  isOver = Boolean(settings.record_stop) && response.status === 0
  const { timings } = response
  // Metadata, unlike tags, creates no time series.
  metadata ??= exec.vu.metrics.metadata
  Object.assign(metadata, {
    iteration: String(index),
    planned_at_us: plannedAtUs === null ? '' : String(plannedAtUs),
    size_bytes: response.headers['Content-Length'] || '',
    revision: response.headers['Page-Revision'] || '',
    // CF-Ray ends with the airport code of the point of presence.
    pop: (/-([A-Z]{3})$/.exec(response.headers['Cf-Ray'] || '') || ['', ''])[1],
    error_code: errorCodeOf(response, method, linksTo),
    phase: response.status > 0 ? '' : timings.receiving > 0 ? 'receive' : timings.waiting > 0 ? 'wait' : 'connect'
  })
  // k6 gives a failed connection no duration, and counts the time from the end of connecting until the request goes on
  // twice: in `blocked` and in `sending`. Both together are never longer than the call.
  const elapsedMs = endedMs - beganMs
  sample.add(response.status > 0 ? Math.min(timings.blocked + timings.duration, elapsedMs) : elapsedMs, {
    method,
    status: String(response.status),
    cache_status: cacheStatusOf((name) => response.headers[canonical(name)])
  })
}

/** Formats a header's name as Go does. @param {string} name */
const canonical = (name) => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
