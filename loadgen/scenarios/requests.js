// What k6 runs, probe and background alike. Everything it needs comes in the environment; see loadgen/src/lab/generator.js.
import exec from 'k6/execution'
import http from 'k6/http'
import { sleep } from 'k6'
import { SharedArray } from 'k6/data'
import { Trend } from 'k6/metrics'
import { stagesOf } from './arrivals.js'
import { cacheStatusOf } from './cache-status.js'
import { editText, largestOf, pageText, sizeOf } from './content.js'
import { pageName, requestAt } from './plan.js'

/** @type {import('../src/lab/generator.js').GeneratorSettings} */
const settings = JSON.parse(__ENV.STEVEC_GENERATOR)
const { plan } = settings
const rate = settings.rate_per_s ?? 1

/** A request that was sent is waited for, also when its time is up: one that is cut off would be counted by the wiki and not here. */
const gracefulStop = `${settings.timeout_s + 5}s`

/** @type {Record<string, () => Record<string, import('k6/options').Scenario>>} */
const SCENARIOS = {
  closed: () => ({
    requests: { executor: 'shared-iterations', vus: Math.min(settings.vus, plan.requests), iterations: plan.requests, maxDuration: `${settings.duration_max_s}s`, gracefulStop }
  }),
  open: () => ({
    requests: {
      executor: 'constant-arrival-rate',
      // k6 takes whole numbers only: thousandths of a request a second are requests in 1000 s.
      rate: Math.round(rate * 1000),
      timeUnit: '1000s',
      // One beat more than needed: k6 may begin one iteration less than rate × duration, and those too many are passed over below. k6 refuses less than 1 s.
      duration: `${Math.max(1000, Math.ceil((plan.requests + 1) / rate * 1000))}ms`,
      preAllocatedVUs: settings.vus,
      maxVUs: settings.vus,
      gracefulStop
    }
  }),
  burst: () => ({
    requests: {
      executor: 'ramping-arrival-rate',
      startRate: Math.round(rate * 1000),
      timeUnit: '1000s',
      // A stage of no length is a step. The last stage is longer for the same reason as above.
      stages: stagesOf(rate, settings.burst, settings.duration_max_s + 2 / rate).flatMap(({ duration_s: durationS, from_per_s: from, to_per_s: to }) => [
        { target: Math.round(from * 1000), duration: '0s' },
        { target: Math.round(to * 1000), duration: `${Math.ceil(durationS * 1000)}ms` }
      ]),
      preAllocatedVUs: settings.vus,
      maxVUs: settings.vus,
      gracefulStop
    }
  }),
  // k6 cannot be told from outside to end in order. One VU asks the lab and is answered when it is time; the others look whether it has been.
  until: () => ({
    requests: { executor: 'per-vu-iterations', exec: 'readUntilTold', vus: settings.vus, iterations: 1, maxDuration: `${settings.duration_max_s}s`, gracefulStop },
    wait: { executor: 'per-vu-iterations', exec: 'waitUntilTold', vus: 1, iterations: 1, maxDuration: `${settings.duration_max_s}s`, gracefulStop: '1s' }
  })
}

export const options = {
  scenarios: SCENARIOS[settings.until_url !== null ? 'until' : settings.burst !== null ? 'burst' : settings.model](),
  // As `stevec cloudflare verify` asks: what a CDN refuses to some clients shows before the load.
  userAgent: 'stevec',
  noConnectionReuse: !settings.connection_reuse,
  discardResponseBodies: true,
  // Names under .localhost are loopback by RFC 6761, but Go's resolver asks the DNS for them.
  hosts: { '*.localhost': '127.0.0.1', localhost: '127.0.0.1' },
  systemTags: ['status', 'method', 'name']
}

const largestEdit = settings.edit_size_chars ?? largestOf(settings.page_size_chars)
/** Made once for all VUs. */
const base = plan.edit_ratio > 0 ? new SharedArray('text', () => [pageText(plan.seed, 0, largestEdit)])[0] : ''

/** One sample a request, with what k6's own metrics cannot carry: facts of the response. */
const sample = new Trend('stevec_request', true)

export default function () {
  const index = exec.scenario.iterationInTest
  if (index >= plan.requests) return
  const { page, edit } = requestAt(plan, index)
  if (!edit || settings.edit === 'get-post') send('GET', index, page, null)
  if (edit) send('POST', index, page, editText(base, `${settings.mark}x${index}`, settings.edit_size_chars ?? sizeOf(plan.seed, page, settings.page_size_chars)))
  if (settings.pause_s > 0) sleep(settings.pause_s)
}

export function readUntilTold () {
  for (let index = exec.scenario.iterationInTest; exec.instance.iterationsCompleted === 0; index += settings.vus) {
    send('GET', index, requestAt(plan, index).page, null)
    // Once a reader: the lab waits for all of them before the probe starts.
    if (index < settings.vus) http.get(`${settings.until_url}/answered`, { tags: { name: 'until' } })
    if (settings.pause_s > 0) sleep(settings.pause_s)
  }
}

export function waitUntilTold () {
  // Ends also when the lab is gone: then nobody is left to be a background for.
  http.get(/** @type {string} */ (settings.until_url), { timeout: `${settings.duration_max_s}s`, tags: { name: 'until' } })
}

/**
 * @param {'GET' | 'POST'} method
 * @param {number} index
 * @param {number} page
 * @param {string | null} body
 */
function send (method, index, page, body) {
  const response = http.request(method, `${settings.url}/wiki/${pageName(page)}`, body, {
    redirects: 0,
    timeout: `${settings.timeout_s}s`,
    headers: body === null ? {} : { 'Content-Type': 'text/markdown' },
    // A constant name keeps the number of time series small.
    tags: { name: 'page' }
  })
  // Metadata, unlike tags, makes no time series of its own.
  Object.assign(exec.vu.metrics.metadata, {
    iteration: String(index),
    size_bytes: response.headers['Content-Length'] || '',
    revision: response.headers['Page-Revision'] || '',
    // CF-Ray ends in the airport of the point of presence that answered.
    pop: (/-([A-Z]{3})$/.exec(response.headers['Cf-Ray'] || '') || ['', ''])[1],
    error_code: response.error_code ? String(response.error_code) : ''
  })
  sample.add(response.timings.blocked + response.timings.duration, {
    method,
    status: String(response.status),
    cache_status: cacheStatusOf((name) => response.headers[canonical(name)])
  })
}

/** As Go writes a header's name. @param {string} name */
const canonical = (name) => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

/** @param {any} data */
export function handleSummary (data) {
  /** @type {(metric: string, field: string) => number} */
  const value = (metric, field) => (data.metrics[metric] ? data.metrics[metric].values[field] : 0)
  return { [settings.summary_file]: JSON.stringify({ dropped_iterations: value('dropped_iterations', 'count') }) }
}
