import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

const COLUMNS = /** @type {const} */ (
  ['cpu_ratio', 'memory_used_bytes', 'temperature_c', 'received_bytes', 'sent_bytes']
)

/**
 * The samples' entry in trial.json; `problem`: why sampling failed or stopped.
 * @typedef {{rows: number, cpu_ratio_mean: number | null, problem: string | null}} Kept
 */

/**
 * Samples the origin once a second during a trial and writes origin.csv.gz. A failure to sample makes no trial invalid;
 * trial.json reports it.
 * @param {Pick<import('./site.js').Site, 'sample'>} site
 * @param {string} directory  of the trial
 * @returns {{stop: () => Promise<Kept | null>}}  null if the site cannot sample its origin
 */
export function keepOriginSamples (site, directory) {
  /** @type {string[]} */
  const rows = []
  let cpuRatioSum = 0
  /** @type {string | null} */
  let problem = null
  const sampler = site.sample?.((sample) => {
    cpuRatioSum += sample.cpu_ratio
    rows.push([Math.round(sample.time_s * 1e6), ...COLUMNS.map((name) => sample[name] ?? '')].join())
  })
  sampler?.ended.catch((error) => { problem = error.message })
  return {
    async stop () {
      if (sampler === undefined) return null
      await sampler.stop()
      if (rows.length > 0) {
        writeFileSync(
          path.join(directory, 'origin.csv.gz'),
          gzipSync(`${['time_us', ...COLUMNS].join()}\n${rows.join('\n')}\n`)
        )
      }
      const cpuRatioMean = rows.length === 0 ? null : Math.round(1e4 * cpuRatioSum / rows.length) / 1e4
      return { rows: rows.length, cpu_ratio_mean: cpuRatioMean, problem }
    }
  }
}
