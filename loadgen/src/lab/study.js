import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { gitState, readManifest, SCHEMA_VERSION, whileRunning, writeManifest } from './manifest.js'
import { refuseOtherwise } from './resume.js'
import { runExperiment } from './run.js'

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
 * Runs the study's experiments, or those left of a started study, one after the other on one stack.
 * @param {object} options
 * @param {string} options.directory  of the study; a manifest in it means that the study is resumed
 * @param {import('./definition.js').Definition[]} options.definitions  of its experiments
 * @param {'quick' | 'full'} options.preset
 * @param {number} [options.repetitions]  instead of the preset's
 * @param {number} options.seed
 * @param {string} options.command
 * @param {import('../profile/profile.js').Profile} options.profile
 * @param {import('./site.js').Site} options.site
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @param {number} [options.watchPort]
 * @returns {Promise<{trials: number, invalid: number}>}
 * @throws {Error} when a run fails; the manifest then says so, and the study can be resumed
 */
export async function runStudy ({
  directory,
  definitions,
  preset,
  repetitions,
  seed,
  command,
  profile,
  site,
  signal,
  progress,
  watchPort
}) {
  const before = readManifest(directory)
  if (before !== null) {
    refuseOtherwise(directory, before, { preset, seed, profile, repetitions: repetitions ?? null, ...site.identity })
    before.resumed_at.push(new Date().toISOString())
  }
  mkdirSync(path.join(directory, 'runs'), { recursive: true })
  /** @type {Record<string, any> & {status: import('./manifest.js').RunStatus}} */
  const manifest = before ?? {
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
    ...site.identity,
    runs: definitions.map(({ id, name }) => ({
      experiment: name,
      id,
      directory: runDirectory(name),
      status: 'planned'
    }))
  }
  const total = { trials: 0, invalid: 0 }
  const startedMs = performance.now()
  await whileRunning({ directory, manifest, signal }, async () => {
    for (const [index, definition] of definitions.entries()) {
      const run = manifest.runs[index]
      const ownDirectory = path.join(directory, run.directory)
      progress.experiment(index + 1, definitions.length)
      try {
        const { trials, invalid } = await runExperiment({
          definition,
          directory: ownDirectory,
          preset,
          seed,
          command,
          profile,
          site,
          signal,
          progress,
          watchPort
        })
        total.trials += trials
        total.invalid += invalid
      } finally {
        run.status = readManifest(ownDirectory)?.status ?? 'planned'
        writeManifest(directory, manifest)
      }
    }
  })
  progress.studyFinished({
    directory,
    ...total,
    experiments: definitions.length,
    seconds: (performance.now() - startedMs) / 1000
  })
  return total
}
