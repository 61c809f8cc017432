// k6's script, for probe and background alike. All input is in the environment; see loadgen/src/lab/generator.js.
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

/** k6 waits for requests in flight when the time is up: the wiki would count a cut-off request, but this script not. */
const gracefulStop = `${settings.timeout_s + 5}s`

/** @type {Record<string, () => Record<string, import('k6/options').Scenario>>} */
const SCENARIOS = {
  closed: () => ({
    requests: {
      executor: 'shared-iterations',
      vus: Math.min(settings.vus, plan.requests),
      iterations: plan.requests,
      maxDuration: `${settings.duration_max_s}s`,
      gracefulStop
    }
  }),
  open: () => ({
    requests: {
      executor: 'constant-arrival-rate',
      // k6 accepts only whole numbers: thousandths of a request per second are requests per 1000 s.
      rate: Math.round(rate * 1000),
      timeUnit: '1000s',
      // One interval longer than needed: k6 may start one iteration fewer than rate × duration; the default function
      // skips surplus ones. k6 rejects less than 1 s.
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
      // A stage of length 0 is a step. The last stage is longer for the same reason as above.
      stages: stagesOf(
        rate,
        settings.burst,
        settings.duration_max_s + 2 / rate
      ).flatMap(({ duration_s: durationS, from_per_s: from, to_per_s: to }) => [
        { target: Math.round(from * 1000), duration: '0s' },
        { target: Math.round(to * 1000), duration: `${Math.ceil(durationS * 1000)}ms` }
      ]),
      preAllocatedVUs: settings.vus,
      maxVUs: settings.vus,
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
  scenarios: SCENARIOS[settings.until_url !== null ? 'until' : settings.burst !== null ? 'burst' : settings.model](),
  // The same as `stevec cloudflare verify` sends: it shows before the load whether a CDN refuses this client.
  userAgent: 'stevec',
  noConnectionReuse: !settings.connection_reuse,
  discardResponseBodies: true,
  // Names under .localhost are loopback by RFC 6761, but Go's resolver asks DNS for them.
  hosts: { '*.localhost': '127.0.0.1', localhost: '127.0.0.1' },
  systemTags: ['status', 'method', 'name']
}

const largestEdit = settings.edit_size_chars ?? largestOf(settings.page_size_chars)
/** Shared by all VUs. */
const base = plan.edit_ratio > 0 ? new SharedArray('text', () => [pageText(plan.seed, 0, largestEdit)])[0] : ''

/** One sample per request, with facts of the response that k6's own metrics cannot carry. */
const sample = new Trend('stevec_request', true)

export default function () {
  const index = exec.scenario.iterationInTest
  if (index >= plan.requests) return
  const { page, edit } = requestAt(plan, index)
  if (!edit || settings.edit === 'get-post') send('GET', index, page, null)
  if (edit) {
    send('POST', index, page, editText(
      base,
      `${settings.mark}x${index}`,
      settings.edit_size_chars ?? sizeOf(plan.seed, page, settings.page_size_chars)
    ))
  }
  if (settings.pause_s > 0) sleep(settings.pause_s)
}

export function readUntilTold () {
  for (let index = exec.scenario.iterationInTest; exec.instance.iterationsCompleted === 0; index += settings.vus) {
    send('GET', index, requestAt(plan, index).page, null)
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
    // A constant name limits the number of time series.
    tags: { name: 'page' }
  })
  // Metadata, unlike tags, creates no time series.
  Object.assign(exec.vu.metrics.metadata, {
    iteration: String(index),
    size_bytes: response.headers['Content-Length'] || '',
    revision: response.headers['Page-Revision'] || '',
    // CF-Ray ends with the airport code of the point of presence.
    pop: (/-([A-Z]{3})$/.exec(response.headers['Cf-Ray'] || '') || ['', ''])[1],
    error_code: response.error_code ? String(response.error_code) : ''
  })
  sample.add(response.timings.blocked + response.timings.duration, {
    method,
    status: String(response.status),
    cache_status: cacheStatusOf((name) => response.headers[canonical(name)])
  })
}

/** Formats a header's name as Go does. @param {string} name */
const canonical = (name) => name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

/** @param {any} data */
export function handleSummary (data) {
  /** @type {(metric: string, field: string) => number} */
  const value = (metric, field) => (data.metrics[metric] ? data.metrics[metric].values[field] : 0)
  return { [settings.summary_file]: JSON.stringify({ dropped_iterations: value('dropped_iterations', 'count') }) }
}
