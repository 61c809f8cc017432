// Reads pages in the order of the plan, closed model. Everything it needs comes in the environment; see loadgen/src/lab/k6.js.
import exec from 'k6/execution'
import http from 'k6/http'
import { sleep } from 'k6'
import { Trend } from 'k6/metrics'
import { pageName, requestAt } from './plan.js'

const settings = JSON.parse(__ENV.STEVEC_TRIAL)

export const options = {
  scenarios: {
    requests: {
      executor: 'shared-iterations',
      vus: settings.vus,
      iterations: settings.plan.requests,
      maxDuration: `${settings.duration_max_s}s`
    }
  },
  noConnectionReuse: !settings.connection_reuse,
  discardResponseBodies: true,
  // Names under .localhost are loopback by RFC 6761, but Go's resolver asks the DNS for them.
  hosts: { '*.localhost': '127.0.0.1', localhost: '127.0.0.1' },
  systemTags: ['status', 'method', 'name']
}

/** One sample a request, with what k6's own metrics cannot carry: facts of the response. */
const sample = new Trend('stevec_request', true)

export default function () {
  const iteration = exec.scenario.iterationInTest
  const { method, page } = requestAt(settings.plan, iteration)
  const response = http.request(method, `${settings.url}/wiki/${pageName(page)}`, null, {
    redirects: 0,
    timeout: `${settings.timeout_s}s`,
    // A constant name keeps the number of time series small.
    tags: { name: 'page' }
  })
  // Metadata, unlike tags, makes no time series of its own.
  exec.vu.metrics.metadata.iteration = String(iteration)
  exec.vu.metrics.metadata.size_bytes = response.headers['Content-Length'] || ''
  exec.vu.metrics.metadata.revision = response.headers['Page-Revision'] || ''
  sample.add(response.timings.blocked + response.timings.duration, {
    status: String(response.status),
    cache_status: response.headers['Cf-Cache-Status'] || response.headers['X-Cache-Status'] || ''
  })
  if (settings.pause_s > 0) sleep(settings.pause_s)
}

/** @param {any} data */
export function handleSummary (data) {
  /** @type {(metric: string, field: string) => number} */
  const value = (metric, field) => (data.metrics[metric] ? data.metrics[metric].values[field] : 0)
  return {
    [settings.summary_file]: JSON.stringify({
      iterations: value('iterations', 'count'),
      dropped_iterations: value('dropped_iterations', 'count'),
      requests: value('http_reqs', 'count')
    })
  }
}
