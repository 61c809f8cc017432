import { startBackground } from './background.js'
import { startCrawl, sweepOf } from './crawl.js'
import { watchMachine } from '../machine/watch.js'
import { createGenerators } from './generator.js'
import { keepOriginSamples } from './origin-samples.js'
import { combined, startProbe } from './probe.js'
import { hasCrawlers } from './settings.js'

/** @typedef {Awaited<ReturnType<typeof generateLoad>>} TrialLoad */

/**
 * @typedef {object} LoadOptions
 * @property {import('./site.js').Site} site
 * @property {import('./definition.js').Settings} settings
 * @property {import('./generator.js').GeneratorSettings} probeSettings
 * @property {import('./logs.js').PerRole} logStarts
 * @property {string} directory  of the trial
 * @property {import('../remote/remote-generators.js').RemoteGenerators | null} [remote]  of the probe
 * @property {AbortSignal} signal
 * @property {number} [watchPort]  of k6's dashboard
 * @property {number} [threads]  see GeneratorOptions
 * @property {number} [crawlCapacityPerS]  see TrialContext
 */

/**
 * Runs the probe, its background and the fault, and watches the origin and this machine meanwhile.
 * @param {LoadOptions} options
 */
export async function generateLoad (options) {
  const { site, directory, remote, signal } = options
  const generators = createGenerators(signal)
  const sampling = keepOriginSamples(site, directory)
  const watch = watchMachine(() => [...site.processes(), ...generators.processes(), ...remote?.processes() ?? []])
  /** @type {import('../machine/watch.js').Reading[]} */
  let readings = []
  /** @type {import('./origin-samples.js').Kept | null} */
  let originSamples = null
  const load = await runGenerators(options, generators).finally(async () => {
    readings = watch.stop()
    originSamples = await sampling.stop()
    // After an error, no generator may load the next trial.
    await generators.stop()
  })
  return { ...load, readings, originSamples }
}

/**
 * @param {LoadOptions} options
 * @param {import('./generator.js').Generators} generators
 */
async function runGenerators (
  { site, settings, probeSettings, logStarts, directory, remote, signal, watchPort, threads, crawlCapacityPerS },
  generators
) {
  const { background_vus: vus, fault: planned } = settings
  const background = vus === 0
    ? null
    : await startBackground({ generators, probe: probeSettings, vus, directory, signal })
  const sweep = hasCrawlers(settings) ? sweepOf(settings, capacityOf(crawlCapacityPerS)) : null
  const crawl = sweep === null
    ? null
    : await startCrawl({ generators, probe: probeSettings, sweep, directory, signal })
  const probe = await startProbe({ generators, remote, directory, settings: probeSettings, watchPort, threads })
  const hasResponse = async () => {
    await site.logs.fetch()
    return totalOf(site.logs.ends()) > totalOf(logStarts)
  }
  const fault = planned === null ? null : site.causeFault(planned, { generators, hasResponse })
  const [, faultTimes] = await Promise.all([probe.done, fault]).catch(async (error) => {
    await probe.stop()
    throw error
  })
  const backgroundK6 = background === null ? null : await background.stop()
  const crawled = crawl === null ? null : await crawl.done
  const { each, ...found } = await probe.finish()
  return {
    k6: combined(each),
    generators: each,
    ...found,
    background: background === null || backgroundK6 === null
      ? null
      : { k6: backgroundK6, csvFile: background.csvFile },
    crawl: crawled,
    fault: faultTimes
  }
}

/**
 * @param {number} [perS]
 * @throws {Error} where the run could not measure it
 */
function capacityOf (perS) {
  if (perS !== undefined) return perS
  throw new Error('how many old texts the wiki can show is not known: crawlers need a stack of the lab')
}

/** @param {import('./logs.js').PerRole} sizes */
const totalOf = (sizes) => Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0)
