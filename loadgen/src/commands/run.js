import path from 'node:path'
import { openZone } from '../cloudflare/open-zone.js'
import { EXIT } from '../exit-codes.js'
import { UsageError } from '../usage-error.js'
import { refuseUnlimitedCrawl } from '../lab/crawl-capacity.js'
import { isLinkFault } from '../lab/link-fault.js'
import { refuseUnknownDatabases } from '../lab/database.js'
import { cellsOf, PRESETS } from '../lab/definition.js'
import { bytesOf, refuseSmallDisk } from '../lab/disk.js'
import { experimentNames } from '../lab/experiment-files.js'
import { labDirectory, withLabFolder } from '../lab/lab-folder.js'
import { splitOnly } from '../lab/levels.js'
import { planRun } from '../lab/matrix.js'
import { loadProfile } from '../profile/profile.js'
import { undecidable } from '../lab/power.js'
import { createProgress } from '../lab/progress.js'
import { writeReport } from '../lab/report.js'
import { openSite } from '../lab/site.js'
import { trialsLeft } from '../lab/trials-left.js'
import { openFilesWarning } from '../stack/open-files.js'
import { openRemoteGenerators } from '../remote/remote-generators.js'
import { parseTargets } from '../remote/targets.js'
import { originOption, refuseTwiceLimited } from '../stack/origin/origin.js'
import { lockMachine } from '@stevec/harness/machine-lock'
import { freePorts } from '@stevec/harness/ports'
import { requireTool } from '@stevec/harness/tools/locate'
import {
  configWith, integerOption, interruptSignal, nameLines, PORT_HELP, PORT_OPTIONS, refuseMore
} from './options.js'
import { TARGET_HELP, TARGET_OPTIONS, targetOption } from './target-options.js'
import { resumedJob, startedJob } from './run-jobs.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'run an experiment, or all of the study, on a stack of its own or through a zone',
  help: `Usage: stevec run <experiment|FILE.json|study> [options]
       stevec run --resume [RUN] [options]

Starts a stack of its own with an empty database, runs the trials of an experiment in a random
order, writes results/<run>/ and stops the stack. \`study\` runs the experiments of the study one
after the other. FILE.json is an experiment of your own; loadgen/experiments/ has examples and the
schema.

Experiments:
${nameLines(experimentNames())}

  --preset NAME        size of the experiment: quick (default); full, which takes minutes to hours
                       and has the settings of the study of 2016 (the run says at its start which
                       ones the study does not state); or sample, for \`study\` only: as many
                       trials as results/sample has, in about three hours
  --seed N             the same seed sends the same requests in the same order (default 1)
  --repetitions N      trials of each cell, instead of the preset's
  --vus N              virtual users of all trials, instead of the experiment's
  --only LIST          some cells of an experiment, as factor=level,… (levels of one factor are
                       alternatives); or some experiments of the study, by name or id
  --profile NAME       limits and links of origin and client: none (default), banana-pi, or a file
  --origin WHERE       where the wiki and its nginx run: local (default, this machine), board (the
                       emulated one), or ssh://[user@]host[:port], a board of your own
  --generators LIST    machines that send the load of the probe, one k6 on each, all of one plan:
                       ssh://[user@]host[:port],… (docs/methodology.md, "Generators elsewhere")
  --blocks N           of the study with --preset sample: ends after N more blocks, each of which
                       has one repetition of every experiment; --resume goes on
  --resume [RUN]       continues an unfinished run or study (default the newest)
  --accept-changes     resumes although machine, programs or code have changed since
  --wait               while another measurement is under way on this machine, waits for its end
  --watch              k6's dashboard of each trial's probe, on 127.0.0.1
  --report             also writes the report
  --quiet              no progress; warnings and errors only
  --json               the outcome as JSON: folder, trials and requests, invalid and failed ones
${TARGET_HELP}
${PORT_HELP}

A study with --preset sample runs in blocks, and only where it can be a sample: the profile fitted
on this machine and applied in full, the code as committed, the machine idle. Each block ends with
results that \`stevec report\` reads.

With --target cloudflare the trials go through the doors of a zone that \`stevec cloudflare verify\`
has verified. The zone's cache is purged between trials. The run writes pages in the wiki behind the
zone, says before which, and changes nothing else. cdn/README.md says how such a run differs.

Exit code: 0 all trials valid, 1 some are not, 2 wrong usage, 3 the run failed, 130 interrupted.

Examples:
  stevec run read-hot
  stevec run study --preset quick --report
  stevec run study --only E3,mixed-write --repetitions 4
  stevec run overload --preset full --only door=source,background_vus=0,background_vus=250
  stevec run study --preset sample --profile banana-pi --blocks 3
  stevec run read-hot --origin board
  stevec run my-experiment.json --seed 7 --watch
  stevec run read-hot --generators ssh://load-1,ssh://k6@load-2:2222
  stevec run read-hot --target cloudflare --zone example.com
  stevec run --resume`,
  options: {
    preset: { type: 'string' },
    seed: { type: 'string' },
    repetitions: { type: 'string' },
    vus: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    origin: { type: 'string' },
    generators: { type: 'string' },
    blocks: { type: 'string' },
    resume: { type: 'boolean' },
    'accept-changes': { type: 'boolean' },
    wait: { type: 'boolean' },
    watch: { type: 'boolean' },
    report: { type: 'boolean' },
    quiet: { type: 'boolean' },
    json: { type: 'boolean' },
    ...TARGET_OPTIONS,
    ...PORT_OPTIONS
  },
  async run ({ values, positionals, commandLine, setUp, signal = interruptSignal() }) {
    refuseMore(positionals, 1)
    const config = configWith(values)
    const { target, maxRequests } = targetOption(values, config.stateDirectory)
    const requested = {
      target,
      preset: presetOption(values.preset),
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }),
      repetitions: integerOption(values.repetitions, '--repetitions', { least: 1, most: 1000 }),
      vus: integerOption(values.vus, '--vus', { least: 1, most: 2000 }),
      only: values.only === undefined ? undefined : splitOnly(String(values.only)),
      profile: values.profile === undefined ? undefined : loadProfile(values.profile, config),
      origin: values.origin,
      generators: values.generators === undefined ? undefined : parseTargets(values.generators),
      blocks: integerOption(values.blocks, '--blocks', { least: 1, most: 1000 })
    }
    if (values.watch && requested.generators !== undefined) {
      throw new UsageError('--watch shows a k6 on this machine: leave out --watch or --generators')
    }
    const jobOf = values.resume ? resumedJob : startedJob
    const newJob = () => jobOf(config, positionals[0], requested)
    const { profile, origin, runs, target: zone } = newJob()
    originOption(origin)
    refuseTwiceLimited(profile, origin)
    refuseUnlimitedCrawl(runs.map(({ definition }) => definition), { profile, origin, zone })
    if (setUp === undefined) requireTool('k6')
    const isQuiet = values.quiet === true || values.json === true
    const progress = createProgress(
      (text) => { if (!isQuiet) process.stdout.write(text) },
      (text) => process.stderr.write(text)
    )
    const tooFew = openFilesWarning()
    if (tooFew !== null) progress.warn(tooFew)
    const onWait = (/** @type {string} */ holder) =>
      progress.note(`waiting for another measurement on this machine: ${holder}`)
    const release = await lockMachine({ command: commandLine, wait: values.wait === true, onWait, signal })
    try {
      // Made after the wait: it has the time of the start, and a run to resume may have ended meanwhile.
      const { generators: targets } = requested
      return await measure(newJob(), { config, values, maxRequests, commandLine, setUp, targets, signal, progress })
    } finally {
      await release()
    }
  }
}

