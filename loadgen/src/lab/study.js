import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { hostFacts } from '@stevec/harness/host'
import { gitState, readManifest, SCHEMA_VERSION, versions, whileRunning, writeManifest } from './manifest.js'
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
 * @typedef {Omit<import('./run.js').RunOptions, 'definition' | 'wallClockMs'> &
 *   {definitions: import('./definition.js').Definition[], repetitions?: number}} StudyOptions
 *   `directory`: of the study; a manifest in it means that the study is resumed. `repetitions`: instead of the preset's
 */

/**
 * Runs the study's experiments, or those left of a started study, one after the other on one stack.
 * @param {StudyOptions} options
 * @returns {Promise<import('./totals.js').Totals>}
 * @throws {Error} when a run fails; the manifest then says so, and the study can be resumed
 */
export async function runStudy (options) {
  const { directory, definitions, repetitions, preset, seed, profile, site, signal, progress } = options
  const before = readManifest(directory)
  if (before !== null) {
    refuseDifferences(directory, before, { preset, seed, profile, repetitions: repetitions ?? null, ...site.identity })
    const changes = refuseChanges(directory, before, { accepted: options.acceptChanges === true })
    const at = new Date().toISOString()
    before.resumed_at.push(at)
    ;(before.resumptions ??= []).push({ at, changes })
  }
  mkdirSync(path.join(directory, 'runs'), { recursive: true })
  const manifest = before ?? newManifest(options)
  /** @type {import('./totals.js').Totals[]} */
  const each = []
  const startedMs = performance.now()
  await whileRunning({ directory, manifest, signal }, async () => {
    for (const [index, definition] of definitions.entries()) {
      const run = manifest.runs[index]
      const ownDirectory = path.join(directory, run.directory)
      progress.experiment(index + 1, definitions.length)
      try {
        each.push(await runExperiment({ ...options, definition, directory: ownDirectory }))
      } finally {
        run.status = readManifest(ownDirectory)?.status ?? 'planned'
        writeManifest(directory, manifest)
      }
    }
  })
  const total = sumOf(each)
  progress.studyFinished({
    directory,
    ...total,
    experiments: definitions.length,
    seconds: (performance.now() - startedMs) / 1000
  })
  return total
}

/**
 * @param {StudyOptions} options
 * @returns {Record<string, any> & {status: import('./manifest.js').RunStatus}}
 */
const newManifest = ({ definitions, repetitions, preset, seed, command, profile, site }) => ({
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
  ...site.identity,
  runs: definitions.map(({ id, name }) => ({
    experiment: name,
    id,
    directory: runDirectory(name),
    status: 'planned'
  }))
})
