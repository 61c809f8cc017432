import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { pageName, requestAt } from '../../scenarios/plan.js'
import { NEVER_SENT } from './failure.js'
import { parserOf } from './k6-rows.js'
import { createSchedule } from './schedule.js'

const COLUMNS = 'planned_at_us,sent_at_us,iteration,page,method,status,failure,phase,error_code,cache_status,' +
  'duration_ms,size_bytes,revision'
/** Cache statuses without a request to the origin: for UPDATING, another request refreshes the served copy. */
export const SERVED_BY_CACHE = new Set(['HIT', 'STALE', 'UPDATING'])

/**
 * @typedef {object} Counts
 * @property {number} requests_sent
 * @property {number} requests_failed  no response, a status of 400 and above, or a wrong answer
 * @property {number} requests_unanswered  no response: it is unknown whether they reached the wiki
 * @property {number} reads_sent
 * @property {number} writes_sent
 * @property {number} served_by_cache
 * @property {Record<string, number>} cache_statuses
 * @property {Record<string, number>} [pops]  requests by point of presence, if requested
 * @property {number | null} duration_mean_ms  of answered requests, from their sending
 * @property {number | null} duration_max_ms  of all
 * @property {Record<string, number>} failures  requests by how they failed (failure.js)
 * @property {Record<string, Record<string, number>>} statuses  requests by method and status, '0' for no response
 * @property {import('./schedule.js').ScheduleFacts | null} schedule  null in the closed model
 * @property {number | null} first_sent_at_us
 * @property {number | null} last_done_at_us
 */

/** @typedef {import('./k6-rows.js').RequestSample} RequestSample */

/**
 * @typedef {object} Source  what a k6 wrote
 * @property {string} file  csv.gz
 * @property {number} [aheadUs]  by how much its clock was ahead of this machine's, µs
 * @property {number} [planAheadUs]  the same when the lab told it the begin of the plan
 */

/**
 * Converts what the generators wrote to one row per request, one generator after the other, and counts.
 * @param {object} options
 * @param {Source[]} options.sources
 * @param {string} options.target  csv.gz; removed on failure
 * @param {import('../../scenarios/plan.js').Plan} options.plan
 * @param {((index: number) => number) | null} [options.plannedMs]  of the open model: the planned times of the requests
 * @param {(page: number, index: number, edit: boolean) => string} [options.nameOf]  of the column `page`
 * @param {'POST' | 'PUT'} [options.editMethod]
 * @param {boolean} [options.withPop]  adds a column with the point of presence that responded, '' for none
 * @param {(sample: RequestSample) => void} [options.onSample]
 * @returns {Promise<Counts>}
 * @throws {Error} when the file is truncated or its columns are not k6's
 */
export async function extractSamples (
  {
    sources, target, plan,
    plannedMs = null, nameOf = pageName, editMethod = 'POST', withPop = false, onSample = () => {}
  }
) {
  const counting = startCounting()
  const schedule = plannedMs === null ? null : createSchedule(plan.requests, plannedMs)

  async function * rows () {
    yield withPop ? `${COLUMNS},pop\n` : `${COLUMNS}\n`
    for (const source of sources) {
      for await (const samples of samplesOf(source)) {
        let text = ''
        for (const sample of samples) {
          counting.add(sample)
          schedule?.add(sample)
          onSample(sample)
          const { page, edit } = requestAt(plan, sample.iteration)
          text += rowOf(sample, nameOf(page, sample.iteration, edit), withPop)
        }
        if (text !== '') yield text
      }
    }
    for (const { index, plannedAtUs } of schedule?.neverSent() ?? []) {
      const { page, edit } = requestAt(plan, index)
      const method = edit ? editMethod : 'GET'
      yield unsentRowOf({ index, plannedAtUs, page: nameOf(page, index, edit), method, withPop })
    }
  }

  try {
    await pipeline(rows, createGzip(), createWriteStream(target))
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  }
  const { counts, pops } = counting.result()
  counts.schedule = schedule?.facts() ?? null
  return withPop ? { ...counts, pops } : counts
}

