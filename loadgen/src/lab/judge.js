import { requestsPlanned } from './matrix.js'

/** How far the wall clock may differ from the monotonic one over a trial; time synchronisation slews by less. */
const CLOCK_STEP_S = 0.25
/** A page's age counts from its Date header, which has whole seconds (RFC 9111 §4.2.3). */
const AGE_RESOLUTION_S = 1

/** @typedef {import('./samples.js').Counts} Counts */

/**
 * What a trial found, before it is judged.
 * @typedef {object} Findings
 * @property {import('./matrix.js').PlannedTrial} trial
 * @property {boolean} caching  whether a cache stands at the door
 * @property {boolean} [severalCaches]  whether several do, each of which asks the origin by itself
 * @property {import('./cold.js').ColdProof} coldProof
 * @property {import('./generator.js').GeneratorFacts} k6
 * @property {Counts | null} samples  null: they cannot be read
 * @property {null | {k6: import('./generator.js').GeneratorFacts, samples: Counts | null}} background
 * @property {null | {proved: boolean}} overlap
 * @property {import('./counter.js').Counter} counter
 * @property {import('./logs.js').PerRole} logLines
 * @property {import('./logs.js').PerRole} logLinesExpected
 * @property {number} wallS
 * @property {number} monotonicS
 */

/**
 * Requests that theory says must have reached the wiki: all of them where nothing is stored; one for each different page where copies last longer
 * than the trial and nothing is edited; every edit. With both edits and reads at a cache, or a background, it depends on when what happened.
 * @param {Pick<Findings, 'trial' | 'caching' | 'severalCaches' | 'k6'>} findings
 * @returns {number | null} null where theory gives no exact number
 */
export function expectedCounter ({ trial: { settings, plan }, caching, severalCaches = false, k6 }) {
  if (settings.background_vus > 0 || settings.bound === 'either') return null
  if (!caching || (plan.reads === 0 && settings.edit === 'post')) return httpRequestsPlanned({ settings, plan })
  const storable = settings.policy === 'ttl' || settings.policy === 'ttl-swr'
  return storable && !severalCaches && plan.writes === 0 && k6.wall_s < settings.ttl_s - AGE_RESOLUTION_S ? plan.distinct_pages : null
}

/** @param {Pick<import('./matrix.js').PlannedTrial, 'settings' | 'plan'>} trial */
function httpRequestsPlanned ({ settings, plan }) {
  return requestsPlanned(settings) + (settings.edit === 'get-post' ? plan.writes : 0)
}

/**
 * @param {Findings} findings
 * @returns {string[]} why the trial cannot be trusted, in sentences; none when it can
 */
export function problemsOf (findings) {
  const { trial, coldProof, k6, samples, background, overlap, counter, logLines, logLinesExpected, wallS, monotonicS } = findings
  /** @type {string[]} */
  const problems = []
  const say = (/** @type {boolean} */ wrong, /** @type {() => string} */ text) => { if (wrong) problems.push(text()) }
  say(!coldProof.cold, () => `the caches were not cold: the probe saw ${coldProof.observed.map((status) => status || 'no cache').join(', ')} and ${coldProof.origin_requests} requests reached the origin`)
  for (const [name, facts] of /** @type {const} */ ([['k6', k6], ['the background\'s k6', background?.k6]])) {
    say(facts !== undefined && facts.exit_code !== 0, () => `${name} ended with ${facts?.exit_code === null ? 'a signal' : `exit code ${facts?.exit_code}`}; see its log`)
  }
  say(Math.abs(wallS - monotonicS) > CLOCK_STEP_S, () => `the clock was set during the trial: it says ${wallS.toFixed(1)} s have passed, but ${monotonicS.toFixed(1)} s have`)
  if (samples === null || background?.samples === null) return problems

  const planned = httpRequestsPlanned(trial)
  say(trial.settings.bound === 'requests' && samples.requests_sent !== planned, () => `${samples.requests_sent} of ${planned} planned requests were sent${k6.dropped_iterations > 0 ? ` (k6 dropped ${k6.dropped_iterations} iterations)` : ''}`)
  say(samples.requests_sent === 0, () => 'the probe sent nothing')
  const expected = expectedCounter(findings)
  say(expected !== null && counter.requests !== expected, () => `the counter says ${counter.requests}, expected ${expected}`)

  const sent = samples.requests_sent + (background?.samples.requests_sent ?? 0)
  const served = samples.served_by_cache + (background?.samples.served_by_cache ?? 0)
  const unanswered = samples.requests_unanswered + (background?.samples.requests_unanswered ?? 0)
  const hint = unanswered > 0 ? ` (${unanswered} had no answer: whether they reached it is not known)` : ''
  say(sent !== served + counter.requests, () => `${sent} requests sent ≠ ${served} served by cache + ${counter.requests} at the origin${hint}`)
  say(samples.writes_sent !== counter.writes, () => `${samples.writes_sent} writes sent ≠ ${counter.writes} writes at the origin${hint}`)
  for (const role of /** @type {(keyof typeof logLines)[]} */ (Object.keys(logLines))) {
    say(logLines[role] !== logLinesExpected[role], () => `the ${role} log has ${logLines[role]} lines, expected ${logLinesExpected[role]}`)
  }
  say(overlap !== null && !overlap.proved, () => 'the background did not run before, during and after the probe')
  return problems
}
