import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { ROOT } from '../config.js'
import { readCalibration } from './calibration-file.js'

const DIRECTORY = path.join(ROOT, 'loadgen/profiles')
const FILE_MAX_BYTES = 64 * 1024

/** A profile that is not there or not well-formed; the message names what is wrong with it. */
export class ProfileError extends Error {}

/**
 * Where the origin and the client stand, as in loadgen/profiles/profile.schema.json.
 * @typedef {object} ProfileFile
 * @property {string} name
 * @property {string} title
 * @property {string} [why]
 * @property {{cpu_share: number | null, delay_ms: number, memory_bytes: number | null}} origin
 * @property {{client_edge_rtt_ms: number, client_origin_rtt_ms: number, edge_origin_rtt_ms: number, uplink_mbit_per_s: number | null}} links
 * @property {{overhead_ms: number}} client
 * @property {{experiment: 'read-hot', origin_cores: number, mean_ms: {source: number, local: number, cached: number}}} [calibration]
 */

/**
 * A profile as it is to hold: a file, and over it what was fitted on this machine.
 * @typedef {object} Profile
 * @property {ProfileFile} asked
 * @property {string} sha256  of `asked` before anything was fitted
 * @property {null | {experiment: string, run: string, fitted: import('./calibration-file.js').Fitted}} calibration  `run`: when it was fitted
 * @property {string | null} uncalibrated  why no fit holds, in a sentence; null when one does or none is called for
 */

/** @returns {string[]} names of the profiles that come along, sorted */
export function profileNames () {
  return readdirSync(DIRECTORY).filter((file) => file.endsWith('.json') && file !== 'profile.schema.json').map((file) => file.slice(0, -5)).sort()
}

/**
 * @param {string} nameOrFile  `none`, another that comes along, or the path of a file (with a slash or ending in .json)
 * @param {string} stateDirectory  where `stevec calibrate` keeps what it fitted
 * @returns {Profile}
 * @throws {ProfileError}
 */
export function loadProfile (nameOrFile, stateDirectory) {
  const { profile: file, sha256 } = readProfile(nameOrFile)
  if (file.calibration === undefined) return { asked: file, sha256, calibration: null, uncalibrated: null }
  const { calibration, reason } = readCalibration(stateDirectory, file.name, sha256)
  if (calibration === null) {
    return { asked: file, sha256, calibration: null, uncalibrated: `profile ${file.name} is not calibrated: ${reason}; run \`stevec calibrate --profile ${nameOrFile}\` (its values are first guesses until then)` }
  }
  return {
    asked: withFitted(file, calibration.fitted),
    sha256,
    calibration: { experiment: calibration.experiment, run: calibration.calibrated_at, fitted: { ...calibration.fitted } },
    uncalibrated: null
  }
}

/**
 * @param {ProfileFile} file
 * @param {import('./calibration-file.js').Fitted} fitted
 * @returns {ProfileFile} a copy with the fitted values in their places
 */
export function withFitted (file, fitted) {
  return {
    ...file,
    origin: { ...file.origin, cpu_share: fitted.cpu_share ?? file.origin.cpu_share, delay_ms: fitted.delay_ms },
    links: { ...file.links, client_edge_rtt_ms: fitted.client_edge_rtt_ms },
    client: { overhead_ms: fitted.overhead_ms }
  }
}

/**
 * @param {string} nameOrFile
 * @returns {{profile: ProfileFile, sha256: string}}
 * @throws {ProfileError} with every violation of the schema
 */
export function readProfile (nameOrFile) {
  const isFile = nameOrFile.endsWith('.json') || nameOrFile.includes('/')
  if (!isFile && !profileNames().includes(nameOrFile)) {
    throw new ProfileError(`there is no profile "${nameOrFile}"; there is: ${profileNames().join(', ')}, or the path of a file of your own (…/name.json)`)
  }
  const file = isFile ? path.resolve(nameOrFile) : path.join(DIRECTORY, `${nameOrFile}.json`)
  if (!existsSync(file) || !statSync(file).isFile()) throw new ProfileError(`there is no profile file ${nameOrFile}`)
  if (statSync(file).size > FILE_MAX_BYTES) throw new ProfileError(`${nameOrFile} is longer than ${FILE_MAX_BYTES} bytes; that is no profile`)
  /** @type {any} */
  let value
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ProfileError(`${nameOrFile} is not JSON: ${/** @type {Error} */ (error).message}`)
  }
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  const schema = JSON.parse(readFileSync(path.join(DIRECTORY, 'profile.schema.json'), 'utf8'))
  if (!ajv.validate(schema, value)) throw new ProfileError(`${nameOrFile}: ${ajv.errorsText(ajv.errors, { dataVar: 'profile', separator: '; ' })}`)
  const { $schema, ...profile } = /** @type {ProfileFile & {$schema?: string}} */ (value)
  if (isFile && profileNames().includes(profile.name)) {
    const own = readProfile(profile.name)
    if (JSON.stringify(own.profile) !== JSON.stringify(profile)) throw new ProfileError(`${nameOrFile}: the name "${profile.name}" belongs to a profile that comes along; give yours another`)
  }
  return { profile, sha256: `sha256:${createHash('sha256').update(JSON.stringify(profile)).digest('hex')}` }
}
