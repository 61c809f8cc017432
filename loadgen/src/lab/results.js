import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { readManifest } from './manifest.js'

/** A run that is not there or not whole; the message says which there are. */
export class ResultsError extends Error {}

/**
 * Makes the folder of a new run: <utc>-<experiment>-<git7>.
 * @param {string} resultsDirectory
 * @param {Date} startedAt
 * @param {string} experiment
 * @param {string | null} commit
 * @returns {string}
 */
export function createRunDirectory (resultsDirectory, startedAt, experiment, commit) {
  const utc = startedAt.toISOString().replace(/[-:]/g, '').replace(/\.\d+Z$/, 'Z')
  const directory = path.join(resultsDirectory, `${utc}-${experiment}-${commit?.slice(0, 7) ?? 'nogit'}`)
  mkdirSync(path.join(directory, 'trials'), { recursive: true })
  return directory
}

/**
 * @param {string} resultsDirectory
 * @param {string} name  `latest`, a folder of results/, or a path
 * @returns {string} the run's folder; `latest` is the newest that is complete
 * @throws {ResultsError}
 */
export function findRun (resultsDirectory, name) {
  if (name !== 'latest') {
    const candidates = [path.resolve(name), path.join(resultsDirectory, name)]
    const found = candidates.find((candidate) => existsSync(path.join(candidate, 'manifest.json')))
    if (found === undefined) throw new ResultsError(`there is no run "${name}" (no manifest.json in ${candidates.join(' or ')})`)
    return found
  }
  const complete = (existsSync(resultsDirectory) ? readdirSync(resultsDirectory) : [])
    .filter((entry) => /^\d{8}T\d{6}Z-/.test(entry) && readManifest(path.join(resultsDirectory, entry))?.status === 'complete')
    .sort()
  const newest = complete.at(-1)
  if (newest === undefined) throw new ResultsError(`there is no complete run in ${resultsDirectory}; make one with \`./stevec run read-hot\``)
  return path.join(resultsDirectory, newest)
}
