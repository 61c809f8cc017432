import { accessSync, constants, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { findParentGroups } from '@stevec/harness/cgroup'
import { hostFacts } from '@stevec/harness/host'

/**
 * The values that calibration may change.
 * @typedef {{cpu_share: number | null, delay_ms: number, overhead_ms: number, client_edge_rtt_ms: number}} Fitted
 */

/**
 * The result of `stevec calibrate` for one profile on one machine.
 * @typedef {object} Calibration
 * @property {1} schema_version
 * @property {string} profile
 * @property {string} profile_sha256  of the profile that it was fitted from
 * @property {string} experiment
 * @property {string} calibrated_at
 * @property {Record<string, unknown>} host  see hostFingerprint
 * @property {Fitted} fitted
 * @property {object} [evidence]  data, residuals and the machine's load
 */

/** Returns the facts that fitted values depend on. Equal facts mean the same machine, as far as a file can tell. */
export function hostFingerprint () {
  const { cpu_model: cpuModel, cores, memory_bytes: memoryBytes } = hostFacts()
  return {
    cpu_model: cpuModel,
    cores,
    memory_bytes: memoryBytes,
    node: process.versions.node.split('.')[0],
    cpu_limit: canLimitCpu()
  }
}

/** Without control groups, the fitted delay accounts for all of the slowness, so it fits no other machine. */
function canLimitCpu () {
  const { cpu } = findParentGroups()
  if ('reason' in cpu) return false
  try {
    accessSync(cpu.directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} stateDirectory
 * @param {string} name
 */
export const calibrationPath = (stateDirectory, name) => path.join(stateDirectory, 'profiles', `${name}.json`)

/**
 * @param {string} stateDirectory
 * @param {string} name  of the profile
 * @param {string} sha256  of the profile's file now
 * @returns {{calibration: Calibration, reason: null} | {calibration: null, reason: string}}
 */
export function readCalibration (stateDirectory, name, sha256) {
  const file = calibrationPath(stateDirectory, name)
  /** @type {string} */
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return { calibration: null, reason: 'nothing was fitted here yet' }
  }
  /** @type {Calibration} */
  let found
  try {
    found = JSON.parse(text)
    if (!isWhole(found)) throw new Error('values are missing')
  } catch (error) {
    return { calibration: null, reason: `${file} cannot be used (${/** @type {Error} */ (error).message})` }
  }
  if (found.profile_sha256 !== sha256) {
    return { calibration: null, reason: `the profile was changed after it was fitted (${found.calibrated_at})` }
  }
  const here = hostFingerprint()
  const other = Object.entries(here).find(([key, value]) => found.host[key] !== value)
  if (other !== undefined) {
    return {
      calibration: null,
      reason: `it was fitted on another machine (${other[0]} ${found.host[other[0]]}, here ${other[1]})`
    }
  }
  return { calibration: found, reason: null }
}

/** @param {Calibration} found */
function isWhole (found) {
  const { fitted } = found
  const numbers = [fitted?.delay_ms, fitted?.overhead_ms, fitted?.client_edge_rtt_ms]
  const share = fitted?.cpu_share
  return found.schema_version === 1 &&
    typeof found.calibrated_at === 'string' &&
    typeof found.host === 'object' &&
    found.host !== null &&
    numbers.every((value) => Number.isFinite(value) && value >= 0) &&
    (share === null || (Number.isFinite(share) && share > 0))
}

/**
 * @param {string} stateDirectory
 * @param {Calibration} calibration
 * @returns {string} the file
 */
export function writeCalibration (stateDirectory, calibration) {
  const file = calibrationPath(stateDirectory, calibration.profile)
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.new`, `${JSON.stringify(calibration, null, 2)}\n`)
  renameSync(`${file}.new`, file)
  return file
}
