import path from 'node:path'
import { fitToZone } from '../cloudflare/fit.js'
import { defaultPreset, loadDefinition } from '../lab/definition.js'
import { experimentNames } from '../lab/experiment-files.js'
import { levelText } from '../lab/levels.js'
import { gitState, readManifest } from '../lab/manifest.js'
import { leaveOutMissing } from '../lab/missing-tools.js'
import { experimentOf, findRun, findUnfinished, runName } from '../lab/results.js'
import { refuseDifferences } from '../lab/resume.js'
import { runExperiment } from '../lab/run.js'
import { refuseNoSample } from '../lab/sample-requirements.js'
import { runDirectory, runStudy, STUDY } from '../lab/study.js'
import { loadProfile, profileNames, requireForm } from '../profile/profile.js'
import { UsageError } from '../usage-error.js'

/** @typedef {import('./target-options.js').ZoneTarget | null} Target  null: a stack of its own */

/**
 * Options of the command line.
 * @typedef {object} RequestedOptions
 * @property {Target} [target]
 * @property {import('../lab/definition.js').Preset} [preset]
 * @property {number} [seed]
 * @property {number} [repetitions]
 * @property {number} [vus]
 * @property {string[]} [only]
 * @property {import('../profile/profile.js').Profile} [profile]
 * @property {string} [origin]
 * @property {number} [blocks]
 * @property {import('../remote/targets.js').Target[]} [generators]  machines
 */

/**
 * @typedef {object} Job
 * @property {string} directory
 * @property {import('../lab/definition.js').Preset} preset
 * @property {number} seed
 * @property {import('../profile/profile.js').Profile} profile
 * @property {string} [origin]
 * @property {Target} target
 * @property {{definition: import('../lab/definition.js').Definition, directory: string}[]} runs
 * @property {(context: any) => Promise<import('../lab/totals.js').Totals>} run
 */

/**
 * Returns the job of a new run.
 * @param {ReturnType<typeof import('./options.js').configWith>} config
 * @param {string | undefined} name
 * @param {RequestedOptions} requested
 * @returns {Job}
 */
export function startedJob (
  config,
  name,
  {
    target = null,
    preset: requestedPreset,
    seed = 1,
    repetitions,
    vus,
    only,
    profile = loadProfile('none', config),
    origin,
    blocks,
    generators
  }
) {
  if (name === undefined) {
    throw new UsageError(`which experiment? Name one of ${experimentNames().join(', ')}, a .json file of your own, or study for all`)
  }
  const preset = requestedPreset ?? (name === 'study' ? 'quick' : defaultPreset(name))
  const common = { preset, seed, profile, target, origin }
  const fit = fitTo(target)
  const { pause_s: pauseS } = profile.asked.client
  const directoryFor = (/** @type {string} */ run) =>
    path.join(config.resultsDirectory, runName(new Date(), run, gitState().commit))
  if (name === 'study') {
    if (vus !== undefined) throw new UsageError('--vus is for one experiment, not for the study')
    if (generators !== undefined) throw new UsageError('--generators is for one experiment, not for the study')
    const overrides = { repetitions, pause_s: pauseS }
    const definitions = studyNames(only).map((each) => fit(loadDefinition(each, preset, overrides)))
    return studyJob({ ...common, directory: directoryFor('study') }, definitions, { repetitions, blocks })
  }
  refuseBlocks(blocks)
  const overrides = {
    repetitions, vus, only: cellsOption(only), pause_s: pauseS, generators: generators?.length
  }
  const definition = leaveOutMissing(fit(loadDefinition(name, preset, overrides)))
  return experimentJob({ ...common, directory: directoryFor(definition.name) }, definition)
}

/** @param {Target} target */
const fitTo = (target) => target === null
  ? (/** @type {import('../lab/definition.js').Definition} */ definition) => definition
  : fitToZone

/**
 * @param {Omit<Job, 'runs' | 'run'>} job
 * @param {import('../lab/definition.js').Definition} definition
 * @returns {Job}
 */
