import { round } from './generator.js'

/** @typedef {import('./samples.js').Counts} Counts */

/**
 * Returns trial.json's fields about the probe's samples.
 * @param {Counts | null} samples  null: unreadable
 */
export const probeFacts = (samples) => ({
  requests_sent: samples?.requests_sent ?? 0,
  requests_failed: samples?.requests_failed ?? 0,
  reads_sent: samples?.reads_sent ?? 0,
  writes_sent: samples?.writes_sent ?? 0,
  served_by_cache: samples?.served_by_cache ?? 0,
  cache_statuses: samples?.cache_statuses ?? {},
  // JSON omits undefined: with a single point of presence, there is no field `pops`.
  pops: samples?.pops,
  duration_mean_ms: samples?.duration_mean_ms ?? null,
  duration_max_ms: samples?.duration_max_ms ?? null,
  failures: samples?.failures ?? {},
  statuses: samples?.statuses ?? {},
  schedule: samples?.schedule ?? null
})

/**
 * Returns trial.json's field `background`.
 * @param {number} vus
 * @param {import('./generator.js').GeneratorFacts} k6
 * @param {import('./trial-samples.js').TrialSamples} samples
 */
export const backgroundFacts = (vus, k6, { probe, background, doneAtUs }) => ({
  vus,
  started_at_us: background?.first_sent_at_us ?? null,
  finished_at_us: background?.last_done_at_us ?? null,
  requests_sent: background?.requests_sent ?? 0,
  requests_failed: background?.requests_failed ?? 0,
  served_by_cache: background?.served_by_cache ?? 0,
  cache_statuses: background?.cache_statuses ?? {},
  pops: background?.pops,
  completed_per_s: completedPerSecond(doneAtUs, background?.first_sent_at_us ?? 0),
  rate_per_min: ratePerMinute(doneAtUs, probe),
  k6
})

/**
 * Returns the facts of a trial that broke before it measured anything.
 * @param {import('./logs.js').PerRole} logLines
 * @returns {Awaited<ReturnType<typeof import('./measure.js').measure>>}
 */
export function nothingMeasured (logLines) {
  return {
    problems: [],
    warm_up: null,
    cold_proof: { cold: false, observed: [], origin_requests: 0 },
    requests_sent: 0,
    requests_failed: 0,
    reads_sent: 0,
    writes_sent: 0,
    counter: { requests: 0, reads: 0, writes: 0 },
    wiki_totals: null,
    counter_expected: null,
    refreshes: 0,
    purges: null,
    traces: null,
    served_by_cache: 0,
    cache_statuses: {},
    pops: undefined,
    duration_mean_ms: null,
    duration_max_ms: null,
    failures: {},
    statuses: {},
    schedule: null,
    log_lines: logLines,
    fault: null,
    k6: {
      exit_code: null,
      message: null,
      wall_s: 0,
      generator_cpu_s: 0,
      generator_cpu_share: 0,
      stolen_cpu_share: null
    },
    generators: [],
    clock_skew_bound_ms: null,
    background: null,
    overlap: null,
    origin_samples: null,
    saturation: null
  }
}

/**
 * @param {number[]} doneAtUs
 * @param {number} startUs
 * @returns {number[]} requests completed in each second since `startUs`
 */
function completedPerSecond (doneAtUs, startUs) {
  /** @type {number[]} */
  const counts = []
  for (const time of doneAtUs) {
    const second = Math.floor((time - startUs) / 1e6)
    while (counts.length <= second) counts.push(0)
    counts[second] += 1
  }
  return counts
}

/**
 * @param {number[]} doneAtUs
 * @param {import('./samples.js').Counts | null} probe
 * @returns {number | null} rate of requests completed while the probe ran
 */
function ratePerMinute (doneAtUs, probe) {
  const { first_sent_at_us: first, last_done_at_us: last } = probe ?? { first_sent_at_us: null, last_done_at_us: null }
  if (first === null || last === null || last === first) return null
  return round(doneAtUs.filter((time) => time >= first && time <= last).length / (last - first) * 60e6)
}
