import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { hostFacts } from '@stevec/harness/host'
import { gitState, readManifest, SCHEMA_VERSION, versions, whileRunning } from './manifest.js'
import { markOf, planRun } from './matrix.js'
import { isDecidable } from './power.js'
import { generatorName } from './probe.js'
import { round } from './generator.js'
import { createRunDirectory } from './results.js'
import { hasCrawlers } from './settings.js'
import { refuseChanges, refuseDifferences } from './resume.js'
import { sumOf, totalsOf } from './totals.js'
import { runTrial, trialName } from './trial.js'

/** @typedef {import('./matrix.js').PlannedTrial} PlannedTrial */

/** After this many consecutive trials that could not run at all, the run fails: the next would fail too. */
const BROKEN_IN_A_ROW_MAX = 3

/**
 * @typedef {object} RunOptions
 * @property {import('./definition.js').Definition} definition
 * @property {string} directory  of the run; a manifest in it means that the run is resumed
 * @property {import('./definition.js').Preset} preset
 * @property {number} seed
 * @property {string} command  as typed, for the manifest
 * @property {import('../profile/profile.js').Profile} profile
 * @property {import('./site.js').Site} site  the wiki under test
 * @property {import('../remote/remote-generators.js').RemoteGenerators | null} [remote]  see TrialContext
 * @property {AbortSignal} signal
 * @property {import('./progress.js').Progress} progress
 * @property {number} [lastRepetition]  the run stops after it, and can go on; default: the last one
 * @property {boolean} [goesOn]  whether this process has begun or resumed the run before
 * @property {boolean} [acceptChanges]  resumes although machine, programs or code have changed
 * @property {number} [watchPort]  of k6's dashboard
 * @property {number} [threads]  see GeneratorOptions
 * @property {() => number} [wallClockMs]  see TrialContext
 */

/** @typedef {Record<string, any> & {status: import('./manifest.js').RunStatus}} RunManifest */

/**
 * Runs an experiment, or the rest of a started run: its finished trials are kept, valid or not.
 * @param {RunOptions} options
 * @returns {Promise<import('./totals.js').Totals>} of all trials of the run
 * @throws {Error} when the stack does not start, a trial is not admitted, or consecutive trials break; the manifest
 *   then says `failed` or `interrupted`
 */
export async function runExperiment (options) {
  const { definition, directory, preset, seed, signal, progress, lastRepetition = Infinity } = options
  const run = planRun(definition, seed)
  const { trials } = run
  const before = readManifest(directory)
  if (before !== null) refuseDifferences(directory, before, identityOf(options, run.hash))
  const done = before === null ? new Map() : finishedTrials(path.join(directory, 'trials'))
  const { pause_s: pauseS } = options.profile.asked.client
  progress.starting(definition, { preset, seed, trials: trials.length, done: done.size, pause_s: pauseS })

  const left = trials.filter(({ trial }) => !done.has(trial))
  const rest = left.filter(({ repetition }) => repetition <= lastRepetition)
  const manifest = before ?? await newManifest(options, run)
  if (before !== null && rest.length > 0) noteResumption(options, manifest, left)
  let totals = sumOf([...done.values()].map(totalsOf))
  await whileRunning({ directory, manifest, signal }, async () => {
    manifest.warm_up_requests = await prepareFirst(options.site, rest) ?? manifest.warm_up_requests
    manifest.crawl_capacity_per_s ??= await crawlCapacity(options, rest)
    const crawlCapacityPerS = manifest.crawl_capacity_per_s
    totals = sumOf([totals, ...await runTrials({ ...options, crawlCapacityPerS }, rest, trials.length)])
    if (lastRepetition === Infinity) return
    manifest.repetitions_done = Math.min(lastRepetition, definition.repetitions)
    return left.length > rest.length ? 'partial' : 'complete'
  })
  progress.finished({ directory, ...totals })
  return totals
}

/**
 * Notes in the manifest that a run goes on, and under which conditions.
 * @param {RunOptions} options
 * @param {RunManifest} manifest
 * @param {PlannedTrial[]} left  all trials without a result: a later resumption lists those that it has yet to run
 * @throws {import('./results.js').ResultsError} when conditions have changed and that is not accepted
 */
function noteResumption (options, manifest, left) {
  const { directory, profile, goesOn = false, acceptChanges: accepted = false, site: { links }, progress } = options
  const { changes, conditions } = refuseChanges(directory, manifest, { accepted, profile, links })
  const resumptions = manifest.resumptions ??= []
  if (goesOn && (resumptions.at(-1)?.changes ?? []).join() === changes.join()) return
  const at = new Date().toISOString()
  manifest.resumed_at.push(at)
  resumptions.push({ at, trials: left.map(({ trial }) => trial), changes, ...conditions })
  if (changes.length > 0) progress.warn(`conditions have changed since this run began: ${changes.join('; ')}`)
}

/**
 * Returns the manifest's fields that must be unchanged when a run resumes.
 * @param {RunOptions} options
 * @param {string} planHash
 */
const identityOf = ({ definition, preset, seed, profile, site, remote }, planHash) => ({
  experiment: definition,
  preset,
  seed,
  plan_hash: planHash,
  profile,
  ...remoteFact(remote),
  ...site.identity
})

