import { needsPurges } from '@stevec/wiki-app/cache-policy'
import { countOf } from '../count-of.js'
import { hidesRequests } from './fault.js'
import { requestsPlanned } from './matrix.js'
import { problemsOfTraces } from './traces.js'
import { problemsOfTotals } from './wiki-totals.js'

/**
 * Largest difference between the wall clock and the monotonic clock over a trial: a busy machine reads both at one
 * moment about this exactly. Slewing time synchronisation moves both clocks alike (clock_gettime(2)); a larger
 * difference means that the clock was set or that the machine slept.
 */
const CLOCK_STEP_S = 0.05
/** A page's age counts from its Date header, in whole seconds (RFC 9111 §4.2.3). */
const AGE_RESOLUTION_S = 1

/**
 * After waiting this long for another request's fetch, a request starts its own (docs/decisions/0005). So does nginx's
 * own cache (proxy_cache_lock_timeout).
 */
const COLLAPSE_WAIT_MAX_MS = 5_000

/** @typedef {import('./samples.js').Counts} Counts */

/**
 * What a trial found, before the verdict.
 * @typedef {object} Findings
 * @property {import('./matrix.js').PlannedTrial} trial
 * @property {boolean} stores  whether a cache stores pages at the door (see storesPages)
 * @property {boolean} [severalCaches]  whether several do, each with its own requests to the origin
 * @property {import('./cold.js').ColdProof} coldProof
 * @property {import('./generator.js').GeneratorFacts} k6
 * @property {import('./probe.js').ProbeGenerator[]} [generators]  the k6 processes of the probe; default: one
 * @property {number} [clockDriftMs]  of the clock of a generator elsewhere against the lab's, at most
 * @property {Counts | null} samples  null: unreadable
 * @property {null | {k6: import('./generator.js').GeneratorFacts, samples: Counts | null}} background
 * @property {null | {proved: boolean}} overlap
 * @property {null | (import('./fault.js').FaultTimes & {cut_off: number})} [fault]  `cut_off`: requests that failed or
 *   got a stale copy although the wiki may have counted them
 * @property {import('./counter.js').Counter} counter
 * @property {import('./wiki-totals.js').WikiTotals | null} [wikiTotals]  null: no wiki has totals
 * @property {number} refreshes  requests that the edge sent by itself, to renew a copy that it had served (UPDATING)
 * @property {null | import('./purges.js').TrialPurges} purges  null: the policy has none
 * @property {null | import('./traces.js').TrialTraces} [traces]  null: the wiki is not to trace
 * @property {import('./logs.js').PerRole} logLines
 * @property {import('./logs.js').PerRole} logLinesExpected
 * @property {number} wallS
 * @property {number} monotonicS
 */

/**
 * Returns how many requests must reach the wiki in theory. Without a storing cache: all. With one: every edit, or one
 * request for each distinct page, if copies outlive the trial, nothing is edited, and no response takes so long that
 * waiting requests ask the origin themselves. With both edits and reads at a cache, or with a background, the number
 * depends on timing.
 * @param {Pick<Findings, 'trial' | 'stores' | 'severalCaches' | 'k6'> &
 *   {samples?: (Pick<Counts, 'duration_max_ms'> &
 *     Partial<Pick<Counts, 'schedule' | 'requests_unanswered'>>) | null}} findings
 * @returns {number | null} null where theory gives no exact number
 */
export function expectedCounter ({ trial: { settings, plan }, stores, severalCaches = false, k6, samples = null }) {
  if (settings.background_vus > 0 || settings.bound === 'either' || settings.fault !== null) return null
  if ((samples?.schedule?.never_sent ?? 0) > 0 || (samples?.requests_unanswered ?? 0) > 0) return null
  if (!stores || (plan.reads === 0 && settings.edit === 'post')) return httpRequestsPlanned({ settings, plan })
  const outlives = needsPurges(settings.policy) || k6.wall_s < settings.ttl_s - AGE_RESOLUTION_S
  if ((samples?.duration_max_ms ?? 0) >= COLLAPSE_WAIT_MAX_MS) return null
  return outlives && !severalCaches && plan.writes === 0 ? plan.distinct_pages : null
}

/** @param {Pick<import('./matrix.js').PlannedTrial, 'settings' | 'plan'>} trial */
function httpRequestsPlanned ({ settings, plan }) {
  return requestsPlanned(settings) + (settings.edit === 'post' ? 0 : plan.writes)
}

/**
 * @param {Findings} findings
 * @returns {string[]} why the trial is invalid, in sentences; empty for a valid trial
 */
