import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { readAnalytics } from '@stevec/cdn/cloudflare/analytics'
import { readManifest } from '../lab/manifest.js'
import { ResultsError } from '../lab/results.js'
import { runDirectory } from '../lab/study.js'

const SCHEMA_VERSION = 1
export const FILE_NAME = 'cloudflare.json'
/** The doors whose requests pass through Cloudflare. */
const DOORS = new Set(['cached', 'nocache'])

/**
 * Returns the folders of runs in a folder of results: the folder itself, or those of a study's started experiments.
 * @param {string} directory
 * @returns {string[]}
 * @throws {ResultsError} when the folder is neither a run nor a study
 */
export function runFolders (directory) {
  const manifest = readManifest(directory)
  if (manifest === null) throw new ResultsError(`${directory} is not the folder of a run: it has no manifest.json`)
  if (manifest.kind !== 'study') return [directory]
  return manifest.runs
    .map((/** @type {{experiment: string}} */ { experiment }) => path.join(directory, runDirectory(experiment)))
    .filter((/** @type {string} */ folder) => readManifest(folder) !== null)
}

/**
 * Writes `cloudflare.json` into a run's folder: for each trial Cloudflare's counts beside ours. Can be repeated:
 * Cloudflare's counts are complete only some minutes after the run.
 * @param {object} options
 * @param {import('@stevec/cdn/cloudflare/client').Client} options.client
 * @param {import('@stevec/cdn/cloudflare/zone').Zone} options.zone
 * @param {string} options.directory  of the run
 * @returns {Promise<{file: string, trials: number, agree: number, sampled: boolean, missing: number}>}  `missing`:
 *   trials for which Cloudflare has no counts (yet)
 * @throws {ResultsError} when the folder is not a run through this zone
 */
export async function keepAnalytics ({ client, zone, directory }) {
  const { doors, trials } = readRun(directory, zone.name)
  const groups = await readAnalytics(
    client,
    zone.id,
    trials.map(({ door, started_at: startedAt, finished_at: finishedAt }) => ({
      // Cloudflare's filter takes only whole seconds.
      from: new Date(Math.floor(Date.parse(startedAt) / 1000) * 1000).toISOString(),
      to: new Date(Math.ceil(Date.parse(finishedAt) / 1000) * 1000).toISOString(),
      hosts: [new URL(doors[door].url).hostname]
    }))
  )
  const entries = trials.map((trial, index) => reconcile(trial, groups[index]))
  const file = path.join(directory, FILE_NAME)
  writeFileSync(`${file}.partial`, `${JSON.stringify({
    schema_version: SCHEMA_VERSION,
    zone: zone.name,
    plan: zone.plan,
    fetched_at: new Date().toISOString(),
    trials: entries
  }, null, 2)}\n`)
  renameSync(`${file}.partial`, file)
  return {
    file,
    trials: entries.length,
    agree: entries.filter(({ requests_difference: difference }) => difference === 0).length,
    sampled: entries.some(({ sample_interval: interval }) => interval !== null && interval !== 1),
    missing: entries.filter(({ groups }) => groups.length === 0).length
  }
}

/**
 * @param {any} trial
 * @param {import('@stevec/cdn/cloudflare/analytics').Group[]} groups
 */
function reconcile (trial, groups) {
  const counted = groups.reduce((sum, { requests }) => sum + requests, 0)
  // The requests of the cold proof also fall into the time window.
  const ours = trial.requests_sent + (trial.background?.requests_sent ?? 0) + trial.cold_proof.observed.length
  const intervals = groups.map(({ sample_interval: interval }) => interval)
  return {
    trial: trial.trial,
    door: trial.door,
    from: trial.started_at,
    to: trial.finished_at,
    sample_interval: intervals.length === 0 ? null : Math.max(...intervals),
    groups,
    requests_counted: counted,
    requests_ours: ours,
    requests_difference: counted - ours,
    cache_statuses_ours: trial.cache_statuses
  }
}

/**
 * @param {string} directory
 * @param {string} zone
 * @returns {{doors: Record<string, {url: string}>, trials: any[]}}
 */
function readRun (directory, zone) {
  const manifest = readManifest(directory)
  if (manifest === null) throw new ResultsError(`${directory} is not the folder of a run: it has no manifest.json`)
  if (manifest.target?.zone !== zone) {
    const other = manifest.target ? `, but through ${manifest.target.zone}` : ': it was made on a stack of its own'
    throw new ResultsError(`${directory} is not a run through ${zone}${other}`)
  }
  const trials = readdirSync(path.join(directory, 'trials')).filter((name) => /^\d+$/.test(name)).sort()
    .map((name) => JSON.parse(readFileSync(path.join(directory, 'trials', name, 'trial.json'), 'utf8')))
    .filter(({ door }) => DOORS.has(door))
  return { doors: manifest.doors, trials }
}
