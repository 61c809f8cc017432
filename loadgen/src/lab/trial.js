import { availableParallelism } from 'node:os'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { startBackground } from './background.js'
import { wasCutOff } from './fault.js'
import { createGenerators, GENERATOR_LIMIT, RAW_SUFFIX, round } from './generator.js'
import { expectedCounter, problemsOf } from './judge.js'
import { keepOriginSamples } from './origin-samples.js'
import { backgroundPlan, requestsPlanned } from './matrix.js'
import { extractSamples } from './samples.js'
import { storesPages } from './storing.js'

/**
 * What a trial needs of the run that it belongs to.
 * @typedef {object} TrialContext
 * @property {import('./site.js').Site} site
 * @property {string} trialsDirectory
 * @property {AbortSignal} signal
 * @property {number} [watchPort]  of k6's dashboard
 * @property {() => number} [wallClockMs]  the time of day; only `stevec verify` gives another, which steps
 */

/** @typedef {import('./matrix.js').PlannedTrial} PlannedTrial */
/** @typedef {Awaited<ReturnType<typeof runTrial>>} TrialResult */

const CLOCK_ATTEMPTS_MAX = 10

/** @param {number} trial */
export const trialName = (trial) => String(trial).padStart(4, '0')

/**
 * One repetition of one cell: pages at their sizes, cold caches, counter at 0, k6, counter, logs. Written to a folder that gets its name only when it is
 * whole. A trial whose counts do not add up, or that could not be done at all, is kept and marked invalid, never dropped or repeated.
 * @param {TrialContext} context
 * @param {PlannedTrial} trial
 * @throws {Error} only when it was interrupted; then nothing is kept
 */
export async function runTrial (context, trial) {
  const { site, trialsDirectory, signal, wallClockMs = Date.now } = context
  const directory = path.join(trialsDirectory, `${trialName(trial.trial)}.partial`)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const begin = readClocks(wallClockMs)
  const elapsed = () => {
    const { wallMs, monotonicMs } = readClocks(wallClockMs)
    return { wallMs, wallS: (wallMs - begin.wallMs) / 1000, monotonicS: (monotonicMs - begin.monotonicMs) / 1000 }
  }
  let measured
  let broken = null
  try {
    measured = await measure(context, trial, directory, elapsed)
  } catch (error) {
    signal.throwIfAborted()
    broken = `the trial could not be done: ${/** @type {Error} */ (error).message}`
    measured = nothingMeasured(site.logs.linesOf(trial.settings, 0, 0))
  }
  site.ended(trial, measured.requests_sent + (measured.background?.requests_sent ?? 0))
  for (const file of readdirSync(directory).filter((file) => file.endsWith(RAW_SUFFIX))) rmSync(path.join(directory, file))

  const { problems, ...facts } = measured
  const end = elapsed()
  const reasons = broken === null ? problems : [broken]
  const result = {
    trial: trial.trial,
    repetition: trial.repetition,
    plan: trial.plan.id,
    door: trial.settings.door,
    cell: trial.cell,
    settings: trial.settings,
    valid: reasons.length === 0,
    invalid_reasons: reasons,
    started_at: new Date(begin.wallMs).toISOString(),
    finished_at: new Date(end.wallMs).toISOString(),
    monotonic_s: round(end.monotonicS),
    requests_planned: requestsPlanned(trial.settings),
    distinct_pages: trial.plan.distinct_pages,
    ...facts
  }
  writeFileSync(path.join(directory, 'trial.json'), `${JSON.stringify(result, null, 2)}\n`)
  const target = path.join(trialsDirectory, trialName(trial.trial))
  renameSync(directory, target)
  return result
}

/**
 * Both clocks at one moment: when the machine did something else between the readings, they are read again.
 * @param {() => number} wallClockMs
 */
function readClocks (wallClockMs) {
  for (let attempt = 1; ; attempt++) {
    const before = performance.now()
    const wallMs = wallClockMs()
    const after = performance.now()
    if (after - before < 1 || attempt === CLOCK_ATTEMPTS_MAX) return { wallMs, monotonicMs: after }
  }
}

/**
 * What trial.json says of a trial that broke before it had anything to tell.
 * @param {import('./logs.js').PerRole} logLines
 * @returns {Awaited<ReturnType<typeof measure>>}
 */
