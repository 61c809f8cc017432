import { countOf } from '../count-of.js'
import { round } from '../lab/generator.js'
import { percentileOf } from '../lab/percentile.js'

const PERCENTILES = [50, 90, 95, 99, 99.9]

/** @typedef {ReturnType<typeof outcomeOf>} Outcome */

/**
 * Sums up what was measured.
 * @param {object} found
 * @param {string} found.url
 * @param {import('../lab/samples.js').Counts} found.counts
 * @param {Float64Array} found.responsesMs  of answered requests, rising; in the open model from the planned time
 * @param {import('../lab/generator.js').GeneratorFacts} found.k6
 * @param {import('../machine/saturation.js').Saturation | null} found.saturation  of this machine; null: not known
 * @param {import('../lab/counter.js').Counter | null} found.counter  null: the wiki has none
 */
export function outcomeOf ({ url, counts, responsesMs, k6, saturation, counter }) {
  const spanS = ((counts.last_done_at_us ?? 0) - (counts.first_sent_at_us ?? 0)) / 1e6
  const neverSent = counts.schedule?.never_sent ?? 0
  const requests = counts.requests_sent + neverSent
  const per = (/** @type {number} */ number) => spanS > 0 ? round(number / spanS) : null
  const failed = counts.requests_failed + neverSent
  const ofAll = (/** @type {number} */ percent) => percentileOf(responsesMs, percent, failed) ?? Infinity
  const sum = responsesMs.reduce((total, responseMs) => total + responseMs, 0)
  return {
    url,
    requests,
    failed,
    unanswered: counts.requests_unanswered + neverSent,
    failures: neverSent > 0 ? { ...counts.failures, 'never-sent': neverSent } : counts.failures,
    duration_s: round(spanS),
    requests_per_s: per(counts.requests_sent),
    requests_per_min: spanS > 0 ? round(60 * counts.requests_sent / spanS) : null,
    answered_per_s: per(responsesMs.length),
    response_mean_ms: responsesMs.length === 0 ? null : round(sum / responsesMs.length),
    response_max_ms: rounded(responsesMs.at(-1) ?? null),
    response_percentiles_ms: Object.fromEntries(
      PERCENTILES.map((percent) => [`p${percent}`, rounded(percentileOf(responsesMs, percent))])
    ),
    // JSON has no infinity: null where so many requests failed.
    all_percentiles_ms: Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, finite(ofAll(percent))])),
    /** @param {number} percent @returns {number} ms over all requests; infinite where so many failed */
    percentileOfAll: ofAll,
    schedule: counts.schedule,
    served_by_cache: counts.served_by_cache,
    cache_statuses: counts.cache_statuses,
    reached_origin: counter?.requests ?? null,
    generator_cpu_share: k6.generator_cpu_share,
    saturation
  }
}

/** @param {number} value */
const finite = (value) => value === Infinity ? null : round(value)

/** @param {number | null} value */
const rounded = (value) => value === null ? null : round(value)

/**
 * @param {Outcome} outcome
 * @returns {string[]} lines
 */
export function inWords (outcome) {
  const list = (/** @type {Record<string, number>} */ counts) =>
    Object.entries(counts).map(([name, count]) => `${name || 'none'} ${count}`).join(', ')
  const hint = outcome.failures.status > 0 ? ' (does every page exist? --method POST writes them)' : ''
  const kinds = outcome.failed > 0 ? `: ${list(outcome.failures)}` : ''
  const { schedule } = outcome
  return [
    `requests      ${outcome.requests}, ${outcome.failed} failed${kinds}${hint}`,
    `time          ${outcome.duration_s} s, ${outcome.requests_per_s} a second, ${outcome.requests_per_min} a minute`,
    `response      ${outcome.response_max_ms === null ? 'none: no request was answered' : timesOf(outcome)}`,
    ...(schedule === null
      ? []
      : [`lag           p50 ${schedule.lag_p50_ms} ms, p99 ${schedule.lag_p99_ms}, max ${schedule.lag_max_ms}, ` +
          'from the planned time of a request to its sending; in the response times']),
    `cache status  ${list(outcome.cache_statuses)}`,
    ...(outcome.reached_origin === null
      ? []
      : [`origin        ${outcome.reached_origin} of ${countOf(outcome.requests, 'request')} reached it, says its ` +
        'counter'])
  ]
}

/** @param {Outcome} outcome */
function timesOf (outcome) {
  const { response_mean_ms: mean, response_percentiles_ms: percentiles, response_max_ms: max } = outcome
  const levels = Object.entries(percentiles).map(([name, value]) => `${name} ${value}`).join(', ')
  const times = `mean ${mean} ms, ${levels}, max ${max}`
  if (outcome.failed === 0) return times
  const all = Object.entries(outcome.all_percentiles_ms).map(([name, value]) => `${name} ${value ?? 'failed'}`)
  return `${times}, of answered requests; of all: ${all.join(', ')}`
}

/**
 * Whether the times are the generator's or the machine's rather than those of the server.
 * @param {Outcome['saturation']} saturation
 */
export const isLimited = (saturation) => saturation !== null && ['generator', 'machine'].includes(saturation.limit)

/**
 * @param {Outcome} outcome
 * @param {import('../lab/definition.js').Settings} settings
 * @returns {string[]} sentences
 */
export function warningsOf ({ saturation, requests }, { model }) {
  return [
    ...(isLimited(saturation)
      ? [`The ${saturation?.limit} was the limit, so the times may be the generator's own: ${saturation?.evidence}.`]
      : []),
    ...(model === 'closed' && requests >= 1000
      ? ['p99.9 of a closed loop is too low: a slow response keeps its client from sending the requests that would ' +
          'have met the same delay. --rate sends them all.']
      : [])
  ]
}
