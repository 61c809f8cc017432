import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { pageName, requestAt } from '../../scenarios/plan.js'

const METRIC = 'stevec_request'
const COLUMNS = 'sent_at_us,iteration,page,method,status,error_code,cache_status,duration_ms,size_bytes,revision'
/** Cache statuses without a request to the origin: for UPDATING, another request refreshes the served copy. */
export const SERVED_BY_CACHE = new Set(['HIT', 'STALE', 'UPDATING'])

/**
 * @typedef {object} Counts
 * @property {number} requests_sent
 * @property {number} requests_failed  no response, or a status of 400 and above
 * @property {number} requests_unanswered  no response: it is unknown whether they reached the wiki
 * @property {number} reads_sent
 * @property {number} writes_sent
 * @property {number} served_by_cache
 * @property {Record<string, number>} cache_statuses
 * @property {Record<string, number>} [pops]  requests by point of presence, if requested
 * @property {number | null} duration_mean_ms
 * @property {number | null} duration_max_ms
 * @property {number | null} first_sent_at_us
 * @property {number | null} last_done_at_us
 */

/** @typedef {{doneAtUs: number, durationMs: number, status: number, cacheStatus: string}} Sample */

/**
 * Converts k6's CSV, with a dozen metrics per request, to one row per request, and counts.
 * @param {object} options
 * @param {string} options.source  k6's csv.gz
 * @param {string} options.target  csv.gz; removed on failure
 * @param {import('../../scenarios/plan.js').Plan} options.plan
 * @param {boolean} [options.withPop]  adds a column with the point of presence that responded, '' for none
 * @param {(sample: Sample) => void} [options.onSample]
 * @returns {Promise<Counts>}
 * @throws {Error} when the file is truncated or its columns are not k6's
 */
export async function extractSamples ({ source, target, plan, withPop = false, onSample = () => {} }) {
  /** @type {Counts} */
  const counts = {
    requests_sent: 0,
    requests_failed: 0,
    requests_unanswered: 0,
    reads_sent: 0,
    writes_sent: 0,
    served_by_cache: 0,
    cache_statuses: {},
    duration_mean_ms: null,
    duration_max_ms: null,
    first_sent_at_us: null,
    last_done_at_us: null
  }
  /** @type {Record<string, number>} */
  const pops = {}
  let totalMs = 0
  /** @type {Map<string, number> | undefined} */
  let columns

  /** @param {AsyncIterable<Buffer>} chunks */
  async function * rows (chunks) {
    yield withPop ? `${COLUMNS},pop\n` : `${COLUMNS}\n`
    for await (const lines of linesOf(chunks)) {
      let text = ''
      for (const line of lines) text += row(line)
      if (text !== '') yield text
    }
  }

  /**
   * @param {string} line
   * @returns {string} '' for a line without a request
   */
  function row (line) {
    if (columns === undefined) {
      columns = new Map(line.split(',').map((name, index) => [name, index]))
      if (
        !['metric_name', 'timestamp', 'metric_value', 'method', 'status', 'extra_tags', 'metadata']
          .every((name) => columns?.has(name))
      ) {
        throw new Error(`k6 wrote columns that are not known here: ${line}`)
      }
      return ''
    }
    if (!line.startsWith(`${METRIC},`)) return ''
    const cells = line.split(',')
    const cell = (/** @type {string} */ name) => cells[/** @type {Map<string, number>} */ (columns).get(name) ?? -1]
    const tags = new URLSearchParams(cell('extra_tags'))
    const metadata = new URLSearchParams(cell('metadata'))
    const fact = (/** @type {string} */ name) => metadata.get(name) ?? ''
    const iteration = Number(fact('iteration'))
    const durationMs = Number(cell('metric_value'))
    const status = Number(cell('status'))
    const cacheStatus = tags.get('cache_status') ?? ''
    // k6 stamps a sample when it is added: at the end of the request.
    const doneAtUs = Number(cell('timestamp'))
    const sentAtUs = doneAtUs - Math.round(durationMs * 1000)
    counts.requests_sent += 1
    if (cell('method') === 'GET') counts.reads_sent += 1
    else counts.writes_sent += 1
    if (status === 0 || status >= 400) counts.requests_failed += 1
    if (status === 0) counts.requests_unanswered += 1
    if (SERVED_BY_CACHE.has(cacheStatus)) counts.served_by_cache += 1
    counts.cache_statuses[cacheStatus] = (counts.cache_statuses[cacheStatus] ?? 0) + 1
    totalMs += durationMs
    counts.duration_max_ms = Math.max(counts.duration_max_ms ?? 0, durationMs)
    counts.first_sent_at_us = Math.min(counts.first_sent_at_us ?? Infinity, sentAtUs)
    counts.last_done_at_us = Math.max(counts.last_done_at_us ?? 0, doneAtUs)
    onSample({ doneAtUs, durationMs, status, cacheStatus })
    const pop = withPop ? fact('pop') : ''
    if (pop !== '') pops[pop] = (pops[pop] ?? 0) + 1
    return `${sentAtUs},${iteration},${pageName(requestAt(plan, iteration).page)},${cell('method')},${status},${fact('error_code')},${cacheStatus},${durationMs},${fact('size_bytes')},${fact('revision')}${withPop ? `,${pop}` : ''}\n`
  }

  try {
    await pipeline(createReadStream(source), createGunzip(), rows, createGzip(), createWriteStream(target))
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  }
  if (counts.requests_sent > 0) counts.duration_mean_ms = totalMs / counts.requests_sent
  return withPop ? { ...counts, pops } : counts
}

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {AsyncIterable<string[]>}
 */
export async function * linesOf (chunks) {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = /** @type {string} */ (lines.pop())
    yield lines
  }
  if (rest !== '') yield [rest]
}