function nothingMeasured (logLines) {
  return {
    problems: [],
    cold_proof: { cold: false, observed: [], origin_requests: 0 },
    requests_sent: 0,
    requests_failed: 0,
    reads_sent: 0,
    writes_sent: 0,
    counter: { requests: 0, reads: 0, writes: 0 },
    counter_expected: null,
    refreshes: 0,
    purges: null,
    served_by_cache: 0,
    cache_statuses: {},
    pops: undefined,
    duration_mean_ms: null,
    duration_max_ms: null,
    log_lines: logLines,
    fault: null,
    k6: { exit_code: null, dropped_iterations: 0, wall_s: 0, generator_cpu_s: 0, generator_cpu_share: 0, generator_limited: false, stolen_cpu_share: null },
    background: null,
    overlap: null,
    origin_samples: null
  }
}

/**
 * @param {TrialContext} context
 * @param {PlannedTrial} trial
 * @param {string} directory
 * @param {() => {wallS: number, monotonicS: number}} elapsed
 */
async function measure ({ site, signal, watchPort }, trial, directory, elapsed) {
  const { settings, plan } = trial
  const { doors } = await site.prepare(settings)
  const { logs } = site
  const door = doors[settings.door]

  await logs.fetch()
  const beforeProof = logs.ends()
  const stores = storesPages(door, settings)
  const coldProof = await site.proveCold(settings)
  await logs.waitFor(beforeProof, logs.linesOf(settings, coldProof.observed.length, coldProof.origin_requests))
  const logStarts = logs.ends()
  const purgesOf = site.watchPurges(settings)

  const looking = keepOriginSamples(site, directory)
  const probeSettings = { ...settings, url: door.url, plan: plan.plan, mark: `t${trial.trial}`, until_url: null }
  /** @type {import('./origin-samples.js').Kept | null} */
  let originSamples
  /** @type {Awaited<ReturnType<typeof generateLoad>>} */
  let load
  try {
    load = await generateLoad({ site, settings, probeSettings, logStarts, directory, signal, watchPort })
  } finally {
    originSamples = await looking.stop()
  }
  const { probe, k6, background, backgroundK6, fault } = load
  signal.throwIfAborted()
  const purges = await purgesOf()

  /** @type {string[]} */
  const unreadable = []
  /** @type {<T>(what: string, counts: Promise<T>) => Promise<T | null>} */
  const orSay = (what, counts) => counts.catch((error) => {
    unreadable.push(`${what} cannot be read: ${error.message}`)
    return null
  })
  let cutOff = 0
  const samples = await orSay('k6\'s samples', extractSamples({
    source: probe.csvFile,
    target: path.join(directory, 'samples.csv.gz'),
    plan: plan.plan,
    withPop: site.hasPops,
    onSample: (sample) => { if (fault !== null && wasCutOff(sample, fault)) cutOff += 1 }
  }))
  /** @type {number[]} */
  const doneAtUs = []
  const backgroundSamples = background === null
    ? null
    : await orSay('the background\'s samples', extractSamples({ source: background.csvFile, target: path.join(directory, 'background.csv.gz'), plan: backgroundPlan(plan.plan), withPop: site.hasPops, onSample: (sample) => doneAtUs.push(sample.doneAtUs) }))
  const overlap = background === null ? null : overlapOf(samples, backgroundSamples)

  const sent = (samples?.requests_sent ?? 0) + (backgroundSamples?.requests_sent ?? 0)
  const served = (samples?.served_by_cache ?? 0) + (backgroundSamples?.served_by_cache ?? 0)
  await logs.waitFor(logStarts, logs.linesOf(settings, sent, 0))
  const refreshes = await logs.refreshes(logStarts)
  // What the edge asks for on its own no client waits for: it may still be under way.
  await logs.waitFor(logStarts, logs.linesOf(settings, sent, sent - served + refreshes))
  const counter = await site.readCounter()
  const logLinesExpected = logs.linesOf(settings, sent, counter.requests)
  const logLines = await logs.waitFor(logStarts, logLinesExpected)
  await logs.keep(logStarts, directory)
  // An nginx that is killed leaves no line of what it had in hand.
  const disagreements = unreadable.length > 0 || fault !== null ? [] : await logs.reconcile(directory, settings, counter)

  const findings = {
    trial,
    stores,
    severalCaches: door.several_caches === true,
    coldProof,
    k6,
    samples,
    background: backgroundK6 === null ? null : { k6: backgroundK6, samples: backgroundSamples },
    overlap,
    fault: fault === null ? null : { ...fault, cut_off: cutOff },
    counter,
    refreshes,
    purges,
    logLines,
    logLinesExpected,
    ...elapsed()
  }
  return {
    problems: [...problemsOf(findings), ...disagreements, ...unreadable],
    cold_proof: coldProof,
    requests_sent: samples?.requests_sent ?? 0,
    requests_failed: samples?.requests_failed ?? 0,
    reads_sent: samples?.reads_sent ?? 0,
    writes_sent: samples?.writes_sent ?? 0,
    counter,
    counter_expected: expectedCounter(findings),
    refreshes,
    purges,
    served_by_cache: samples?.served_by_cache ?? 0,
    cache_statuses: samples?.cache_statuses ?? {},
    // JSON leaves out what is undefined: where there is one place only, none is named.
    pops: samples?.pops,
    duration_mean_ms: samples?.duration_mean_ms ?? null,
    duration_max_ms: samples?.duration_max_ms ?? null,
    log_lines: logLines,
    fault: findings.fault,
    k6,
    background: backgroundK6 === null
      ? null
      : {
          vus: settings.background_vus,
          started_at_us: backgroundSamples?.first_sent_at_us ?? null,
          finished_at_us: backgroundSamples?.last_done_at_us ?? null,
          requests_sent: backgroundSamples?.requests_sent ?? 0,
          requests_failed: backgroundSamples?.requests_failed ?? 0,
          served_by_cache: backgroundSamples?.served_by_cache ?? 0,
          cache_statuses: backgroundSamples?.cache_statuses ?? {},
          pops: backgroundSamples?.pops,
          completed_per_s: completedPerSecond(doneAtUs, backgroundSamples?.first_sent_at_us ?? 0),
          rate_per_min: ratePerMinute(doneAtUs, samples),
          k6: backgroundK6
        },
    overlap,
    origin_samples: originSamples
  }
}

