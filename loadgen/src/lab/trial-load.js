import { availableParallelism } from 'node:os'
import { startBackground } from './background.js'
import { createGenerators, GENERATOR_LIMIT } from './generator.js'
import { keepOriginSamples } from './origin-samples.js'

/** @typedef {Awaited<ReturnType<typeof generateLoad>>} TrialLoad */

/**
 * @typedef {object} LoadOptions
 * @property {import('./site.js').Site} site
 * @property {import('./definition.js').Settings} settings
 * @property {import('./generator.js').GeneratorSettings} probeSettings
 * @property {import('./logs.js').PerRole} logStarts
 * @property {string} directory  of the trial
 * @property {AbortSignal} signal
 * @property {number} [watchPort]  of k6's dashboard
 * @property {number} [threads]  see GeneratorOptions
 */

/**
 * Runs the probe, its background and the fault, and samples the origin meanwhile.
 * @param {LoadOptions} options
 */
export async function generateLoad (options) {
  const sampling = keepOriginSamples(options.site, options.directory)
  const ended = await runGenerators(options).then((load) => ({ load, error: null }), (error) => ({ load: null, error }))
  const originSamples = await sampling.stop()
  if (ended.load === null) throw ended.error
  return { ...ended.load, originSamples }
}

/** @param {LoadOptions} options */
async function runGenerators ({ site, settings, probeSettings, logStarts, directory, signal, watchPort, threads }) {
  const generators = createGenerators(signal)
  const { background_vus: vus, fault: planned } = settings
  const background = vus === 0
    ? null
    : await startBackground({ generators, probe: probeSettings, vus, directory, signal })
  const backgroundCpuS = background?.cpuSeconds() ?? 0
  const probe = await generators.start({ name: 'k6', directory, settings: probeSettings, watchPort, threads })
  const hasResponse = async () => {
    await site.logs.fetch()
    return totalOf(site.logs.ends()) > totalOf(logStarts)
  }
  const fault = planned === null ? null : site.causeFault(planned, { generators, hasResponse })
  // After a failed fault, k6 must not load the next trial.
  const [k6, faultTimes] = await Promise.all([probe.done, fault]).catch(async (error) => {
    await generators.stop()
    throw error
  })
  // Both shares cover only the time in which the probe ran, without the background's start and end.
  const backgroundShare = background === null
    ? 0
    : (background.cpuSeconds() - backgroundCpuS) / (k6.wall_s * availableParallelism())
  k6.generator_limited = k6.generator_cpu_share + Math.max(0, backgroundShare) > GENERATOR_LIMIT
  const backgroundK6 = background === null ? null : await background.stop()
  return {
    k6,
    csvFile: probe.csvFile,
    background: background === null || backgroundK6 === null
      ? null
      : { k6: backgroundK6, csvFile: background.csvFile },
    fault: faultTimes
  }
}

/** @param {import('./logs.js').PerRole} sizes */
const totalOf = (sizes) => Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0)
