import path from 'node:path'
import { fitToZone } from '../cloudflare/fit.js'
import { openZone } from '../cloudflare/open-zone.js'
import { UsageError } from '../usage-error.js'
import { experimentNames, loadDefinition } from '../lab/definition.js'
import { gitState, readManifest } from '../lab/manifest.js'
import { planRun } from '../lab/matrix.js'
import { leaveOutMissing } from '../lab/missing-caches.js'
import { loadProfile } from '../profile/profile.js'
import { createProgress } from '../lab/progress.js'
import { writeReport } from '../lab/report.js'
import { experimentOf, findRun, findUnfinished, runName } from '../lab/results.js'
import { refuseOtherwise } from '../lab/resume.js'
import { runExperiment } from '../lab/run.js'
import { openSite } from '../lab/site.js'
import { originOption, refuseTwiceLimited } from '../stack/origin/origin.js'
import { runDirectory, runStudy, STUDY } from '../lab/study.js'
import { freePorts } from '@stevec/harness/ports'
import { requireTool } from '@stevec/harness/tools/locate'
import { configWith, integerOption, interruptSignal, PORT_HELP, PORT_OPTIONS, refuseMore } from './options.js'
import { TARGET_HELP, TARGET_OPTIONS, targetOption } from './target-options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'run an experiment, or all of the study, on a stack of its own or through a zone',
  help: `Usage: stevec run <experiment|FILE.json|study> [options]
       stevec run --resume [RUN]

Starts a stack with an empty database of its own, runs the experiment's trials in a random order, writes results/<run>/, stops the stack.
With --target cloudflare the trials go through the doors of a zone that \`stevec cloudflare verify\` found good: between trials its cache is purged, the
counter is read through the door source, and of the wiki behind it nothing is touched but the pages that the run writes, which it names first. It wants the token that \`stevec cloudflare\` wants. cdn/README.md tells what differs from a stack.
\`study\` runs the experiments of the study one after the other. FILE.json is an experiment of your own (loadgen/experiments/ has examples and the schema).
Exit code: 0 all trials valid, 1 some are not or the run failed, 2 not understood, 130 interrupted.

Experiments: ${experimentNames().join(', ')}

  --preset quick|full  default quick; full has the study's own numbers
  --seed N             default 1; the same seed gives the same requests in the same order
  --repetitions N      instead of the preset's
  --vus N              instead of the experiment's
  --only LIST          of an experiment: cells, as factor=level,…  (levels of one factor are alternatives)
                       of the study: experiments, by name or id
  --profile NAME       where origin and client stand: none (default: this machine as it is), banana-pi, or a file of your own
  --origin WHERE       where the wiki and its nginx run: local (default: this machine), board (the emulated one: found, or switched on; see
                       stevec board --help), or ssh://[user@]host[:port], a board of your own (arm-image/README.md)
  --resume [RUN]       go on with an unfinished run or study (default: the newest); trials that are there are kept
  --watch              k6's dashboard of each trial's probe, on loopback
  --report             write the report as well
${TARGET_HELP}
${PORT_HELP}

Examples:
  stevec run read-hot
  stevec run study --preset quick --report
  stevec run study --only E3,mixed-write --repetitions 4
  stevec run overload --preset full --only door=source,background_vus=0,background_vus=250
  stevec run read-hot --origin board
  stevec run my-experiment.json --seed 7 --watch
  stevec run read-hot --target cloudflare --zone example.com
  stevec run overload --target cloudflare --only background_vus=0,background_vus=10 --max-requests 20000
  stevec run --resume`,
  options: {
    preset: { type: 'string' },
    seed: { type: 'string' },
    repetitions: { type: 'string' },
    vus: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    origin: { type: 'string' },
    resume: { type: 'boolean' },
    watch: { type: 'boolean' },
    report: { type: 'boolean' },
    ...TARGET_OPTIONS,
    ...PORT_OPTIONS
  },
  async run ({ values, positionals, commandLine, setUp, signal = interruptSignal() }) {
    refuseMore(positionals, 1)
    const config = configWith(values)
    const { target, maxRequests } = targetOption(values, config.stateDirectory)
    const asked = {
      target,
      preset: presetOption(values.preset),
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }),
      repetitions: integerOption(values.repetitions, '--repetitions', { least: 1, most: 1000 }),
      vus: integerOption(values.vus, '--vus', { least: 1, most: 2000 }),
      only: values.only === undefined
        ? undefined
        : String(values.only).split(',').map((part) => part.trim()).filter(Boolean),
      profile: values.profile === undefined ? undefined : loadProfile(values.profile, config),
      origin: values.origin
    }
    const job = values.resume ? resumed(config, positionals[0], asked) : started(config, positionals[0], asked)
    const openOrigin = originOption(job.origin)
    refuseTwiceLimited(job.profile, job.origin)
    if (setUp === undefined) requireTool('k6')
    const progress = createProgress((text) => process.stdout.write(text))
    const watchPort = values.watch ? (await freePorts(1, Object.values(config.ports)))[0] : undefined
    if (watchPort !== undefined) progress.watching(watchPort)
    const site = job.target === null
      ? await openSite({ config, seed: job.seed, profile: job.profile, openOrigin, signal, progress })
      : await openZone({ config, zone: job.target.zone, runs: job.runs, seed: job.seed, maxRequests, signal, progress })
    let invalid
    try {
      if (setUp !== undefined && setUp.left().length > 0) {
        await startDuring(setUp, { job, site, progress })
      }({ invalid } = await job.run({ ...job, command: commandLine, site, signal, progress, watchPort }))
    } finally {
      await site.close()
    }
    if (job.target !== null) {
      progress.note(`Cloudflare's own count comes some minutes late; then: stevec cloudflare analytics --zone ${job.target.zone} --run ${path.relative(process.cwd(), job.directory)} && stevec report ${path.relative(process.cwd(), job.directory)}`)
    }
    if (values.report) await writeReport(job.directory)
    return invalid === 0 ? 0 : 1
  }
}