const experimentJob = (job, definition) => ({
  ...job,
  runs: [{ definition, directory: job.directory }],
  run: (context) => runExperiment({ ...context, definition })
})

/**
 * @param {Omit<Job, 'runs' | 'run'>} job
 * @param {import('../lab/definition.js').Definition[]} definitions
 * @param {{repetitions?: number, blocks?: number}} size
 * @returns {Job}
 */
function studyJob (job, definitions, { repetitions, blocks }) {
  const { preset, profile, target } = job
  if (preset !== 'sample') refuseBlocks(blocks)
  /** @type {(context: any) => import('../lab/study.js').InBlocks} */
  const inBlocks = ({ signal }) => ({
    most: blocks,
    admit: (processes) => refuseNoSample({ definitions, profile, target, processes, signal })
  })
  return {
    ...job,
    runs: definitions.map((definition) => ({
      definition,
      directory: path.join(job.directory, runDirectory(definition.name))
    })),
    run: (context) => runStudy({
      ...context, definitions, repetitions, ...preset === 'sample' && { inBlocks: inBlocks(context) }
    })
  }
}

/** @param {number | undefined} blocks */
function refuseBlocks (blocks) {
  if (blocks !== undefined) throw new UsageError('--blocks is for the study with --preset sample')
}

/**
 * Returns the job of an unfinished run or study, from its manifest. Options on the command line must match it.
 * @param {ReturnType<typeof import('./options.js').configWith>} config
 * @param {string | undefined} name  of an experiment or a run; undefined: the newest unfinished one
 * @param {RequestedOptions} requested
 * @returns {Job}
 * @throws {import('../lab/results.js').ResultsError} when there is none, or an option does not match
 */
export function resumedJob (config, name, requested) {
  const { resultsDirectory } = config
  const isExperiment = name !== undefined &&
    (name === 'study' || name.endsWith('.json') || experimentNames().includes(name))
  const ownFile = isExperiment && name.endsWith('.json') ? loadDefinition(name, requested.preset ?? 'quick') : null
  const directory = name === undefined || isExperiment
    ? findUnfinished(resultsDirectory, ownFile?.name ?? name)
    : findRun(resultsDirectory, name)
  const manifest = /** @type {Record<string, any>} */ (readManifest(directory))
  const { preset, seed, profile } = manifest
  /** @type {Target} */
  const target = manifest.target ? { kind: manifest.target.kind, zone: manifest.target.zone } : null
  refuseDifferences(
    directory,
    { ...manifest, target },
    { preset: requested.preset, seed: requested.seed, profile: requested.profile, target: requested.target }
  )
  const origin = sameOrigin(manifest, requested.origin)
  refuseOtherGenerators(manifest, requested.generators)
  // A run of an older version may have a profile of another form.
  requireForm(profile.asked, `the profile in ${path.join(directory, 'manifest.json')}`)
  const common = {
    directory,
    preset,
    seed,
    profile: requested.profile ?? asFittedHere(profile, config),
    target,
    origin
  }
  const { pause_s: pauseS } = profile.asked.client
  const fit = fitTo(target)
  const { blocks } = requested
  if (manifest.kind === 'study') {
    const names = manifest.runs.map((/** @type {{experiment: string}} */ { experiment }) => experiment)
    if (requested.only !== undefined) {
      refuseDifferences(directory, { ...manifest, only: names }, { only: studyNames(requested.only) })
    }
    const repetitions = requested.repetitions ?? manifest.repetitions ?? undefined
    return studyJob(
      common,
      names.map((/** @type {string} */ each) => fit(loadDefinition(each, preset, { repetitions, pause_s: pauseS }))),
      { repetitions, blocks }
    )
  }
  refuseBlocks(blocks)
  const before = manifest.experiment
  const file = isExperiment ? name : experimentOf(manifest)
  // The manifest contains the definition, but a changed file means another experiment, so the file is read again. A
  // file of the user's own is read only if the command line names it.
  const known = isExperiment || experimentNames().includes(file)
  const definition = known
    ? loadDefinition(file, preset, {
      repetitions: requested.repetitions ?? before.repetitions,
      vus: requested.vus ?? before.settings.vus,
      only: cellsOption(requested.only) ?? levelsOf(before.factors),
      pause_s: pauseS,
      generators: requested.generators?.length
    })
    : before
  return experimentJob(common, fit(definition))
}