export function problemsOf (findings) {
  const { trial, samples, background, overlap } = findings
  const problems = [
    ...problemsOfConditions(findings),
    ...problemsOfTotals(findings.wikiTotals ?? null, findings.counter)
  ]
  // Without samples, no count can be checked.
  if (samples === null || background?.samples === null) return problems

  problems.push(...problemsOfProbe(findings, samples), ...problemsOfWiki(findings), ...problemsOfTraces(findings))
  const totals = totalsOf(samples, background?.samples ?? null)
  if (trial.settings.record_stop !== null) return [...problems, ...problemsOfStop(findings, totals)]
  const { fault } = trial.settings
  if (fault !== null && !findings.fault) problems.push('the planned fault did not happen')
  if (fault !== null && hidesRequests(fault)) {
    const answered = totals.sent - totals.served - samples.requests_failed
    return [...problems, ...problemsOfFault(findings, answered)]
  }
  problems.push(...problemsOfSums(findings, samples, totals), ...problemsOfLogs(findings, totals.unanswered))
  if (overlap?.proved === false) problems.push('the background did not run before, during and after the probe')
  return problems
}

/**
 * Checks that the caches were cold, k6 ended well and nobody set the clock.
 * @param {Findings} findings
 */
function problemsOfConditions ({ coldProof, k6, generators, clockDriftMs = 0, background, wallS, monotonicS }) {
  const { problems, say } = listProblems()
  say(
    !coldProof.cold,
    () => `the caches were not cold: the probe saw ${coldProof.observed.map((status) => status || 'no cache').join(', ')} and ${countOf(coldProof.origin_requests, 'request')} reached the origin`
  )
  const all = [
    ...generators ?? [{ name: 'k6', host: null, ...k6 }],
    ...background === null ? [] : [{ name: 'the background\'s k6', host: null, ...background.k6 }]
  ]
  for (const { name, host, exit_code: exitCode, message } of all) {
    say(
      exitCode !== 0,
      () => `${name}${host === null ? '' : ` on ${host}`} ended with ` +
        `${exitCode === null ? 'a signal' : `exit code ${exitCode}`}: ${message}`
    )
  }
  say(
    Math.abs(wallS - monotonicS) > CLOCK_STEP_S,
    () => `the clock was set during the trial: it says ${wallS.toFixed(2)} s have passed, but ${monotonicS.toFixed(2)} s have`
  )
  say(
    clockDriftMs > 1000 * CLOCK_STEP_S,
    () => `the clock of a generator's machine was set during the trial: it moved by ${clockDriftMs.toFixed(0)} ms`
  )
  return problems
}

/**
 * Checks that the probe sent what was planned, and that the counter is what theory says.
 * @param {Findings} findings
 * @param {Counts} samples  of the probe
 */
function problemsOfProbe (findings, samples) {
  const { trial, background, counter } = findings
  const { problems, say } = listProblems()
  const planned = httpRequestsPlanned(trial)
  say(
    trial.settings.bound === 'requests' && trial.settings.model === 'closed' && samples.requests_sent !== planned,
    () => `${samples.requests_sent} of ${countOf(planned, 'planned request')} ${samples.requests_sent === 1 ? 'was' : 'were'} sent`
  )
  say(samples.requests_sent === 0, () => 'the probe sent nothing')
  const wrong = (samples.failures['wrong-protocol'] ?? 0) + (background?.samples?.failures['wrong-protocol'] ?? 0)
  say(wrong > 0, () => `${countOf(wrong, 'response')} did not come by ${trial.settings.protocol} over TLS 1.3`)
  if (trial.settings.resource === 'short-link') problems.push(...problemsOfLinks(samples))
  const expected = expectedCounter(findings)
  say(
    expected !== null && counter.requests !== expected,
    () => `the counter says ${counter.requests}, expected ${expected}`
  )
  return problems
}

/**
 * Checks that each short link was answered by a redirect to its page, and each new one made. Else the times are of
 * something else. What the wiki could not answer (5xx), or refused for its limits (429), is a failure as with pages.
 * @param {Counts} samples
 */
function problemsOfLinks ({ failures, statuses }) {
  const { problems, say } = listProblems()
  const wrong = failures['wrong-answer'] ?? 0
  const refused = Object.entries(statuses).flatMap(([method, counts]) => Object.entries(counts)
    .filter(([status]) => status.startsWith('4') && status !== '429')
    .map(([status, count]) => ({ text: `${method} ${status} × ${count}`, count })))
  const total = wrong + refused.reduce((sum, { count }) => sum + count, 0)
  const others = [...wrong > 0 ? [`a redirect elsewhere, or none × ${wrong}`] : [], ...refused.map(({ text }) => text)]
  say(total > 0, () => `${countOf(total, 'short link')} did not lead to ${total === 1 ? 'its page' : 'their pages'}, ` +
    `or could not be made: ${others.join(', ')}`)
  return problems
}

/** @param {Findings} findings */
function problemsOfWiki ({ trial, counter, purges }) {
  const { problems, say } = listProblems()
  // A new short link sends no purge.
  const purging = counter.writes > 0 && trial.settings.resource === 'page'
  say(
    counter.reads + counter.writes !== counter.requests,
    () => `the counter says ${countOf(counter.requests, 'request')}, but ${countOf(counter.reads, 'read')} and ${countOf(counter.writes, 'write')}`
  )
  say(purges?.told === false, () => 'the wiki had not purged every edit from the edge within a minute after the trial')
  say(
    purges !== null && purging && purges.calls === purges.failed,
    () => `${countOf(counter.writes, 'edit')}, but no purge reached the edge`
  )
  const deaf = Object.entries(purges?.confirmed ?? {}).flatMap(([name, calls]) => calls === 0 ? name : [])
  say(
    purging && deaf.length > 0,
    () => `${countOf(counter.writes, 'edit')}, but no purge reached ${deaf.join(', ')}`
  )
  return problems
}

