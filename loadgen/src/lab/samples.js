import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { pageName, requestAt } from '../../scenarios/plan.js'

const METRIC = 'stevec_request'
const COLUMNS = 'sent_at_us,iteration,page,method,status,cache_status,duration_ms,size_bytes,revision'
/** Answers for which no request went to the origin. UPDATING is answered from the cache while another request refreshes it. */
const SERVED_BY_CACHE = new Set(['HIT', 'STALE', 'UPDATING'])

/**
 * Turns k6's CSV, which holds a dozen metrics a request, into one row a request, and counts.
 * @param {object} options
 * @param {string} options.source  k6.csv.gz
 * @param {string} options.target  samples.csv.gz
 * @param {import('../../scenarios/plan.js').Plan} options.plan
 * @returns {Promise<{requests_sent: number, requests_failed: number, distinct_pages: number, served_by_cache: number, cache_statuses: Record<string, number>, duration_mean_ms: number | null, duration_max_ms: number | null}>}
 * @throws {Error} when the file is truncated or its columns are not k6's
 */
export async function extractSamples ({ source, target, plan }) {
  const seen = new Set()
  /** @type {Record<string, number>} */
  const statuses = {}
  let sent = 0
  let failed = 0
  let served = 0
  let totalMs = 0
  let maxMs = 0
  /** @type {Map<string, number> | undefined} */
  let columns

  /** @param {AsyncIterable<Buffer>} chunks */
  async function * rows (chunks) {
    yield `${COLUMNS}\n`
    for await (const line of linesOf(chunks)) {
      const cells = line.split(',')
      if (columns === undefined) {
        columns = new Map(cells.map((cell, index) => [cell, index]))
        if (!['metric_name', 'timestamp', 'metric_value', 'status', 'extra_tags', 'metadata'].every((name) => columns?.has(name))) throw new Error(`k6 wrote columns that are not known here: ${line}`)
        continue
      }
      if (cells[0] !== METRIC) continue
      const cell = (/** @type {string} */ name) => cells[/** @type {Map<string, number>} */ (columns).get(name) ?? -1]
      const tags = new URLSearchParams(cell('extra_tags'))
      const metadata = new URLSearchParams(cell('metadata'))
      const iteration = Number(metadata.get('iteration'))
      const durationMs = Number(cell('metric_value'))
      const status = Number(cell('status'))
      const cacheStatus = tags.get('cache_status') ?? ''
      const { method, page } = requestAt(plan, iteration)
      sent += 1
      if (status === 0 || status >= 400) failed += 1
      if (SERVED_BY_CACHE.has(cacheStatus)) served += 1
      statuses[cacheStatus] = (statuses[cacheStatus] ?? 0) + 1
      seen.add(page)
      totalMs += durationMs
      maxMs = Math.max(maxMs, durationMs)
      // k6 stamps a sample when it is added, which is at the end of the request.
      const sentAtUs = Number(cell('timestamp')) - Math.round(durationMs * 1000)
      yield `${sentAtUs},${iteration},${pageName(page)},${method},${status},${cacheStatus},${durationMs},${metadata.get('size_bytes') ?? ''},${metadata.get('revision') ?? ''}\n`
    }
  }
  await pipeline(createReadStream(source), createGunzip(), rows, createGzip(), createWriteStream(target))
  return {
    requests_sent: sent,
    requests_failed: failed,
    distinct_pages: seen.size,
    served_by_cache: served,
    cache_statuses: statuses,
    duration_mean_ms: sent > 0 ? totalMs / sent : null,
    duration_max_ms: sent > 0 ? maxMs : null
  }
}

/** @param {AsyncIterable<Buffer>} chunks */
async function * linesOf (chunks) {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = /** @type {string} */ (lines.pop())
    yield * lines
  }
  if (rest !== '') yield rest
}
