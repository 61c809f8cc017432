import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { RAW_SUFFIX, round } from './generator.js'
import { requestsPlanned } from './matrix.js'
import { measure } from './measure.js'
import { nothingMeasured } from './trial-facts.js'
import { measureFanOut } from '../fan-out/measure-fan-out.js'
import { measureRecords } from '../records/measure-records.js'

/**
 * What a trial needs of its run.
 * @typedef {object} TrialContext
 * @property {import('./site.js').Site} site
 * @property {string} trialsDirectory
 * @property {import('../remote/remote-generators.js').RemoteGenerators | null} [remote]  of the probe; null: on this
 *   machine
 * @property {AbortSignal} signal
 * @property {number} [watchPort]  of k6's dashboard
 * @property {number} [threads]  see GeneratorOptions
 * @property {number} [crawlCapacityPerS]  old texts that the wiki can show
 * @property {() => number} [wallClockMs]  time of day; only `stevec verify` passes another clock, which steps
 */

/** @typedef {import('./matrix.js').PlannedTrial} PlannedTrial */
/** @typedef {Awaited<ReturnType<typeof runTrial>>} TrialResult */

const CLOCK_ATTEMPTS_MAX = 10

/** @param {number} trial */
export const trialName = (trial) => String(trial).padStart(4, '0')

/**
 * Runs one repetition of one cell: pages at their sizes, cold caches, counter at 0, k6, counter, logs. The trial's
 * folder gets its final name only when complete. A trial with wrong counts, or one that could not run, is kept and
 * marked invalid, never dropped or repeated.
 * @param {TrialContext} context
 * @param {PlannedTrial} trial
 * @throws {Error} only when interrupted; nothing is kept then
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
    measured = await measureOf(trial.settings)(context, trial, directory, elapsed)
  } catch (error) {
    signal.throwIfAborted()
    broken = `the trial could not be done: ${/** @type {Error} */ (error).message}`
    measured = nothingMeasured(site.logs.linesOf(trial.settings, Array(trial.settings.edges).fill(0), 0))
  }
  site.ended(trial, measured.requests_sent + (measured.background?.requests_sent ?? 0))
  for (const file of readdirSync(directory).filter((file) => file.endsWith(RAW_SUFFIX))) {
    rmSync(path.join(directory, file))
  }

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

/** @param {import('./settings.js').Settings} settings */
const measureOf = ({ resource }) =>
  resource === 'record' ? measureRecords : resource === 'watched-page' ? measureFanOut : measure

/**
 * Reads both clocks at one moment; reads again if the machine did other work between the readings.
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
