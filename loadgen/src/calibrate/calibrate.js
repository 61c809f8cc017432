import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { acquireLock } from '../lab/lock.js'
import { OPEN_TO_TRIALS } from '../lab/wiki-settings.js'
import { flexiblePorts } from '../stack/stack-ports.js'
import { startStack, stopStack } from '../stack/stack.js'
import { engageProfile } from '../stack/engage-profile.js'
import { hostFingerprint, writeCalibration } from '../profile/calibration-file.js'
import { deviation, median, nextShare, nextTimes, serviceTime } from './fit.js'
import { describe, ProfileError, readProfile, withFitted } from '../profile/profile.js'
import { busyShare, capacity, meanDuration, preparePages } from './short-trials.js'

const DOORS = /** @type {const} */ (['source', 'local', 'cached'])
const TRIALS = 3
const ROUNDS_MAX = 5
const CAPACITY_STEPS_MAX = 4
const TIMES_TOLERANCE = 0.03
const CAPACITY_TOLERANCE = 0.06
/** The project's tolerance for E1's means; a worse fit is not written. */
const WRITE_TOLERANCE = 0.2
/** Above this share, the fit may include other work on the machine. */
const BUSY_LIMIT = 0.25
const BUSY_PERIOD_MS = 2_000

/** A fit that missed its target; nothing was written. */
export class CalibrationError extends Error {}

/** @typedef {Record<(typeof DOORS)[number], number>} Means */

/**
 * Fits a profile to E1 on its own stack, and writes the result.
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
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const directory = path.join(config.stateDirectory, 'lab')
  try {
    await stopStack(directory)
    rmSync(directory, { recursive: true, force: true })
    const busyBefore = await busyShare(BUSY_PERIOD_MS, signal)
    line(busyBefore > BUSY_LIMIT
      ? `warning: this machine is ${percent(busyBefore)} busy with other work; the fit may be wrong, run it again when it is quiet`
      : `this machine is idle enough (${percent(busyBefore)} busy)`)

    const described = describe(profile, sha256, true)
    for (const sentence of described.missing) line(`not as it should be: ${sentence}`)
    const { ports } = await flexiblePorts(config.ports)
    const stack = await startStack({
      directory,
      ports,
      profile: described,
      engage: false,
      wikiEnvironment: { CACHE_POLICY: 'ttl', CACHE_TTL_S: '3600', ...OPEN_TO_TRIALS },
      signal
    })
    const limited = described.applied.cpu
    const sizeBytes = await preparePages(stack, signal)
    line('stack started, pages written and read until warm')

    /** @param {import('../profile/calibration-file.js').Fitted} fitted */
    const engage = async (fitted) => {
      stack.profile = { ...described, asked: withFitted(profile, fitted) }
      await engageProfile(stack)
    }
    /** @type {import('../profile/calibration-file.js').Fitted} */
    let fitted = {
      cpu_share: limited ? profile.origin.cpu_share : null,
      delay_ms: profile.origin.delay_ms,
      overhead_ms: profile.client.overhead_ms,
      client_edge_rtt_ms: profile.links.client_edge_rtt_ms
    }
    const rounds = []
    for (let round = 1; ; round++) {
      await engage(fitted)
      const serviceMs = serviceTime(profile, fitted.overhead_ms, sizeBytes)
      const capacityTarget = target.origin_cores * 1000 / serviceMs
      let capacityMeasured = limited ? await capacity(stack, signal) : null
      for (
        let step = 1;
        fitted.cpu_share !== null &&
          capacityMeasured !== null &&
          step < CAPACITY_STEPS_MAX &&
          Math.abs(deviation(capacityMeasured, capacityTarget)) > CAPACITY_TOLERANCE;
        step++
      ) {
        fitted = {
          ...fitted,
          cpu_share: nextShare(fitted.cpu_share, capacityTarget, capacityMeasured, availableParallelism())
        }
        await engage(fitted)
        capacityMeasured = await capacity(stack, signal)
      }
      /** @type {Record<string, number[]>} */
      const trials = { source: [], local: [], cached: [] }
      for (let trial = 0; trial < TRIALS; trial++) {
        for (const door of DOORS) trials[door].push(round1(await meanDuration(stack, door, signal)))
      }
      const measured = /** @type {Means} */ (Object.fromEntries(DOORS.map((door) => [door, median(trials[door])])))
      rounds.push({
        fitted,
        service_ms: round1(serviceMs),
        capacity_target_per_s: round1(capacityTarget),
        capacity_measured_per_s: capacityMeasured === null ? null : round1(capacityMeasured),
        trials_ms: trials,
        mean_ms: measured,
        off: Infinity
      })
      line(`round ${round} of at most ${ROUNDS_MAX} (${Math.round((performance.now() - startedAt) / 1000)} s): ${DOORS.map((door) => `${door} ${measured[door]} ms (study ${target.mean_ms[door]})`).join(', ')}${capacityMeasured === null ? '' : `, capacity ${capacityMeasured.toFixed(1)}/s (asked ${capacityTarget.toFixed(1)})`}`)
      const timesOff = Math.max(...DOORS.map((door) => Math.abs(deviation(measured[door], target.mean_ms[door]))))
      const capacityOff = capacityMeasured === null ? 0 : Math.abs(deviation(capacityMeasured, capacityTarget))
      rounds[rounds.length - 1].off = round3(Math.max(timesOff, capacityOff))
      if ((timesOff <= TIMES_TOLERANCE && capacityOff <= CAPACITY_TOLERANCE) || round === ROUNDS_MAX) break
      fitted = nextTimes(fitted, target.mean_ms, measured)
    }

    // Other work on the machine can make a later round worse than an earlier one.
    const best = rounds.reduce((one, other) => other.off < one.off ? other : one)
    const residuals = Object.fromEntries(DOORS.map((door) => [door, {
      asked_ms: target.mean_ms[door],
      measured_ms: best.mean_ms[door],
      deviation: round3(deviation(best.mean_ms[door], target.mean_ms[door]))
    }]))
    const worst = DOORS.find((door) => Math.abs(residuals[door].deviation) > WRITE_TOLERANCE)
    if (worst !== undefined) {
      throw new CalibrationError(`after ${rounds.length} rounds the door ${worst} at best takes ${best.mean_ms[worst]} ms instead of ${target.mean_ms[worst]}; nothing was written. Try again when the machine is quiet (it was ${percent(busyBefore)} busy before)`)
    }
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
        residuals,
        capacity: {
          asked_per_s: best.capacity_target_per_s,
          measured_per_s: best.capacity_measured_per_s,
          service_ms: best.service_ms
        },
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
    release()
  }
}

/** @param {number} share */
const percent = (share) => `${Math.round(100 * share)} %`
/** @param {number} value */
const round1 = (value) => Math.round(value * 10) / 10
/** @param {number} value */
const round3 = (value) => Math.round(value * 1000) / 1000
