import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { waitUntil } from '@stevec/harness/processes'
import { listenForEnd } from './background.js'

/** In 127.0.0.0/8: 10 000 addresses, in 40 networks of clients (wiki-app/src/http/waiting.js). */
const CLIENTS = '127.1.0.1-127.1.39.16'
export const CLIENTS_COUNT = 10_000
/** Starting all clients takes k6 half a minute of processor time on a server. */
const READY_TIMEOUT_MS = 600_000
/** People begin after the crawlers, so crawlers go on for longer. */
const LONGER_S = 5
const CRAWLED = /"uri":"\/(?:history|revision|difference)\//

/** People of the lab ask for none of these. @param {string} line  of an access log */
export const isCrawled = (line) => CRAWLED.test(line)

/**
 * Starts crawlers; resolves once all of them are there.
 * @param {object} options
 * @param {import('./generator.js').Generators} options.generators
 * @param {import('./generator.js').GeneratorSettings} options.probe  settings of the probe
 * @param {string} options.directory
 * @param {AbortSignal} options.signal
 */
export async function startCrawl ({ generators, probe, directory, signal }) {
  const ready = await listenForEnd()
  try {
    const { done } = await generators.start({
      name: 'crawl',
      directory,
      crawlsFrom: CLIENTS,
      settings: { ...probe, vus: CLIENTS_COUNT, duration_max_s: probe.duration_max_s + LONGER_S, until_url: ready.url }
    })
    let ended = false
    done.finally(() => { ended = true }).catch(() => {})
    await waitUntil(() => ended || signal.aborted || ready.answered() > 0, READY_TIMEOUT_MS)
    return { done }
  } finally {
    ready.close()
  }
}

/**
 * @param {string} file  a log of nginx
 * @param {number} start  bytes
 * @returns {Promise<{statuses: Record<string, number>, reads: number, writes: number}>} `statuses` of what crawlers
 *   asked for; `reads` and `writes` of people
 */
export async function readCrawl (file, start) {
  /** @type {Record<string, number>} */
  const statuses = {}
  const people = { reads: 0, writes: 0 }
  for await (const line of createInterface({ input: createReadStream(file, { start }) })) {
    const { method, status } = JSON.parse(line)
    if (isCrawled(line)) statuses[status] = (statuses[status] ?? 0) + 1
    else people[method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'] += 1
  }
  return { statuses, ...people }
}
