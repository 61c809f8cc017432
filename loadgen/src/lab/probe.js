import { availableParallelism } from 'node:os'
import { round } from './generator.js'
import { listenForBegin } from './common-begin.js'

/** @typedef {import('./generator.js').GeneratorFacts} GeneratorFacts */
/**
 * A generator of the probe. `host`: null for this machine.
 * @typedef {GeneratorFacts & {name: string, host: string | null}} ProbeGenerator
 */

/**
 * @typedef {object} ProbeOptions
 * @property {import('./generator.js').Generators} generators
 * @property {import('./generator.js').GeneratorSettings} settings
 * @property {string} directory  of the trial
 * @property {number} [watchPort]  of k6's dashboard, which shows the first generator
 * @property {number} [threads]  see GeneratorOptions
 */

/**
 * Starts the generators of the probe. Each has a segment of the one plan.
 * @param {ProbeOptions} options
 */
export async function startProbe ({ generators, settings, directory, watchPort, threads }) {
  const of = settings.generators
  const begin = of === 1 ? null : await listenForBegin(of)
  try {
    const started = []
    for (let index = 0; index < of; index++) {
      const name = generatorName(index)
      const generator = await generators.start({
        name,
        directory,
        settings: begin === null ? settings : { ...settings, begin_url: begin.urlOf(index) },
        segment: { index, of },
        watchPort: index === 0 ? watchPort : undefined,
        threads
      })
      // The others wait for it in vain if it never begins.
      const ended = () => begin?.fail()
      generator.done.then(ended, ended)
      started.push({ name, host: null, ...generator })
    }
    const facts = started.map(({ name, host, done }) => done.then((found) => ({ name, host, ...found })))
    return {
      csvFiles: started.map(({ csvFile }) => csvFile),
      done: Promise.all(facts).finally(() => begin?.close())
    }
  } catch (error) {
    begin?.fail()
    begin?.close()
    throw error
  }
}

/** @param {number} index */
export const generatorName = (index) => index === 0 ? 'k6' : `k6 ${index + 1}`

/**
 * @param {ProbeGenerator[]} each  at least one
 * @returns {GeneratorFacts} of all as one: sums of what they used, the longest time, and how one of them failed
 */
export function combined (each) {
  if (each.length === 1) {
    const [{ name, host, ...facts }] = each
    return facts
  }
  const failed = each.find(({ exit_code: exitCode }) => exitCode !== 0)
  const wallS = Math.max(...each.map(({ wall_s: ownS }) => ownS))
  const cpuS = each.reduce((sum, { generator_cpu_s: ownS }) => sum + ownS, 0)
  const stolen = each.flatMap(({ stolen_cpu_share: share }) => share ?? [])
  return {
    exit_code: failed === undefined ? 0 : failed.exit_code,
    message: failed === undefined ? null : `${failed.name}: ${failed.message}`,
    wall_s: wallS,
    generator_cpu_s: round(cpuS),
    generator_cpu_share: round(cpuS / (wallS * availableParallelism())),
    stolen_cpu_share: stolen.length === 0 ? null : Math.max(...stolen)
  }
}