/**
 * Starts the first trial's stack during set-up. Trials wait for the end of set-up: they need k6 and idle processors.
 * @param {import('@stevec/harness/tools/install').SetUp} setUp
 * @param {{job: Job, site: import('../lab/site.js').Site, progress: import('../lab/progress.js').Progress}} context
 */
async function startDuring (setUp, { job, site, progress }) {
  const [{ settings }] = planRun(job.runs[0].definition, job.seed).trials
  await Promise.all([setUp.all, job.target === null && site.start(settings).then(() => {
    const left = setUp.left()
    if (left.length > 0) progress.note(`the stack is up; measuring waits for ${left.join(', ')}`)
  })])
}

/** @typedef {import('./target-options.js').ZoneTarget | null} Target  null: a stack of its own */

/**
 * Options of the command line.
 * @typedef {object} Asked
 * @property {Target} [target]
 * @property {'quick' | 'full'} [preset]
 * @property {number} [seed]
 * @property {number} [repetitions]
 * @property {number} [vus]
 * @property {string[]} [only]
 * @property {import('../profile/profile.js').Profile} [profile]
 * @property {string} [origin]
 */

/**
 * @typedef {object} Job
 * @property {string} directory
 * @property {'quick' | 'full'} preset
 * @property {number} seed
 * @property {import('../profile/profile.js').Profile} profile
 * @property {string} [origin]
 * @property {Target} target
 * @property {{definition: import('../lab/definition.js').Definition, directory: string}[]} runs
 * @property {(context: any) => Promise<{trials: number, invalid: number}>} run
 */

/**
 * Returns the job of a new run.
 * @param {ReturnType<typeof configWith>} config
 * @param {string | undefined} name
 * @param {Asked} asked
 * @returns {Job}
 */