/**
 * @param {RunOptions['remote']} remote
 * @returns {{remote_generators?: {name: string, host: string}[]}} not with the users there
 */
const remoteFact = (remote) => remote === null || remote === undefined
  ? {}
  : { remote_generators: remote.hosts.map((host, index) => ({ name: generatorName(index), host })) }

/**
 * Starts the site and creates the run's folder.
 * @param {RunOptions} options
 * @param {ReturnType<typeof planRun>} run
 * @returns {Promise<RunManifest>}
 */
async function newManifest (
  { definition, directory, preset, seed, command, profile, site, remote }, { trials, plans, hash }
) {
  const host = hostFacts()
  const decidable = isDecidable(definition, { inStudy: false })
  // The folder is created only once the site is up: a run that cannot start leaves none.
  const { config_hashes: configHashes, doors } = await site.start(trials[0].settings)
  createRunDirectory(directory)
  return {
    schema_version: SCHEMA_VERSION,
    kind: 'run',
    status: 'running',
    experiment: definition,
    preset,
    command,
    seed,
    started_at: new Date().toISOString(),
    finished_at: null,
    resumed_at: [],
    plan_hash: hash,
    plans: plans.map(({ plan, ...facts }) => ({ ...facts, requests: plan.requests })),
    trials_planned: trials.length,
    profile,
    ...remoteFact(remote),
    warm_up_requests: 0,
    git: gitState(),
    versions: versions(),
    host,
    config_hashes: configHashes,
    doors: Object.fromEntries(Object.entries(doors).map(([name, { ca_file: _, ...door }]) => [name, door])),
    links: site.links,
    ...decidable !== null && { decidable },
    ...site.facts
  }
}

/**
 * Prepares the site before the first trial: the estimate of the remaining time excludes the preparation.
 * @param {import('./site.js').Site} site
 * @param {PlannedTrial[]} trials
 * @returns {Promise<number | null>} warm-up requests; null without a trial
 */
async function prepareFirst (site, [first]) {
  if (first === undefined) return null
  await site.start(first.settings)
  return (await site.prepare(first.settings, markOf(first))).warmUp?.requests ?? 0
}

/**
 * Measures once a run, so that all crawlers ask equally often.
 * @param {RunOptions} options
 * @param {PlannedTrial[]} trials
 * @returns {Promise<number | undefined>} undefined without crawlers
 */
async function crawlCapacity ({ site, progress }, trials) {
  const crawled = trials.find(({ settings }) => hasCrawlers(settings))
  if (crawled === undefined || site.measureCrawlCapacity === undefined) return undefined
  progress.note('measuring how many old texts the wiki can show …')
  await site.prepare(crawled.settings, markOf(crawled))
  const perS = await site.measureCrawlCapacity(crawled.settings)
  progress.note(`the wiki can show ${perS.toFixed(1)} a second`)
  return round(perS)
}

/**
 * @param {RunOptions & Pick<import('./trial.js').TrialContext, 'crawlCapacityPerS'>} options
 * @param {PlannedTrial[]} rest  trials that are not done yet
 * @param {number} total  trials of the run
 * @returns {Promise<import('./totals.js').Totals[]>} of each
 * @throws {Error} when three trials in a row could not run at all
 */
async function runTrials (
  { directory, site, remote, signal, progress, watchPort, threads, wallClockMs, crawlCapacityPerS }, rest, total
) {
  const trialsDirectory = path.join(directory, 'trials')
  const context = { site, trialsDirectory, remote, signal, watchPort, threads, wallClockMs, crawlCapacityPerS }
  const totals = []
  let brokenInARow = 0
  progress.trialsBegin(rest.length)
  for (const trial of rest) {
    signal.throwIfAborted()
    await site.admit(trial)
    const result = await runTrial(context, trial)
    totals.push(totalsOf(result))
    progress.trial(result, total)
    brokenInARow = result.requests_sent === 0 && !result.valid ? brokenInARow + 1 : 0
    if (brokenInARow === BROKEN_IN_A_ROW_MAX) {
      throw new Error(
        `${brokenInARow} trials in a row could not be done; the last: ${result.invalid_reasons.join('; ')}`
      )
    }
  }
  return totals
}

/**
 * @param {string} trialsDirectory
 * @returns {Map<number, import('./trial.js').TrialResult>} the complete trials; removes partial ones
 * @throws {Error} when a trial.json cannot be read
 */
function finishedTrials (trialsDirectory) {
  const found = new Map()
  for (const name of existsSync(trialsDirectory) ? readdirSync(trialsDirectory) : []) {
    if (name.endsWith('.partial')) {
      rmSync(path.join(trialsDirectory, name), { recursive: true })
      continue
    }
    try {
      const trial = JSON.parse(readFileSync(path.join(trialsDirectory, name, 'trial.json'), 'utf8'))
      if (trialName(trial.trial) === name) found.set(trial.trial, trial)
    } catch (error) {
      const reason = /** @type {Error} */ (error).message
      throw new Error(`${path.join(trialsDirectory, name)} cannot be read (${reason}); remove that folder to repeat ` +
        'the trial')
    }
  }
  return found
}
