import { UsageError } from '../usage-error.js'

/**
 * Where origin and client stood, as a manifest has it (docs/results-format.md).
 * @typedef {object} Profile
 * @property {string} name
 * @property {string | null} sha256  of its file
 * @property {object} asked
 * @property {{cpu: boolean, memory: boolean, links: boolean}} applied
 * @property {string[]} missing
 * @property {object | null} calibration
 */

/**
 * @param {string} name
 * @param {{stateDirectory: string, mongodbUri?: string}} _where
 * @returns {Profile}
 * @throws {UsageError} when there is none of this name
 */
export function loadProfile (name, _where) {
  if (name !== 'none') throw new UsageError(`there is no profile "${name}"; there is: none`)
  return { name, sha256: null, asked: {}, applied: { cpu: false, memory: false, links: false }, missing: [], calibration: null }
}