/**
 * Checks: sent = served by cache + counter. A request without an answer may have reached the wiki or not, so with some
 * of them the law is two bounds.
 * @param {Findings} findings
 * @param {Counts} samples  of the probe
 * @param {ReturnType<typeof totalsOf>} totals
 */
function problemsOfSums ({ counter, refreshes }, samples, { sent, served, unanswered }) {
  const { problems, say } = listProblems()
  const hint = unanswered > 0 ? ` (${unanswered} had no answer: whether they reached it is not known)` : ''
  const own = refreshes > 0 ? ` + ${refreshes} of the edge's own` : ''
  const most = sent + refreshes - served
  say(
    counter.requests > most || counter.requests < most - unanswered,
    () => `${countOf(sent, 'request')} sent${own} ≠ ${served} served by cache + ${counter.requests} at the origin${hint}`
  )
  say(
    counter.writes > samples.writes_sent || counter.writes < samples.writes_sent - unanswered,
    () => `${countOf(samples.writes_sent, 'write')} sent ≠ ${countOf(counter.writes, 'write')} at the origin${hint}`
  )
  return problems
}

/**
 * The count of a record service ends with it: the last reading before the signal is at most what was sent.
 * @param {Findings} findings
 * @param {ReturnType<typeof totalsOf>} totals
 */
const problemsOfStop = ({ counter }, { sent }) => counter.requests <= sent
  ? []
  : [`${countOf(sent, 'request')} sent, but the service had counted ${counter.requests} before it was stopped`]

/**
 * @param {Findings} findings
 * @param {number} unanswered  requests that a log may lack
 */
function problemsOfLogs ({ logLines, logLinesExpected }, unanswered) {
  const { problems, say } = listProblems()
  for (const role of /** @type {(keyof typeof logLines)[]} */ (Object.keys(logLines))) {
    const most = logLinesExpected[role]
    // The origin's lines are expected by the counter, which knows how many reached it.
    const least = role === 'origin' ? most : Math.max(0, most - unanswered)
    say(
      logLines[role] > most || logLines[role] < least,
      () => `the ${role} log has ${countOf(logLines[role], 'line')}, expected ${least === most ? most : `${least} to ${most}`}`
    )
  }
  return problems
}

/**
 * @param {Counts} probe
 * @param {Counts | null} background
 */
const totalsOf = (probe, background) => ({
  sent: probe.requests_sent + (background?.requests_sent ?? 0),
  served: probe.served_by_cache + (background?.served_by_cache ?? 0),
  unanswered: probe.requests_unanswered + (background?.requests_unanswered ?? 0)
})

/** Returns a list, and a function that adds a sentence to it if something is wrong. */
function listProblems () {
  /** @type {string[]} */
  const problems = []
  return {
    problems,
    say (/** @type {boolean} */ wrong, /** @type {() => string} */ text) { if (wrong) problems.push(text()) }
  }
}

/**
 * Checks the counts of a trial in which the origin was killed, or parted from the edge. Failed requests need not be in
 * the counter: they never left the edge, or were in flight at the fault. So the counter has at least every request that
 * the origin answered, and at most also those that were cut off and those that the edge sent by itself; no client saw
 * whether the origin answered the latter. The log of a killed origin lacks at most the requests that were cut off, and
 * that of an edge those without an answer.
 * @param {Findings} findings
 * @param {number} answered  requests that the origin must have answered
 */
function problemsOfFault ({ fault, samples, counter, refreshes, logLines, logLinesExpected }, answered) {
  const { problems, say } = listProblems()
  const cutOff = fault?.cut_off ?? 0
  const [lost, unlogged] = fault?.kind === 'edge-parted' ? [0, samples?.requests_unanswered ?? 0] : [cutOff, 0]
  const own = refreshes > 0 ? `, and the edge sent ${refreshes} of its own` : ''
  say(
    counter.requests < answered || counter.requests > answered + cutOff + refreshes,
    () => `the counter says ${counter.requests}; the origin answered ${answered}, and ${cutOff} ${cutOff === 1 ? 'was' : 'were'} cut off${own}`
  )
  say(
    counter.writes > (samples?.writes_sent ?? 0),
    () => `${countOf(counter.writes, 'write')} at the origin, but the probe sent ${samples?.writes_sent ?? 0}`
  )
  for (const role of /** @type {(keyof typeof logLines)[]} */ (Object.keys(logLines))) {
    const most = logLinesExpected[role]
    const least = Math.max(0, most - (role === 'origin' ? lost : unlogged))
    say(
      logLines[role] < least || logLines[role] > most,
      () => `the ${role} log has ${countOf(logLines[role], 'line')}, expected ${least === most ? most : `${least} to ${most}`}`
    )
  }
  return problems
}
