import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Limited, as the zone can change at any time; long enough for the experiments of one day. */
const HOLDS_MS = 24 * 3_600_000

/**
 * The last result of `stevec cloudflare verify`.
 * @typedef {object} Verified
 * @property {string} zone
 * @property {string} verified_at
 * @property {boolean} ok
 * @property {import('@stevec/cdn/cloudflare/verify').DoorUrls} doors
 * @property {import('@stevec/cdn/cloudflare/verify').Check[]} checks
 */

/**
 * @param {string} stateDirectory
 * @param {string} zone
 */
const fileOf = (stateDirectory, zone) => path.join(stateDirectory, `cloudflare-${zone}.json`)

/**
 * @param {string} stateDirectory
 * @param {Verified} verified
 */
export function keepVerified (stateDirectory, verified) {
  mkdirSync(stateDirectory, { recursive: true, mode: 0o700 })
  writeFileSync(fileOf(stateDirectory, verified.zone), `${JSON.stringify(verified, null, 2)}\n`, { mode: 0o600 })
}

/**
 * @param {string} stateDirectory
 * @returns {string[]} zones with a stored verification, whatever its result
 */
export function verifiedZones (stateDirectory) {
  const files = existsSync(stateDirectory) ? readdirSync(stateDirectory) : []
  return files.flatMap((file) => /^cloudflare-(.+)\.json$/.exec(file)?.[1] ?? []).sort()
}

/**
 * @param {string} stateDirectory
 * @param {string} zone
 * @returns {Verified}
 * @throws {Error} when the zone was not verified within the last day, or failed its verification
 */
export function requireVerified (stateDirectory, zone) {
  const command = `stevec cloudflare verify --zone ${zone}`
  /** @type {Verified} */
  let verified
  try {
    verified = JSON.parse(readFileSync(fileOf(stateDirectory, zone), 'utf8'))
  } catch {
    throw new Error(`the zone ${zone} is not verified yet; run: ${command}`)
  }
  const failed = verified.checks.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
  if (!verified.ok) {
    throw new Error(`the zone ${zone} failed its verification (${failed.join(', ')}): correct it, then run: ${command}`)
  }
  if (!(Date.now() - Date.parse(verified.verified_at) < HOLDS_MS)) {
    throw new Error(`the zone ${zone} was verified more than a day ago; run: ${command}`)
  }
  return verified
}