/**
 * @typedef {Pick<import('../cli.js').Invocation, 'values' | 'commandLine' | 'setUp'> & {
 *   config: ReturnType<typeof configWith>, maxRequests: number, signal: AbortSignal,
 *   targets?: import('../remote/targets.js').Target[],
 *   progress: import('../lab/progress.js').Progress}} RunContext
 */

/**
 * Runs a job while this process has the machine's lock.
 * @param {Job} job
 * @param {RunContext} context
 * @returns {Promise<number>} the exit code
 */
async function measure (job, context) {
  const { config, values, progress } = context
  await refuseDisks(job, config)
  const definitions = job.runs.map(({ definition }) => definition)
  refuseUnknownDatabases(definitions, config)
  for (const sentence of undecidable(definitions, { inStudy: definitions.length > 1 })) progress.note(sentence)
  const outcome = job.target === null
    ? await withLabFolder(config.stateDirectory, () => runOnMachines(job, context))
    : await runOnMachines(job, context)
  const directory = path.relative(process.cwd(), job.directory)
  if (job.target !== null) {
    progress.note('Cloudflare\'s own counts arrive some minutes later; then run: ' +
      `stevec cloudflare analytics --zone ${job.target.zone} --run ${directory} && stevec report ${directory}`)
  }
  if (values.report) await writeReport(job.directory)
  if (values.json) process.stdout.write(`${JSON.stringify({ directory: job.directory, ...outcome })}\n`)
  return outcome.invalid === 0 ? EXIT.good : EXIT.violated
}