/** @param {import('./logs.js').PerRole} sizes */
const totalOf = (sizes) => Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0)

/**
 * The probe, its background and what goes wrong meanwhile.
 * @param {object} options
 * @param {import('./site.js').Site} options.site
 * @param {import('./definition.js').Settings} options.settings
 * @param {Omit<import('./generator.js').GeneratorSettings, 'summary_file'>} options.probeSettings
 * @param {import('./logs.js').PerRole} options.logStarts
 * @param {string} options.directory
 * @param {AbortSignal} options.signal
 * @param {number} [options.watchPort]
 */
async function generateLoad ({ site, settings, probeSettings, logStarts, directory, signal, watchPort }) {
  const generators = createGenerators(signal)
  const { background_vus: vus, fault: planned } = settings
  const background = vus === 0 ? null : await startBackground({ generators, probe: probeSettings, vus, directory, signal })
  const backgroundCpuS = background?.cpuSeconds() ?? 0
  const probe = await generators.start({ name: 'k6', directory, settings: probeSettings, watchPort })
  const begun = async () => {
    await site.logs.fetch()
    return totalOf(site.logs.ends()) > totalOf(logStarts)
  }
  const [k6, fault] = await Promise.all([probe.done, planned === null ? null : site.causeFault(planned, { generators, begun })])
  // Both shares of the time in which the probe ran: the background's start and end do not disturb it.
  const backgroundShare = background === null ? 0 : (background.cpuSeconds() - backgroundCpuS) / (k6.wall_s * availableParallelism())
  k6.generator_limited = k6.generator_cpu_share + Math.max(0, backgroundShare) > GENERATOR_LIMIT
  const backgroundK6 = background === null ? null : await background.stop()
  return { probe, k6, background, backgroundK6, fault }
}

/**
 * @param {import('./samples.js').Counts | null} probe
 * @param {import('./samples.js').Counts | null} background
 */
function overlapOf (probe, background) {
  const times = {
    probe_first_sent_at_us: probe?.first_sent_at_us ?? null,
    probe_last_done_at_us: probe?.last_done_at_us ?? null,
    background_first_sent_at_us: background?.first_sent_at_us ?? null,
    background_last_done_at_us: background?.last_done_at_us ?? null
  }
  const { probe_first_sent_at_us: first, probe_last_done_at_us: last, background_first_sent_at_us: begin, background_last_done_at_us: end } = times
  return { ...times, proved: first !== null && last !== null && begin !== null && end !== null && begin < first && end > last }
}

/**
 * @param {number[]} doneAtUs
 * @param {number} startUs
 * @returns {number[]} completed in the first second from there, in the second, and so on
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
 * @returns {number | null} completed while the probe ran, as a rate
 */
function ratePerMinute (doneAtUs, probe) {
  const { first_sent_at_us: first, last_done_at_us: last } = probe ?? { first_sent_at_us: null, last_done_at_us: null }
  if (first === null || last === null || last === first) return null
  return round(doneAtUs.filter((time) => time >= first && time <= last).length / (last - first) * 60e6)
}
