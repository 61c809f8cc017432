import { isDeepStrictEqual } from 'node:util'
import { hostFacts } from '@stevec/harness/host'
import { gitState, isSameCode, SCHEMA_VERSION, versions } from './manifest.js'
import { ResultsError } from './results.js'

/**
 * Refuses to resume a run or study with other settings: all trials of a run are compared with each other.
 * @param {string} directory  for the message
 * @param {Record<string, any>} manifest  of the run or study to resume
 * @param {Record<string, unknown>} requested  by field of the manifest; undefined: unchanged
 * @throws {ResultsError} naming each difference
 */
export function refuseDifferences (directory, manifest, requested) {
  if (manifest.schema_version !== SCHEMA_VERSION) {
    throw new ResultsError(
      `${directory} has results of version ${manifest.schema_version}, this program writes version ${SCHEMA_VERSION}: it cannot be resumed`
    )
  }
  const differences = Object.entries(requested).flatMap(([name, value]) => {
    const before = manifest[name]
    if (value === undefined || isDeepStrictEqual(JSON.parse(JSON.stringify(value)), before)) return []
    if (name === 'profile') return profileDifferences(before, /** @type {any} */ (value))
    if (name !== 'experiment') return [`${name} was ${short(before)} and is now ${short(value)}`]
    return Object.entries(/** @type {Record<string, unknown>} */ (value)).flatMap(([key, now]) =>
      isDeepStrictEqual(JSON.parse(JSON.stringify(now ?? null)), before?.[key] ?? null)
        ? []
        : [`the experiment's ${key} was ${short(before?.[key])} and is now ${short(now)}`])
  })
  if (differences.length > 0) {
    throw new ResultsError(
      `${directory} cannot be resumed: ${differences.join('; ')}. Start a new run, or resume with the same options`
    )
  }
}

/**
 * Another calibration of the same profile, or limits that another machine lacks, are a change of conditions instead.
 * @param {{name: string, sha256: string}} before
 * @param {{name: string, sha256: string}} now
 * @returns {string[]}
 */
function profileDifferences (before, now) {
  if (before.name !== now.name) return [`profile was ${before.name} and is now ${now.name}`]
  return before.sha256 === now.sha256 ? [] : [`the file of the profile ${now.name} has changed`]
}

/**
 * The conditions that trials run under, besides their settings.
 * @typedef {object} Conditions
 * @property {ReturnType<typeof gitState>} git
 * @property {Record<string, string>} versions
 * @property {Record<string, unknown>} host
 * @property {Pick<import('../profile/profile.js').Profile, 'applied' | 'missing' | 'calibration'>} profile
 */

/**
 * @param {import('../profile/profile.js').Profile} profile
 * @returns {Conditions} now
 */
function conditionsNow ({ applied, missing, calibration }) {
  const { load_average_1m: _, ...host } = hostFacts()
  return { git: gitState(), versions: versions(), host, profile: { applied, missing, calibration } }
}

/**
 * Refuses to resume on another machine, with other programs or with other code: the trials of a run would differ by
 * more than their cells.
 * @param {string} directory  for the message
 * @param {Record<string, any>} manifest  of the run or study to resume
 * @param {object} now
 * @param {boolean} now.accepted  whether the user accepts changes
 * @param {import('../profile/profile.js').Profile} now.profile
 * @param {boolean} [now.links]  whether links stand between the hops; undefined: a study, whose runs say it
 * @returns {{changes: string[], conditions: Conditions}} `changes`: in words
 * @throws {ResultsError} naming each change, unless they are accepted
 */
export function refuseChanges (directory, manifest, { accepted, profile, links }) {
  const conditions = conditionsNow(profile)
  const changes = Object.entries(conditions).flatMap(([name, values]) => {
    const before = manifest[name]
    if (before === undefined) return []
    return Object.entries(values)
      .filter(([key, value]) => before[key] !== undefined && !isDeepStrictEqual(before[key], value))
      .filter(([key, value]) => name !== 'git' || key !== 'commit' || !isSameCode(before.commit, String(value)))
      .map(([key, value]) => `${name}.${key} was ${short(before[key])} and is now ${short(value)}`)
  })
  if (links !== undefined && links !== manifest.links) {
    changes.push(links ? 'links stand between the hops now' : 'no links stand between the hops any more')
  }
  if (changes.length > 0 && !accepted) {
    throw new ResultsError(
      `${directory} was begun under other conditions: ${changes.join('; ')}. Start a new run, or resume with ` +
      '--accept-changes: the manifest then says which trials ran under which conditions'
    )
  }
  return { changes, conditions }
}

/** @param {unknown} value */
function short (value) {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
