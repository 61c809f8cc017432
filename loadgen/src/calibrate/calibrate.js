import { rmSync } from 'node:fs'
import { countOf } from '../count-of.js'
import { labDirectory } from '../lab/lab-folder.js'
import { OPEN_TO_TRIALS, WITHOUT_QUEUE } from '../lab/wiki-settings.js'
import { flexiblePorts } from '../stack/stack-ports.js'
import { startStack, stopStack } from '../stack/stack.js'
import { hostFingerprint, writeCalibration } from '../profile/calibration-file.js'
import { describe, ProfileError, readProfile } from '../profile/profile.js'
import { deviation } from './fit.js'
import { DOORS, fitRounds, round3 } from './rounds.js'
import { busyShare, preparePages } from './short-trials.js'

/** The project's tolerance for E1's means; a worse fit is not written. */
const WRITE_TOLERANCE = 0.2
/** Above this share, the fit may include other work on the machine. */
const BUSY_LIMIT = 0.25
const BUSY_PERIOD_MS = 2_000

/** @typedef {import('./rounds.js').Round} Round */
/** @typedef {import('./rounds.js').Target} Target */

/** A fit that missed its target; nothing was written. */
export class CalibrationError extends Error {}

/**
 * Fits a profile to E1 on its own stack, and writes the result. The caller holds the locks of the
 * machine and of the lab's folder.
 * @param {object} options
 * @param {string} options.profile  name or file
 * @param {{stateDirectory: string, ports: Partial<import('../config.js').Ports>}} options.config
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.write  receives progress, line by line
 * @returns {Promise<{file: string, calibration: import('../profile/calibration-file.js').Calibration}>}
 * @throws {CalibrationError} when the means stay more than 20 % off
 * @throws {ProfileError} when the profile has no target to fit to
 */
export async function calibrate ({ profile: nameOrFile, config, signal, write }) {
  const { profile, sha256 } = readProfile(nameOrFile)
  const target = profile.calibration
  if (target === undefined) {
    throw new ProfileError(
      `the profile ${profile.name} has no "calibration" (what to fit to), so there is nothing to fit`
    )
  }
  const line = (/** @type {string} */ text) => write(`${text}\n`)
  const startedAt = performance.now()
  const directory = labDirectory(config.stateDirectory)
  try {
    await stopStack(directory)
    rmSync(directory, { recursive: true, force: true })
    const busyBefore = await busyShare(BUSY_PERIOD_MS, signal)
    line(busyBefore > BUSY_LIMIT
      ? `warning: this machine is ${percent(busyBefore)} busy with other work; the fit may be wrong, run it again when it is quiet`
      : `this machine is idle enough (${percent(busyBefore)} busy)`)

    const described = describe(profile, sha256, true)
    for (const sentence of described.missing) line(`limitation: ${sentence}`)
    const { stack, sizeBytes } = await startWarmStack({ directory, ports: config.ports, profile: described, signal })
    line('stack started, pages written and read until warm')
    const rounds = await fitRounds({ stack, profile: described, target, sizeBytes, signal, line })
    // Other work on the machine can make a later round worse than an earlier one.
    const best = rounds.reduce((one, other) => other.off < one.off ? other : one)
    refuseBadFit(best, { target, rounds: rounds.length, busyBefore })
    /** @type {import('../profile/calibration-file.js').Calibration} */
    const calibration = {
      schema_version: 1,
      profile: profile.name,
      profile_sha256: sha256,
      experiment: target.experiment,
      calibrated_at: new Date().toISOString(),
      host: hostFingerprint(),
      fitted: best.fitted,
      evidence: {
        ...fitEvidence(best, target),
        answer_size_bytes: sizeBytes,
        host_busy_share_before: round3(busyBefore),
        missing: described.missing,
        rounds,
        duration_s: Math.round((performance.now() - startedAt) / 1000)
      }
    }
    return { file: writeCalibration(config.stateDirectory, calibration), calibration }
  } finally {
    await stopStack(directory)
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * @param {object} options
 * @param {string} options.directory  of the stack
 * @param {Partial<import('../config.js').Ports>} options.ports
 * @param {import('../profile/profile.js').Profile} options.profile  not in force yet
 * @param {AbortSignal} options.signal
 * @returns {Promise<{stack: import('../stack/state.js').StackState, sizeBytes: number}>} `sizeBytes`: of a response
 */
async function startWarmStack ({ directory, ports: requestedPorts, profile, signal }) {
  const { ports } = await flexiblePorts(requestedPorts)
  const stack = await startStack({
    links: true,
    directory,
    ports,
    profile,
    engage: false,
    wikiEnvironment: { CACHE_POLICY: 'ttl', CACHE_TTL_S: '3600', ...OPEN_TO_TRIALS, ...WITHOUT_QUEUE },
    signal
  })
  return { stack, sizeBytes: await preparePages(stack, signal) }
}

/**
 * @param {Round} best
 * @param {{target: Target, rounds: number, busyBefore: number}} context
 * @throws {CalibrationError} when a mean time is more than 20 % off
 */
function refuseBadFit ({ mean_ms: means }, { target, rounds, busyBefore }) {
  const worst = DOORS.find((door) => Math.abs(round3(deviation(means[door], target.mean_ms[door]))) > WRITE_TOLERANCE)
  if (worst === undefined) return
  throw new CalibrationError(`after ${countOf(rounds, 'round')} the door ${worst} at best takes ${means[worst]} ms instead of ${target.mean_ms[worst]}; nothing was written. Try again when the machine is quiet (it was ${percent(busyBefore)} busy before)`)
}

/**
 * @param {Round} best
 * @param {Target} target
 */
const fitEvidence = (best, target) => ({
  residuals: Object.fromEntries(DOORS.map((door) => [door, {
    asked_ms: target.mean_ms[door],
    measured_ms: best.mean_ms[door],
    deviation: round3(deviation(best.mean_ms[door], target.mean_ms[door]))
  }])),
  capacity: {
    asked_per_s: best.capacity_target_per_s,
    measured_per_s: best.capacity_measured_per_s,
    service_ms: best.service_ms
  }
})

/** @param {number} share */
const percent = (share) => `${Math.round(100 * share)} %`
