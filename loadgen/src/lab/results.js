import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { readManifest } from './manifest.js'

/** A run that does not exist or is incomplete; the message says what there is. */
export class ResultsError extends Error {}

/**
 * Names the folder of a new run or study: <utc>-<experiment>-<git7>.
 * @param {Date} startedAt
 * @param {string} experiment
 * @param {string | null} commit
 * @returns {string}
 */
export function runName (startedAt, experiment, commit) {
  const utc = startedAt.toISOString().replace(/[-:]/g, '').replace(/\.\d+Z$/, 'Z')
  return `${utc}-${experiment}-${commit?.slice(0, 7) ?? 'nogit'}`
}

/** @param {string} directory  of a run */
export function createRunDirectory (directory) {
  mkdirSync(path.join(directory, 'trials'), { recursive: true })
}

/**
 * @param {string} resultsDirectory
 * @param {string} name  `latest`, a folder of results/, or a path
 * @returns {string} the folder of a run or study; for `latest` the newest complete one, or one of whole blocks
 * @throws {ResultsError}
 */
export function findRun (resultsDirectory, name) {
  if (name !== 'latest') {
    const candidates = [path.resolve(name), path.join(resultsDirectory, name)]
    const found = candidates.find((candidate) => existsSync(path.join(candidate, 'manifest.json')))
    if (found === undefined) {
      throw new ResultsError(`there is no run "${name}" (no manifest.json in ${candidates.join(' or ')})`)
    }
    return found
  }
  const newest = newestWhere(resultsDirectory, ({ status }) => status === 'complete' || status === 'partial')
  if (newest === null) {
    throw new ResultsError(`there is no complete run in ${resultsDirectory}; make one with \`./stevec run read-hot\``)
  }
  return newest
}

/**
 * @param {string} resultsDirectory
 * @param {string} [experiment]  only runs of this experiment; `study` for studies
 * @returns {string} the newest unfinished run or study
 * @throws {ResultsError} when there is none
 */
export function findUnfinished (resultsDirectory, experiment) {
  const found = newestWhere(
    resultsDirectory,
    (manifest) => manifest.status !== 'complete' && (experiment === undefined || experimentOf(manifest) === experiment)
  )
  if (found === null) {
    throw new ResultsError(
      `there is no unfinished ${experiment === undefined ? 'run' : experiment === 'study' ? 'study' : `run of ${experiment}`} in ${resultsDirectory}`
    )
  }
  return found
}

/** @param {Record<string, any>} manifest */
export const experimentOf = (manifest) => manifest.kind === 'study' ? 'study' : manifest.experiment?.name

/**
 * @param {string} resultsDirectory
 * @param {(manifest: NonNullable<ReturnType<typeof readManifest>>) => boolean} wanted
 * @returns {string | null}
 */
function newestWhere (resultsDirectory, wanted) {
  const found = (existsSync(resultsDirectory) ? readdirSync(resultsDirectory) : [])
    .filter((entry) => {
      const manifest = /^\d{8}T\d{6}Z-/.test(entry) ? readManifest(path.join(resultsDirectory, entry)) : null
      return manifest !== null && wanted(manifest)
    })
    .sort()
    .at(-1)
  return found === undefined ? null : path.join(resultsDirectory, found)
}
