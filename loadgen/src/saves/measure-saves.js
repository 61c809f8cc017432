import { isMongod, isShared, isWiki, watchProcessorTime } from '../lab/processor-time.js'
import { compareStored } from '../records/stored.js'
import { withTimes } from '../records/times.js'
import { watchStored } from './stored-saves.js'
import { acceptedStatuses, isOnlySaves, isUnsafe } from './strategy.js'
import { waitUntilSettled } from './waiting.js'

/** @typedef {import('../lab/samples.js').Counts} Counts */
/** @typedef {import('../lab/samples.js').RequestSample} RequestSample */

/** What was answered was stored before. */
const STORED_BEFORE = Object.freeze({ waiting: 0, settledAtUs: 0 })

/**
 * What became of the saves of a trial, and what they took until all were stored. The trial's load begins after this.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {import('../lab/settings.js').Settings} settings
 * @param {string} mark  of the trial
 * @returns {Promise<SavesOfTrial | null>} null: not each request is a save, or the database is somebody else's
 * @throws {Error} when saves are answered before they are stored, and the lab cannot see what becomes of them
 */
export async function watchSaves ({ site, signal }, settings, mark) {
  const { databaseUri, readSaving, facts } = site
  if (databaseUri === undefined || readSaving === undefined || !isOnlySaves(settings)) {
    if (isUnsafe(settings)) throw new Error(`${named(settings)} needs a wiki of the lab's own: leave the zone out`)
    return null
  }
  if (isUnsafe(settings) && facts.origin?.kind !== 'local') {
    throw new Error(`${named(settings)} needs a wiki with the clock of this machine: leave --origin out`)
  }
  const database = await watchStored(databaseUri(), mark)
  const used = {
    database_cpu_s: watchProcessorTime(site, isMongod),
    service_cpu_s: watchProcessorTime(site, isWiki),
    shared_cpu_s: watchProcessorTime(site, isShared)
  }
  /** @type {number[]} */
  const acknowledged = []
  const accepted = acceptedStatuses(settings)

  return {
    /** @param {RequestSample} sample */
    onSample ({ status, iteration }) {
      if (accepted.includes(status)) acknowledged.push(iteration)
    },

    /** Call after the load: waits until nothing of the trial waits. */
    async settle () {
      const saving = isUnsafe(settings) ? await waitUntilSettled(readSaving, signal) : STORED_BEFORE
      const isStored = saving.waiting === 0
      return {
        finished_at_us: isStored ? saving.settledAtUs ?? 0 : null,
        is_stored: isStored,
        waiting: saving.waiting,
        database_cpu_s: used.database_cpu_s(),
        service_cpu_s: used.service_cpu_s(),
        shared_cpu_s: used.shared_cpu_s(),
        failed: await database.failed(),
        stop: null
      }
    },

    /** Call after all samples. @param {Settled} settled @param {Counts} samples */
    async compare (settled, samples) {
      const compared = compareStored(acknowledged, await database.iterations())
      const refused = samples.statuses.POST?.[503] ?? 0
      return { ...compared, refused, ...withTimes(settled, samples, compared.stored) }
    }
  }
}

/** @param {import('../lab/settings.js').Settings} settings */
const named = ({ write_strategy: strategy }) => `write_strategy=${strategy}`

/**
 * @typedef {object} SavesOfTrial
 * @property {(sample: RequestSample) => void} onSample
 * @property {() => Promise<Settled>} settle
 * @property {(settled: Settled, samples: Counts) => Promise<Saves>} compare
 */

/**
 * @typedef {object} Settled
 * @property {number | null} finished_at_us
 * @property {boolean} is_stored  within two minutes
 * @property {number} waiting  saves that were not
 * @property {number | null} database_cpu_s
 * @property {number | null} service_cpu_s  of the wikis
 * @property {number | null} shared_cpu_s  of Redis
 * @property {number} failed
 * @property {null} stop
 */

/**
 * trial.json has it as `records` (docs/results-format.md).
 * @typedef {ReturnType<typeof compareStored> & {refused: number} & import('../records/times.js').Timed<Settled>} Saves
 */
