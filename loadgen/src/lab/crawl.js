import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { waitUntil } from '@stevec/harness/processes'
import { listenForEnd } from './background.js'
import { round } from './generator.js'

/** In 127.0.0.0/8: 10 000 addresses, in 40 networks of clients (wiki-app/src/http/waiting.js). */
const CLIENTS = '127.1.0.1-127.1.39.16'
export const CLIENTS_COUNT = 10_000
/** Starting all clients takes k6 half a minute of processor time on a server. */
const READY_TIMEOUT_MS = 600_000
/** People begin after the crawlers, so crawlers go on for longer. */
const LONGER_S = 5
/** A sweep with less of its requests in the edge's log was limited by k6. */
const SENT_LEAST = 0.95
const CRAWLED = /"uri":"\/(?:history|revision|difference)\//

/** People of the lab ask for none of these. @param {string} line  of an access log */
export const isCrawled = (line) => CRAWLED.test(line)

/**
 * What crawlers were to ask for.
 * @typedef {object} Sweep
 * @property {number} capacity_per_s  old texts that the wiki can show
 * @property {number} asked_per_s
 * @property {number} seconds
 */

/** @typedef {{sweep: Sweep, k6: import('./generator.js').GeneratorFacts}} Crawled */

/**
 * @param {Pick<import('./settings.js').Settings, 'crawl_times_capacity' | 'duration_max_s'>} settings
 * @param {number} capacityPerS
 * @returns {Sweep}
 */
export const sweepOf = ({ crawl_times_capacity: times, duration_max_s: durationS }, capacityPerS) => ({
  capacity_per_s: round(capacityPerS),
  asked_per_s: Math.max(1, Math.ceil(times * capacityPerS)),
  seconds: durationS + LONGER_S
})

/**
 * Starts crawlers; resolves once all of them are there.
 * @param {object} options
 * @param {import('./generator.js').Generators} options.generators
 * @param {import('./generator.js').GeneratorSettings} options.probe  settings of the probe
 * @param {Sweep} options.sweep
 * @param {string} options.directory
 * @param {AbortSignal} options.signal
 * @param {number} [options.readyTimeoutMs]
 * @returns {Promise<{done: Promise<Crawled>}>}
 * @throws {Error} when they are not there in time: people would be measured without them
 */
export async function startCrawl ({
  generators, probe, sweep, directory, signal, readyTimeoutMs = READY_TIMEOUT_MS
}) {
  const ready = await listenForEnd()
  const { seconds, asked_per_s: askedPerS } = sweep
  try {
    const { done } = await generators.start({
      name: 'crawl',
      directory,
      crawlsFrom: CLIENTS,
      settings: {
        ...probe, vus: CLIENTS_COUNT, duration_max_s: seconds, crawl_per_s: askedPerS, until_url: ready.url
      }
    })
    /** @type {import('./generator.js').GeneratorFacts | null} */
    let ended = null
    done.then((k6) => { ended = k6 }, () => {})
    await waitUntil(() => ended !== null || signal.aborted || ready.answered() > 0, readyTimeoutMs)
    signal.throwIfAborted()
    if (ready.answered() === 0) throw new Error(reasonOf(ended, readyTimeoutMs))
    return { done: done.then((k6) => ({ sweep, k6 })) }
  } finally {
    ready.close()
  }
}

/**
 * @param {import('./generator.js').GeneratorFacts | null} k6  null: it runs
 * @param {number} waitedMs
 */
const reasonOf = (k6, waitedMs) => k6 === null
  ? `the crawlers' k6 had not all of its ${CLIENTS_COUNT} clients within ${waitedMs / 1000} s`
  : `the crawlers' k6 ended with ${k6.exit_code} before it had its ${CLIENTS_COUNT} clients: ${k6.message}`

/**
 * @param {Crawled} crawled
 * @param {Record<string, number>} statuses  of requests in the edge's log
 */
export function crawlFacts ({ sweep, k6 }, statuses) {
  const sentPerS = Object.values(statuses).reduce((sum, count) => sum + count, 0) / sweep.seconds
  return {
    ...sweep,
    sent_per_s: round(sentPerS),
    sent_times_capacity: round(sentPerS / sweep.capacity_per_s),
    statuses,
    k6
  }
}

/** @typedef {ReturnType<typeof crawlFacts>} CrawlFacts */
/** @typedef {import('../machine/saturation.js').Saturation | null} Saturation */

/**
 * @param {Saturation} saturation  of the trial
 * @param {Pick<CrawlFacts, 'sent_per_s' | 'asked_per_s'> | undefined} crawl
 * @returns {Saturation} limited by the generator where k6 did not send the sweep
 */
export function limitedBySweep (saturation, crawl) {
  if (saturation === null || crawl === undefined || crawl.sent_per_s >= SENT_LEAST * crawl.asked_per_s) {
    return saturation
  }
  const evidence = `crawlers sent ${crawl.sent_per_s} of ${crawl.asked_per_s} requests a second; ${saturation.evidence}`
  return { ...saturation, limit: 'generator', evidence }
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
