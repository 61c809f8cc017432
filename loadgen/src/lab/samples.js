import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { pageName, requestAt } from '../../scenarios/plan.js'

const METRIC = 'stevec_request'
const COLUMNS = 'sent_at_us,iteration,page,method,status,error_code,cache_status,duration_ms,size_bytes,revision'
const NEEDED_COLUMNS = ['metric_name', 'timestamp', 'metric_value', 'method', 'status', 'extra_tags', 'metadata']
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
 * A request, as k6 reports it.
 * @typedef {object} RequestSample
 * @property {number} sentAtUs
 * @property {number} doneAtUs
 * @property {number} durationMs
 * @property {number} iteration
 * @property {string} method
 * @property {number} status  0: no response
 * @property {string} cacheStatus
 * @property {string} errorCode
 * @property {string} sizeBytes
 * @property {string} revision
 * @property {string} pop  point of presence that responded, '' for none
 */

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
  const counting = startCounting()

  /** @param {AsyncIterable<Buffer>} chunks */
  async function * rows (chunks) {
    yield withPop ? `${COLUMNS},pop\n` : `${COLUMNS}\n`
    /** @type {((line: string) => RequestSample) | undefined} */
    let parse
    for await (const lines of linesOf(chunks)) {
      let text = ''
      for (const line of lines) {
        if (parse === undefined) parse = parserOf(line)
        else if (line.startsWith(`${METRIC},`)) {
          const sample = parse(line)
          counting.add(sample)
          onSample(sample)
          text += rowOf(sample, plan, withPop)
        }
      }
      if (text !== '') yield text
    }
  }

  try {
    await pipeline(createReadStream(source), createGunzip(), rows, createGzip(), createWriteStream(target))
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  }
  const { counts, pops } = counting.result()
  return withPop ? { ...counts, pops } : counts
}

/**
 * @param {string} header  the first line of k6's CSV
 * @returns {(line: string) => RequestSample}
 * @throws {Error} when a needed column is missing
 */
function parserOf (header) {
  const columns = new Map(header.split(',').map((name, index) => [name, index]))
  if (!NEEDED_COLUMNS.every((name) => columns.has(name))) {
    throw new Error(`k6 wrote unexpected columns: ${header}`)
  }
  return (line) => {
    const cells = line.split(',')
    const cell = (/** @type {string} */ name) => cells[columns.get(name) ?? -1]
    const tags = new URLSearchParams(cell('extra_tags'))
    const metadata = new URLSearchParams(cell('metadata'))
    const fact = (/** @type {string} */ name) => metadata.get(name) ?? ''
    const durationMs = Number(cell('metric_value'))
    // k6 stamps a sample when it is added: at the end of the request.
    const doneAtUs = Number(cell('timestamp'))
    return {
      sentAtUs: doneAtUs - Math.round(durationMs * 1000),
      doneAtUs,
      durationMs,
      iteration: Number(fact('iteration')),
      method: cell('method'),
      status: Number(cell('status')),
      cacheStatus: tags.get('cache_status') ?? '',
      errorCode: fact('error_code'),
      sizeBytes: fact('size_bytes'),
      revision: fact('revision'),
      pop: fact('pop')
    }
  }
}

/**
 * @param {RequestSample} sample
 * @param {import('../../scenarios/plan.js').Plan} plan
 * @param {boolean} withPop
 * @returns {string} a line of CSV, in the order of COLUMNS
 */
function rowOf (sample, plan, withPop) {
  const { sentAtUs, iteration, method, status, errorCode, cacheStatus, durationMs, sizeBytes, revision, pop } = sample
  const page = pageName(requestAt(plan, iteration).page)
  return `${sentAtUs},${iteration},${page},${method},${status},${errorCode},${cacheStatus},${durationMs},${sizeBytes},${revision}${withPop ? `,${pop}` : ''}\n`
}

/** Counts samples: `add` each, then read the `result`. */
function startCounting () {
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
  return {
    /** @param {RequestSample} sample */
    add ({ sentAtUs, doneAtUs, durationMs, method, status, cacheStatus, pop }) {
      counts.requests_sent += 1
      if (method === 'GET') counts.reads_sent += 1
      else counts.writes_sent += 1
      if (status === 0 || status >= 400) counts.requests_failed += 1
      if (status === 0) counts.requests_unanswered += 1
      if (SERVED_BY_CACHE.has(cacheStatus)) counts.served_by_cache += 1
      counts.cache_statuses[cacheStatus] = (counts.cache_statuses[cacheStatus] ?? 0) + 1
      totalMs += durationMs
      counts.duration_max_ms = Math.max(counts.duration_max_ms ?? 0, durationMs)
      counts.first_sent_at_us = Math.min(counts.first_sent_at_us ?? Infinity, sentAtUs)
      counts.last_done_at_us = Math.max(counts.last_done_at_us ?? 0, doneAtUs)
      if (pop !== '') pops[pop] = (pops[pop] ?? 0) + 1
    },
    result () {
      if (counts.requests_sent > 0) counts.duration_mean_ms = totalMs / counts.requests_sent
      return { counts, pops }
    }
  }
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
