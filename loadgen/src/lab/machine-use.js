import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { saturationOf } from '../machine/saturation.js'
import { intervalsOf } from '../machine/usage.js'

const MACHINE_COLUMNS = /** @type {const} */ (
  ['busy_cores', 'idle_cores', 'stolen_cores', 'others_cores', 'pressure_ratio', 'held_up_ratio']
)
const PROCESS_COLUMNS = /** @type {const} */ (['cpu_cores', 'busiest_thread_cores', 'run_queue_cores'])

/** @typedef {import('../machine/usage.js').Interval} Interval */

/**
 * Writes machine.csv.gz and processes.csv.gz of a trial, and says what was the limit.
 * @param {object} options
 * @param {import('../machine/watch.js').Reading[]} options.readings
 * @param {string} options.directory  of the trial
 * @param {import('./site.js').Site} options.site
 * @param {import('./samples.js').Counts | null} options.samples  of the probe
 * @param {import('./settings.js').Settings} options.settings
 * @param {import('./origin-samples.js').Kept | null} options.originSamples
 * @param {import('../machine/generators.js').RemoteUse[]} options.remoteUse
 * @returns {import('../machine/saturation.js').Saturation | null}
 */
export function keepMachineUse ({ readings, directory, site, samples, settings, originSamples, remoteUse }) {
  const intervals = intervalsOf(readings)
  if (intervals.length === 0) return null
  write(directory, 'machine', ['time_us', 'duration_s', ...MACHINE_COLUMNS], intervals.map(machineRow))
  write(directory, 'processes', ['time_us', 'process', 'part', ...PROCESS_COLUMNS], intervals.flatMap(processRows))
  const isRemote = site.facts.origin !== undefined && site.facts.origin.kind !== 'local'
  return saturationOf(readings, {
    ...spanOf(samples, settings.burst),
    quotaCores: site.quotaCores,
    wikiQuotaCores: wikiQuotaOf(site, settings),
    remoteOriginShare: isRemote ? originSamples?.cpu_ratio_mean : null,
    remoteGenerators: remoteUse
  })
}

/**
 * @param {import('./site.js').Site} site
 * @param {import('./settings.js').Settings} settings
 * @returns {number | null} cores that all wikis may use together; null: no limit
 */
const wikiQuotaOf = ({ facts }, { wikis, wiki_cpu_share: share }) =>
  share === null || facts.wiki_shares_missing !== null ? null : wikis * share

/**
 * Returns the time to judge: that of the requests; of a crowd, only its peak, which a mean would hide.
 * @param {import('./samples.js').Counts | null} samples
 * @param {import('../../scenarios/arrivals.js').Burst | null} burst
 */
function spanOf (samples, burst) {
  const [fromUs, untilUs] = [samples?.first_sent_at_us ?? null, samples?.last_done_at_us ?? null]
  if (fromUs === null || untilUs === null || burst === null) return { fromUs, untilUs }
  const beginUs = fromUs + burst.at_s * 1e6
  return { fromUs: beginUs, untilUs: Math.min(untilUs, beginUs + (burst.ramp_s + burst.for_s) * 1e6) }
}

/** @param {Interval} interval */
const machineRow = (interval) =>
  [interval.until_us, cell(interval.duration_s), ...MACHINE_COLUMNS.map((name) => cell(interval[name]))]

/** @param {Interval} interval */
const processRows = ({ until_us: untilUs, processes }) => [...processes].map(([name, use]) =>
  [untilUs, name, use.part, ...PROCESS_COLUMNS.map((column) => cell(use[column]))])

/** @param {number | null} value */
const cell = (value) => value === null ? '' : String(Math.round(value * 10_000) / 10_000)

/**
 * @param {string} directory
 * @param {string} name
 * @param {string[]} columns
 * @param {(string | number)[][]} rows
 */
function write (directory, name, columns, rows) {
  const text = [columns, ...rows].map((row) => `${row.join()}\n`).join('')
  writeFileSync(path.join(directory, `${name}.csv.gz`), gzipSync(text))
}