/**
 * @param {Source} source
 * @returns {AsyncIterable<RequestSample[]>} by this machine's clock
 * @throws {Error} when the file is truncated or its columns are not k6's
 */
async function * samplesOf ({ file, aheadUs = 0, planAheadUs = 0 }) {
  /** @type {ReturnType<typeof parserOf> | undefined} */
  let parse
  for await (const lines of linesOf(unzipped(file))) {
    const samples = []
    for (const line of lines) {
      if (parse === undefined) {
        parse = parserOf(line)
        continue
      }
      const sample = parse(line)
      if (sample === null) continue
      sample.sentAtUs -= aheadUs
      sample.doneAtUs -= aheadUs
      if (sample.plannedAtUs !== null) sample.plannedAtUs -= planAheadUs
      samples.push(sample)
    }
    yield samples
  }
}

/**
 * @param {string} file
 * @returns {AsyncIterable<Buffer>} that throws what either stream emits as an error
 */
function unzipped (file) {
  const gunzip = createGunzip()
  pipeline(createReadStream(file), gunzip).catch(() => {})
  return gunzip
}

/**
 * @param {RequestSample} sample
 * @param {string} page
 * @param {boolean} withPop
 * @returns {string} a line of CSV, in the order of COLUMNS
 */
function rowOf (sample, page, withPop) {
  const { plannedAtUs, sentAtUs, iteration, method, status, failure, phase, errorCode, cacheStatus } = sample
  return `${plannedAtUs ?? ''},${sentAtUs},${iteration},${page},${method},${status},${failure},${phase},${errorCode},` +
    `${cacheStatus},${sample.durationMs},${sample.sizeBytes},${sample.revision}${withPop ? `,${sample.pop}` : ''}\n`
}

/**
 * @param {{index: number, plannedAtUs: number, page: string, method: string, withPop: boolean}} request
 * @returns {string} the line of a planned request that was never sent
 */
const unsentRowOf = ({ index, plannedAtUs, page, method, withPop }) =>
  `${plannedAtUs},,${index},${page},${method},0,${NEVER_SENT},,,,,,${withPop ? ',' : ''}\n`

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
    failures: {},
    statuses: {},
    schedule: null,
    first_sent_at_us: null,
    last_done_at_us: null
  }
  /** @type {Record<string, number>} */
  const pops = {}
  let totalMs = 0
  return {
    /** @param {RequestSample} sample */
    add ({ sentAtUs, doneAtUs, durationMs, method, status, failure, cacheStatus, pop }) {
      counts.requests_sent += 1
      if (method === 'GET') counts.reads_sent += 1
      else counts.writes_sent += 1
      if (failure === '') {
        totalMs += durationMs
      } else {
        counts.requests_failed += 1
        counts.failures[failure] = (counts.failures[failure] ?? 0) + 1
      }
      if (status === 0) counts.requests_unanswered += 1
      const ofMethod = (counts.statuses[method] ??= {})
      ofMethod[status] = (ofMethod[status] ?? 0) + 1
      if (SERVED_BY_CACHE.has(cacheStatus)) counts.served_by_cache += 1
      counts.cache_statuses[cacheStatus] = (counts.cache_statuses[cacheStatus] ?? 0) + 1
      counts.duration_max_ms = Math.max(counts.duration_max_ms ?? 0, durationMs)
      counts.first_sent_at_us = Math.min(counts.first_sent_at_us ?? Infinity, sentAtUs)
      counts.last_done_at_us = Math.max(counts.last_done_at_us ?? 0, doneAtUs)
      if (pop !== '') pops[pop] = (pops[pop] ?? 0) + 1
    },
    result () {
      const answered = counts.requests_sent - counts.requests_failed
      if (answered > 0) counts.duration_mean_ms = totalMs / answered
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