function started (
  config,
  name,
  {
    target = null,
    preset = 'quick',
    seed = 1,
    repetitions,
    vus,
    only,
    profile = loadProfile('none', config),
    origin
  }
) {
  if (name === undefined) {
    throw new UsageError(`name an experiment: ${experimentNames().join(', ')}, a .json file of your own, or study for all`)
  }
  const common = { preset, seed, profile, target, origin }
  const fit = fitTo(target)
  const directoryFor = (/** @type {string} */ run) =>
    path.join(config.resultsDirectory, runName(new Date(), run, gitState().commit))
  if (name === 'study') {
    if (vus !== undefined) throw new UsageError('--vus is for one experiment, not for the study')
    const definitions = studyNames(only).map((each) => fit(loadDefinition(each, preset, { repetitions })))
    return studyJob({ ...common, directory: directoryFor('study') }, definitions, repetitions)
  }
  const definition = leaveOutMissing(fit(loadDefinition(name, preset, { repetitions, vus, only: cellsOption(only) })))
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
 * @param {number | undefined} repetitions
 * @returns {Job}
 */
const studyJob = (job, definitions, repetitions) => ({
  ...job,
  runs: definitions.map((definition) => ({
    definition,
    directory: path.join(job.directory, runDirectory(definition.name))
  })),
  run: (context) => runStudy({ ...context, definitions, repetitions })
})

/**
 * Returns the job of an unfinished run or study, from its manifest. Options on the command line must match it.
 * @param {ReturnType<typeof configWith>} config
 * @param {string | undefined} name  of an experiment or a run; undefined: the newest unfinished one
 * @param {Asked} asked
 * @returns {Job}
 * @throws {import('../lab/results.js').ResultsError} when there is none, or an option does not match
 */
function resumed ({ resultsDirectory }, name, asked) {
  const isExperiment = name !== undefined &&
    (name === 'study' || name.endsWith('.json') || experimentNames().includes(name))
  const ownFile = isExperiment && name.endsWith('.json') ? loadDefinition(name, asked.preset ?? 'quick') : null
  const directory = name === undefined || isExperiment
    ? findUnfinished(resultsDirectory, ownFile?.name ?? name)
    : findRun(resultsDirectory, name)
  const manifest = /** @type {Record<string, any>} */ (readManifest(directory))
  const { preset, seed, profile } = manifest
  /** @type {Target} */
  const target = manifest.target ? { kind: manifest.target.kind, zone: manifest.target.zone } : null
  refuseOtherwise(
    directory,
    { ...manifest, target },
    { preset: asked.preset, seed: asked.seed, profile: asked.profile, target: asked.target }
  )
  const common = {
    directory,
    preset,
    seed,
    profile: asked.profile ?? profile,
    target,
    origin: sameOrigin(manifest, asked.origin)
  }
  const fit = fitTo(target)
  if (manifest.kind === 'study') {
    const names = manifest.runs.map((/** @type {{experiment: string}} */ { experiment }) => experiment)
    if (asked.only !== undefined) {
      refuseOtherwise(directory, { ...manifest, only: names }, { only: studyNames(asked.only) })
    }
    const repetitions = asked.repetitions ?? manifest.repetitions ?? undefined
    return studyJob(
      common,
      names.map((/** @type {string} */ each) => fit(loadDefinition(each, preset, { repetitions }))),
      repetitions
    )
  }
  const before = manifest.experiment
  const file = isExperiment ? name : experimentOf(manifest)
  // The manifest contains the definition, but a changed file means another experiment, so the file is read again. A
  // file of the user's own is read only if the command line names it.
  const known = isExperiment || experimentNames().includes(file)
  const definition = known
    ? loadDefinition(file, preset, {
      repetitions: asked.repetitions ?? before.repetitions,
      vus: asked.vus ?? before.settings.vus,
      only: cellsOption(asked.only) ?? levelsOf(before.factors)
    })
    : before
  return experimentJob(common, fit(definition))
}

/**
 * @param {Record<string, any>} manifest  of the resumed run
 * @param {string | undefined} asked  --origin
 * @returns {string} --origin of the resumed run
 * @throws {UsageError} when they differ, or when only the user knows the address
 */
function sameOrigin (manifest, asked) {
  const kind = manifest.origin?.kind ?? 'local'
  if (asked !== undefined && asked.split(':')[0] !== kind) {
    throw new UsageError(`the origin of this run was ${kind}, so it cannot be gone on with at ${asked}`)
  }
  if (asked === undefined && kind === 'ssh') {
    throw new UsageError('the origin of this run was a machine of your own; name it again with --origin ssh://…')
  }
  return asked ?? kind
}

/**
 * @param {Record<string, import('../lab/definition.js').Factor>} factors
 * @returns {Record<string, string[]>} the equivalent of --only
 */
function levelsOf (factors) {
  return Object.fromEntries(Object.entries(factors).map(([name, factor]) => [
    name,
    Array.isArray(factor) ? factor.map(String) : Object.keys(factor)
  ]))
}

/**
 * @param {string | undefined} text
 * @returns {'quick' | 'full' | undefined}
 */
function presetOption (text) {
  if (text !== undefined && text !== 'quick' && text !== 'full') {
    throw new UsageError(`--preset is quick or full, not "${text}"`)
  }
  return text
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