/**
 * Opens the machines of the generators, runs the job and closes them.
 * @param {Job} job
 * @param {RunContext} context
 */
async function runOnMachines (job, context) {
  const { config, setUp, targets, signal, progress } = context
  if (targets === undefined) return runOnSite(job, context, null)
  // k6 is copied from here.
  await setUp?.all
  const { sshConfig: configFile } = config
  const remote = await openRemoteGenerators(targets, { configFile, signal, onProgress: progress.note })
  try {
    return await runOnSite(job, context, remote)
  } finally {
    await remote.close()
  }
}

/**
 * Opens the site of a job, runs the job and closes the site.
 * @param {Job} job
 * @param {RunContext} context
 * @param {import('../remote/remote-generators.js').RemoteGenerators | null} remote
 */
async function runOnSite (job, { config, values, maxRequests, commandLine, setUp, signal, progress }, remote) {
  const watchPort = values.watch ? (await freePorts(1, Object.values(config.ports)))[0] : undefined
  if (watchPort !== undefined) progress.watching(watchPort)
  const openOrigin = originOption(job.origin)
  const site = job.target === null
    ? await openSite({
      config, seed: job.seed, profile: job.profile, links: needsLinks(job), openOrigin, signal, progress
    })
    : await openZone({ config, zone: job.target.zone, runs: job.runs, seed: job.seed, maxRequests, signal, progress })
  try {
    if (setUp !== undefined && setUp.left().length > 0) await startDuring(setUp, { job, site, progress })
    const acceptChanges = values['accept-changes'] === true
    // The names of users on other machines are nobody's business.
    const command = commandLine.replace(/ssh:\/\/[^@\s,]*@/g, 'ssh://')
    return await job.run({ ...job, command, site, remote, signal, progress, watchPort, acceptChanges })
  } finally {
    await site.close()
  }
}

/**
 * @param {Job} job
 * @param {ReturnType<typeof configWith>} config
 * @throws {import('../lab/disk.js').DiskError} when there may be too little room for the results, or for the stack
 */
async function refuseDisks ({ runs, seed, target }, { resultsDirectory, stateDirectory }) {
  const { results, stack } = bytesOf(trialsLeft(runs, seed))
  await refuseSmallDisk([
    { folder: resultsDirectory, variable: 'STEVEC_RESULTS', bytes: results },
    ...target === null
      ? [{ folder: stateDirectory, variable: 'STEVEC_STATE', bytes: stack, removed: labDirectory(stateDirectory) }]
      : []
  ])
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

/** @typedef {import('./run-jobs.js').Job} Job */

/**
 * Whether a trial of the job delays the origin's responses, or cuts a link. All its trials then take the same path,
 * through links.
 * @param {Job} job
 */
const needsLinks = ({ runs }) => runs.some(({ definition }) => cellsOf(definition).some(({ settings }) =>
  settings.origin_delay_ms > 0 || (settings.fault !== null && isLinkFault(settings.fault))))

/**
 * @param {string | undefined} text
 * @returns {import('../lab/definition.js').Preset | undefined}
 */
function presetOption (text) {
  const preset = PRESETS.find((name) => name === text)
  if (text !== undefined && preset === undefined) {
    throw new UsageError(`--preset is ${PRESETS.join(', ')}, not "${text}"`)
  }
  return preset
}
