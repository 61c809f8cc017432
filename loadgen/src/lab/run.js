import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { hostFacts } from '@stevec/harness/host'
import { gitState, readManifest, SCHEMA_VERSION, versions, whileRunning } from './manifest.js'
import { planRun } from './matrix.js'
import { createRunDirectory, ResultsError } from './results.js'
import { refuseOtherwise } from './resume.js'
import { runTrial, trialName } from './trial.js'

/** After this many consecutive trials that could not run at all, the run fails: the next would fail too. */
const BROKEN_IN_A_ROW_MAX = 3

/**
 * Runs an experiment, or the rest of a started run: its finished trials are kept, valid or not.
 * @param {object} options
 * @param {import('./definition.js').Definition} options.definition
 * @param {string} options.directory  of the run; a manifest in it means that the run is resumed
 * @param {'quick' | 'full'} options.preset
 * @param {number} options.seed
 * @param {string} options.command  as typed, for the manifest
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {import('./site.js').Site} options.site  the wiki under test
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @param {number} [options.watchPort]
 * @param {() => number} [options.wallClockMs]  see TrialContext
 * @returns {Promise<{trials: number, invalid: number}>} numbers of all trials of the run and of invalid ones
 * @throws {Error} when the stack does not start, a trial is not admitted, or consecutive trials break; the manifest
 *   then says `failed` or `interrupted`
 */
export async function runExperiment ({
  definition,
  directory,
  preset,
  seed,
  command,
  profile,
  site,
  signal,
  progress,
  watchPort,
  wallClockMs
}) {
  const { trials, plans, hash } = planRun(definition, seed)
  const trialsDirectory = path.join(directory, 'trials')
  const before = readManifest(directory)
  if (before !== null) {
    refuseOtherwise(directory, before, {
      experiment: definition,
      preset,
      seed,
      plan_hash: hash,
      profile,
      ...site.identity
    })
  }
  const done = before === null ? new Map() : finishedTrials(trialsDirectory)
  progress.starting(definition, { preset, seed, trials: trials.length, done: done.size })

  const rest = trials.filter(({ trial }) => !done.has(trial))
  const manifest = before ?? await begin()
  let invalid = [...done.values()].filter(({ valid }) => !valid).length
  if (before !== null) {
    const { commit } = gitState()
    if (commit !== manifest.git?.commit) {
      progress.warn(
        `the code has changed since this run began (${manifest.git?.commit?.slice(0, 7)}, now ${commit?.slice(0, 7)})`
      )
    }
    if (rest.length > 0) manifest.resumed_at.push(new Date().toISOString())
  }
  await whileRunning({ directory, manifest, signal }, async () => {
    let brokenInARow = 0
    if (rest.length > 0) {
      await site.start(rest[0].settings)
      // Before the first trial: the estimate of the remaining time excludes the preparation.
      const { warmUpRequests } = await site.prepare(rest[0].settings)
      manifest.warm_up_requests = warmUpRequests
    }
    progress.trialsBegin(rest.length)
    for (const trial of rest) {
      signal.throwIfAborted()
      await site.admit(trial)
      const result = await runTrial({ site, trialsDirectory, signal, watchPort, wallClockMs }, trial)
      if (!result.valid) invalid += 1
      progress.trial(result, trials.length)
      brokenInARow = result.requests_sent === 0 && !result.valid ? brokenInARow + 1 : 0
      if (brokenInARow === BROKEN_IN_A_ROW_MAX) {
        throw new Error(
          `${brokenInARow} trials in a row could not be done; the last: ${result.invalid_reasons.join('; ')}`
        )
      }
    }
  })
  progress.finished({ directory, trials: trials.length, invalid })
  return { trials: trials.length, invalid }

  /** @returns {Promise<Record<string, any> & {status: import('./manifest.js').RunStatus}>} */
  async function begin () {
    const host = hostFacts()
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
      warm_up_requests: 0,
      git: gitState(),
      versions: versions(),
      host,
      config_hashes: configHashes,
      doors,
      ...site.facts
    }
  }
}

/**
 * @param {string} trialsDirectory
 * @returns {Map<number, {trial: number, valid: boolean}>} the complete trials; removes partial ones
 * @throws {ResultsError} when a trial.json cannot be read
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
      throw new ResultsError(`${path.join(trialsDirectory, name)} cannot be read (${/** @type {Error} */ (error).message}); remove that folder, and the trial is done again`)
    }
  }
  return found
}
