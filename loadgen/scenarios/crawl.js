// k6's script of crawlers, each with an address of its own (--local-ips). All input is in the environment; see
// loadgen/src/lab/crawl.js. What they were answered is in the logs of nginx.
import exec from 'k6/execution'
import http from 'k6/http'
import { addressesOf, lengthOfSweep, pathOfSweep } from './crawl-addresses.js'

/** @type {import('../src/lab/generator.js').GeneratorSettings} */
const settings = JSON.parse(__ENV.STEVEC_GENERATOR)
const addresses = addressesOf('stevec', settings, 0)
const length = lengthOfSweep(settings)

/** @type {import('k6/options').Options} */
export const options = {
  scenarios: {
    // Arrivals go round all idle VUs, and each VU has one address.
    crawl: {
      executor: 'constant-arrival-rate',
      ...{ rate: settings.crawl_per_s ?? 0, timeUnit: '1s', duration: `${settings.duration_max_s}s` },
      ...{ preAllocatedVUs: settings.vus, maxVUs: settings.vus, gracefulStop: `${settings.timeout_s + 5}s` }
    }
  },
  setupTimeout: '180s',
  userAgent: 'stevec-crawl',
  hosts: { '*.localhost': '127.0.0.1', localhost: '127.0.0.1' },
  noConnectionReuse: true,
  discardResponseBodies: true
}

/** k6 calls it once it has all clients. */
export function setup () {
  http.get(`${settings.until_url}/answered`)
}

export default function () {
  const path = pathOfSweep(addresses, exec.scenario.iterationInTest % length, settings)
  http.get(settings.url + path, { timeout: `${settings.timeout_s}s`, redirects: 0 })
}
