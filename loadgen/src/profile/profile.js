import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { ROOT } from '@stevec/harness/config'
import { readCalibration } from './calibration-file.js'
import { tryLimits } from './limits.js'
import { toxicsOf } from './links.js'

const DIRECTORY = path.join(ROOT, 'loadgen/profiles')
const FILE_MAX_BYTES = 64 * 1024

/** A profile that does not exist or is malformed; the message says what is wrong. */
export class ProfileError extends Error {}

/**
 * The limits and links of origin and client, as in loadgen/profiles/profile.schema.json.
 * @typedef {object} ProfileFile
 * @property {string} name
 * @property {string} title
 * @property {string} [why]
 * @property {{cpu_share: number | null, delay_ms: number, memory_bytes: number | null,
 *   page_reads_at_once?: number}} origin
 * @property {{client_edge_rtt_ms: number, client_origin_rtt_ms: number, edge_origin_rtt_ms: number,
 *   origin_uplink_mbit_per_s: number | null, client_uplink_mbit_per_s: number | null}} links
 * @property {{overhead_ms: number, pause_s?: number}} client
 * @property {{experiment: 'read-hot', origin_cores: number,
 *   mean_ms: {source: number, local: number, cached: number}}} [calibration]
 */

/**
 * A profile as applied on this machine and written to manifests (docs/results-format.md).
 * @typedef {object} Profile
 * @property {string} name
 * @property {string} sha256  of its file, without fitted values
 * @property {ProfileFile} asked  with the values fitted on this machine
 * @property {{cpu: boolean, memory: boolean, links: boolean}} applied
 * @property {string[]} missing  sentences about what this machine cannot apply
 * @property {null | {experiment: string, run: string, fitted: import('./calibration-file.js').Fitted}} calibration
 *   `run`: time of the fit
 */

/** @returns {string[]} names of the bundled profiles, sorted */
export function profileNames () {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.json') && file !== 'profile.schema.json')
    .map((file) => file.slice(0, -5))
    .sort()
}

/**
 * @param {string} nameOrFile  a bundled profile such as `none`, or the path of a file (with a slash or ending in .json)
 * @param {object} where
 * @param {string} where.stateDirectory  with the results of `stevec calibrate`
 * @param {string} [where.mongodbUri]  the user's database instead of our own
 * @returns {Profile}
 * @throws {ProfileError}
 */
export function loadProfile (nameOrFile, { stateDirectory, mongodbUri }) {
  const { profile, sha256 } = readProfile(nameOrFile)
  if (profile.calibration === undefined) return describe(profile, sha256, mongodbUri === undefined)
  const { calibration, reason } = readCalibration(stateDirectory, profile.name, sha256)
  if (calibration === null) {
    const described = describe(profile, sha256, mongodbUri === undefined)
    return {
      ...described,
      missing: [
        ...described.missing,
        `not calibrated, its values are first guesses: ${reason}; run \`stevec calibrate --profile ${nameOrFile}\``
      ]
    }
  }
  const { experiment, calibrated_at: run, fitted } = calibration
  return {
    ...describe(withFitted(profile, fitted), sha256, mongodbUri === undefined),
    calibration: { experiment, run, fitted }
  }
}

/**
 * @param {ProfileFile} asked
 * @param {string} sha256
 * @param {boolean} ownMongod  whether the database will be one of the stack's processes
 * @returns {Profile} with the limits that this machine supports, found by trying
 */
export function describe (asked, sha256, ownMongod) {
  const { applied, missing } = tryLimits(asked.origin, ownMongod)
  const links = Object.values(toxicsOf(asked)).some((toxics) => toxics.length > 0)
  return { name: asked.name, sha256, asked, applied: { ...applied, links }, missing, calibration: null }
}

/**
 * @param {ProfileFile} file
 * @param {import('./calibration-file.js').Fitted} fitted
 * @returns {ProfileFile} a copy with the fitted values; `cpu_share` null means that the machine cannot limit CPU
 */
export function withFitted (file, fitted) {
  return {
    ...file,
    origin: { ...file.origin, cpu_share: fitted.cpu_share, delay_ms: fitted.delay_ms },
    links: { ...file.links, client_edge_rtt_ms: fitted.client_edge_rtt_ms },
    client: { ...file.client, overhead_ms: fitted.overhead_ms }
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
    throw new ProfileError(
      `there is no profile "${nameOrFile}"; the profiles are: ${profileNames().join(', ')}, or the path of a file of your own (…/name.json)`
    )
  }
  const file = isFile ? path.resolve(nameOrFile) : path.join(DIRECTORY, `${nameOrFile}.json`)
  if (!existsSync(file) || !statSync(file).isFile()) throw new ProfileError(`there is no profile file ${nameOrFile}`)
  if (statSync(file).size > FILE_MAX_BYTES) {
    throw new ProfileError(`${nameOrFile} is larger than ${FILE_MAX_BYTES} bytes, too large for a profile`)
  }
  /** @type {any} */
  let value
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ProfileError(`${nameOrFile} is not JSON: ${/** @type {Error} */ (error).message}`)
  }
  requireForm(value, nameOrFile)
  const { $schema, ...profile } = /** @type {ProfileFile & {$schema?: string}} */ (value)
  if (isFile && profileNames().includes(profile.name)) {
    const own = readProfile(profile.name)
    if (JSON.stringify(own.profile) !== JSON.stringify(profile)) {
      throw new ProfileError(
        `${nameOrFile}: the name "${profile.name}" is that of a bundled profile; choose another`
      )
    }
  }
  return { profile, sha256: `sha256:${createHash('sha256').update(JSON.stringify(profile)).digest('hex')}` }
}

/**
 * @param {unknown} value
 * @param {string} source  for the message
 * @throws {ProfileError} with every violation of the schema
 */
export function requireForm (value, source) {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  if (ajv.validate(JSON.parse(readFileSync(path.join(DIRECTORY, 'profile.schema.json'), 'utf8')), value)) return
  const errors = (ajv.errors ?? []).map((error) => {
    const { additionalProperty: unknown } = error.params
    return unknown === undefined ? error : { ...error, message: `${error.message} (${unknown})` }
  })
  throw new ProfileError(`${source}: ${ajv.errorsText(errors, { dataVar: 'profile', separator: '; ' })}`)
}