/**
 * @param {import('../profile/profile.js').Profile} profile  of a run, perhaps of another machine
 * @param {ReturnType<typeof import('./options.js').configWith>} config
 * @returns {import('../profile/profile.js').Profile} with the values fitted on this machine; as it was if its file has
 *   changed, or is the user's own
 */
function asFittedHere (profile, config) {
  if (!profileNames().includes(profile.name)) return profile
  const here = loadProfile(profile.name, config)
  return here.sha256 === profile.sha256 ? here : profile
}

/**
 * @param {Record<string, any>} manifest  of the resumed run
 * @param {string | undefined} requested  --origin
 * @returns {string} --origin of the resumed run
 * @throws {UsageError} when they differ, or when only the user knows the address
 */
function sameOrigin (manifest, requested) {
  const kind = manifest.origin?.kind ?? 'local'
  if (requested !== undefined && requested.split(':')[0] !== kind) {
    throw new UsageError(`the origin of this run was ${kind}, so it cannot be resumed at ${requested}`)
  }
  if (requested === undefined && kind === 'ssh') {
    throw new UsageError('the origin of this run was a machine of your own; repeat its address with --origin ssh://…')
  }
  return requested ?? kind
}

/**
 * @param {Record<string, any>} manifest  of the resumed run; it names hosts only, as the rest is the user's own
 * @param {RequestedOptions['generators']} requested
 * @throws {UsageError} when they are other machines
 */
function refuseOtherGenerators ({ remote_generators: before = [] }, requested = []) {
  const hosts = before.map((/** @type {{host: string}} */ { host }) => host).join(', ')
  if (hosts === requested.map(({ host }) => host).join(', ')) return
  throw new UsageError(hosts === ''
    ? 'the generators of this run were on this machine: leave --generators out, or start a new run'
    : `the generators of this run were on ${hosts}; repeat their addresses with --generators ssh://…`)
}

/**
 * @param {Record<string, import('../lab/definition.js').Factor>} factors
 * @returns {Record<string, string[]>} the equivalent of --only
 */
function levelsOf (factors) {
  return Object.fromEntries(Object.entries(factors).map(([name, factor]) => [
    name,
    Array.isArray(factor) ? factor.map(levelText) : Object.keys(factor)
  ]))
}

/**
 * @param {string[] | undefined} only
 * @returns {string[]} experiments of the study, in its order
 */
function studyNames (only) {
  if (only === undefined) return [...STUDY]
  const ids = Object.fromEntries(STUDY.map((name) => [name, loadDefinition(name, 'quick').id]))
  const unknown = only.find((wanted) => !STUDY.some((name) => name === wanted || ids[name] === wanted))
  if (unknown !== undefined) {
    throw new UsageError(`--only: the study has no "${unknown}"; it has: ${STUDY.map((name) => `${ids[name]} ${name}`).join(', ')}`)
  }
  return STUDY.filter((name) => only.includes(name) || only.includes(ids[name]))
}

/**
 * @param {string[] | undefined} only
 * @returns {Record<string, string[]> | undefined} levels by factor
 */
function cellsOption (only) {
  if (only === undefined) return undefined
  /** @type {Record<string, string[]>} */
  const wanted = {}
  for (const part of only) {
    const [, factor, level] = /^([^=]+)=(.+)$/.exec(part) ?? []
    if (factor === undefined) {
      throw new UsageError(`--only of an experiment is factor=level, such as door=source, not "${part}"`)
    }
    wanted[factor] = [...(wanted[factor] ?? []), level]
  }
  return wanted
}
