import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { arrivalTimesOf } from '../../scenarios/arrivals.js'
import { pageName } from '../../scenarios/plan.js'
import { readCounter } from '../lab/counter.js'
import { createGenerators } from '../lab/generator.js'
import { extractSamples } from '../lab/samples.js'
import { saturationOf } from '../machine/saturation.js'
import { watchMachine } from '../machine/watch.js'
import { outcomeOf } from './outcome.js'

/**
 * @typedef {object} Load
 * @property {string} url
 * @property {import('../lab/definition.js').Settings} settings
 * @property {number} seed
 * @property {string[] | null} paths  null: /wiki/page-000001 …
 * @property {string} [samplesFile]  gets a row for each request (docs/results-format.md), compressed
 * @property {import('../machine/reading.js').WatchedProcess[]} servers  of this machine that answer, as far as known
 * @property {AbortSignal} signal
 */

/**
 * Sends a load and measures it.
 * @param {Load} load
 * @returns {Promise<{outcome: import('./outcome.js').Outcome, responsesMs: Float64Array}>} `responsesMs` rise
 * @throws {Error} when k6 does not end well
 */
export async function send ({ url, settings, seed, paths, samplesFile, servers, signal }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-load-'))
  try {
    const plan = {
      seed,
      stream: 1,
      requests: settings.requests,
      pages: settings.pages,
      edit_ratio: settings.edit_ratio
    }
    const pathsFile = paths === null ? undefined : path.join(directory, 'paths.json')
    if (pathsFile !== undefined) writeFileSync(pathsFile, JSON.stringify(paths))
    // Reading resets it: the second reading counts this load only.
    const counts = await counterOf(url)
    const generators = createGenerators(signal)
    const watch = watchMachine(() => [...servers, ...generators.processes()])
    const generator = await generators.start({
      name: 'k6',
      directory,
      settings: { ...settings, url, plan, mark: Date.now().toString(36), until_url: null, paths_file: pathsFile }
    })
    const k6 = await generator.done
    const readings = watch.stop()
    signal.throwIfAborted()
    if (k6.exit_code !== 0) {
      throw new Error(`k6 ended with exit code ${k6.exit_code}: ${k6.message}`)
    }
    const counter = counts === null ? null : await counterOf(url)
    /** @type {number[]} */
    const times = []
    const samples = path.join(directory, 'samples.csv.gz')
    const found = await extractSamples({
      sources: [{ file: generator.csvFile }],
      target: samples,
      plan,
      plannedMs: settings.model === 'open' ? arrivalTimesOf(settings, plan) : null,
      nameOf: paths === null ? pageName : (page) => paths[page],
      onSample ({ plannedAtUs, sentAtUs, durationMs, failure }) {
        const lagMs = plannedAtUs === null ? 0 : Math.max(0, (sentAtUs - plannedAtUs) / 1000)
        if (failure === '') times.push(durationMs + lagMs)
      }
    })
    if (samplesFile !== undefined) copyFileSync(samples, samplesFile)
    const responsesMs = Float64Array.from(times).sort()
    const saturation = saturationOf(readings, { fromUs: found.first_sent_at_us, untilUs: found.last_done_at_us })
    return { outcome: outcomeOf({ url, counts: found, responsesMs, k6, saturation, counter }), responsesMs }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param {string} url @returns {Promise<import('../lab/counter.js').Counter | null>} null: the server has none */
const counterOf = (url) => readCounter(url).catch(() => null)
