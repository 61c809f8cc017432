import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { hostFacts } from '@stevec/harness/host'
import { newSample, withNextBlock } from './blocks.js'
import { compactResults } from './compact.js'
import { gitState, readManifest, SCHEMA_VERSION, versions, whileRunning, writeManifest } from './manifest.js'
import { isDecidable } from './power.js'
import { refuseChanges, refuseDifferences } from './resume.js'
import { runExperiment } from './run.js'
import { sumOf } from './totals.js'

/** The study's experiments, in its order; E3 has three. */
export const STUDY = Object.freeze([
  'read-hot',
  'read-sparse',
  'overload',
  'overload-open',
  'at-once',
  'mixed-write',
  'write-vs-read-direct',
  'write-vs-read-cached'
])

/**
 * Returns an experiment's folder, relative to the study's.
 * @param {string} experiment
 */
export const runDirectory = (experiment) => `runs/${experiment}`

/**
 * A study in blocks: each has one repetition of every experiment.
 * @typedef {object} InBlocks
 * @property {number} [most]  blocks to run now; default: all that are left
 * @property {(processes: import('./site.js').Site['processes']) => Promise<void>} admit  called before each block;
 *   throws when it may not begin
 */

/**
 * @typedef {Omit<import('./run.js').RunOptions, 'definition' | 'wallClockMs' | 'lastRepetition' | 'goesOn'> &
 *   {definitions: import('./definition.js').Definition[], repetitions?: number, inBlocks?: InBlocks}} StudyOptions
 *   `directory`: of the study; a manifest in it means that the study is resumed. `repetitions`: instead of the preset's
 */

/** @typedef {Record<string, any> & {status: import('./manifest.js').RunStatus}} StudyManifest */

/**
 * Runs the study's experiments, or those left of a started study, on one stack: one after the other, or in blocks.
 * @param {StudyOptions} options
 * @returns {Promise<import('./totals.js').Totals>}
 * @throws {Error} when a run fails, or a block may not begin; the manifest then says so, and the study can be resumed
 */
export async function runStudy (options) {
  const { directory, definitions, inBlocks, site, signal, progress } = options
  const before = readManifest(directory)
  if (before !== null) noteResumption(options, before)
  // A study that may not begin leaves no folder.
  if (inBlocks !== undefined) await inBlocks.admit(site.processes)
  mkdirSync(path.join(directory, 'runs'), { recursive: true })
  const manifest = before ?? newManifest(options)
  const runAll = runner(options, manifest)
  const startedMs = performance.now()
  let totals = sumOf([])
  await whileRunning({ directory, manifest, signal }, async () => {
    if (inBlocks === undefined) totals = await runAll()
    else totals = await runBlocks({ ...options, inBlocks }, manifest, runAll)
    return isWhole(manifest) ? 'complete' : 'partial'
  })
  progress.studyFinished({
    directory,
    ...totals,
    experiments: definitions.length,
    seconds: (performance.now() - startedMs) / 1000,
    blocks: manifest.sample
  })
  return totals
}

/** @param {StudyManifest} manifest */
const isWhole = ({ sample }) => sample === undefined || sample.blocks.length === sample.blocks_planned

/**
 * @param {StudyOptions} options
 * @param {StudyManifest} before
 * @throws {import('./results.js').ResultsError} when the options differ, or conditions that are not accepted
 */
function noteResumption (options, before) {
  const { directory, repetitions, preset, seed, profile, site } = options
  refuseDifferences(directory, before, { preset, seed, profile, repetitions: repetitions ?? null, ...site.identity })
  const accepted = options.acceptChanges === true
  const { changes, conditions } = refuseChanges(directory, before, { accepted, profile })
  const at = new Date().toISOString()
  before.resumed_at.push(at)
  ;(before.resumptions ??= []).push({ at, changes, ...conditions })
}

/**
 * Returns what runs all experiments in their order, up to a repetition.
 * @param {StudyOptions} options
 * @param {StudyManifest} manifest
 * @returns {(lastRepetition?: number) => Promise<import('./totals.js').Totals>} of all their trials so far
 */
function runner (options, manifest) {
  const { directory, definitions, progress } = options
  /** @type {Set<string>} */
  const begun = new Set()
  return async (lastRepetition) => {
    /** @type {import('./totals.js').Totals[]} */
    const each = []
    for (const [index, definition] of definitions.entries()) {
      const run = manifest.runs[index]
      const ownDirectory = path.join(directory, run.directory)
      progress.experiment(index + 1, definitions.length, lastRepetition)
      const goesOn = begun.has(run.experiment)
      begun.add(run.experiment)
      try {
        each.push(await runExperiment({ ...options, definition, directory: ownDirectory, lastRepetition, goesOn }))
      } finally {
        run.status = readManifest(ownDirectory)?.status ?? 'planned'
        writeManifest(directory, manifest)
      }
    }
    return sumOf(each)
  }
}

/**
 * Runs the blocks that are left. After each, the manifest is that of a study that ended with it.
 * @param {StudyOptions & {inBlocks: InBlocks}} options
 * @param {StudyManifest} manifest
 * @param {ReturnType<typeof runner>} runAll
 */
async function runBlocks ({ directory, definitions, inBlocks, site, progress }, manifest, runAll) {
  const runDirectories = definitions.map(({ name }) => path.join(directory, runDirectory(name)))
  const first = manifest.sample.blocks.length + 1
  const last = Math.min(manifest.sample.blocks_planned, first - 1 + (inBlocks.most ?? Infinity))
  let totals = sumOf([])
  for (let block = first; block <= last; block++) {
    if (block > first) {
      await inBlocks.admit(site.processes)
      // What a stack does to one door alone would be in all blocks otherwise, and pass for that door's time.
      await site.renew?.()
    }
    totals = await runAll(block)
    manifest.sample = withNextBlock(manifest.sample, runDirectories)
    writeManifest(directory, manifest)
    // Whole or compact, the results are the same: a study does not fail for this.
    await compactResults(directory).then(
      (said) => progress.note(`block ${block} in its compact form: ${said}`),
      (error) => progress.warn(`the block cannot be compacted: ${error.message}`)
    )
  }
  return totals
}

/**
 * @param {StudyOptions} options
 * @returns {StudyManifest}
 */
const newManifest = ({ definitions, repetitions, preset, seed, command, profile, site, inBlocks }) => ({
  schema_version: SCHEMA_VERSION,
  kind: 'study',
  status: 'running',
  preset,
  repetitions: repetitions ?? null,
  command,
  seed,
  profile,
  origin: site.facts.origin,
  started_at: new Date().toISOString(),
  finished_at: null,
  resumed_at: [],
  git: gitState(),
  versions: versions(),
  host: hostFacts(),
  decidable: definitions.every((definition) => isDecidable(definition, { inStudy: true }) !== false),
  ...inBlocks !== undefined && { sample: newSample(Math.max(...definitions.map((each) => each.repetitions))) },
  ...site.identity,
  runs: definitions.map(({ id, name }) => ({
    experiment: name,
    id,
    directory: runDirectory(name),
    status: 'planned'
  }))
})
