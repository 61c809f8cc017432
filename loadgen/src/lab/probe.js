import { availableParallelism } from 'node:os'
import { skewBoundUs } from '../remote/clock.js'
import { listenForBegin } from './common-begin.js'
import { round } from './generator.js'

/** @typedef {import('./generator.js').GeneratorFacts} GeneratorFacts */

/**
 * A generator of the probe. Of one on another machine also how far its clock is before the lab's, and by how much that
 * can be wrong; null: the machine was lost.
 * @typedef {GeneratorFacts & {name: string, host: string | null, clock_ahead_ms?: number | null,
 *   clock_bound_ms?: number | null}} ProbeGenerator
 */

/**
 * A started generator. `finish` is called when all have ended.
 * @typedef {object} Started
 * @property {string} name
 * @property {string | null} host
 * @property {string} csvFile
 * @property {Promise<unknown>} done
 * @property {() => Promise<import('../remote/remote-generators.js').Finished>} finish
 * @property {() => Promise<unknown>} [stop]  absent for one of this machine: Generators stops it
 */

/**
 * @typedef {object} ProbeOptions
 * @property {import('./generator.js').Generators} generators
 * @property {import('../remote/remote-generators.js').RemoteGenerators | null} [remote]  null: on this machine
 * @property {import('./generator.js').GeneratorSettings} settings
 * @property {string} directory  of the trial
 * @property {number} [watchPort]  of k6's dashboard, which shows the first generator
 * @property {number} [threads]  see GeneratorOptions
 */

/**
 * Starts the generators of the probe. Each has a segment of the one plan.
 * @param {ProbeOptions} options
 */
export async function startProbe (options) {
  const { remote = null, settings: { generators: of } } = options
  const begin = of === 1 && remote === null ? null : await listenForBegin(of)
  /** @type {Started[]} */
  const started = []
  const stop = () => Promise.all(started.map((generator) => generator.stop?.()))
  try {
    for (let index = 0; index < of; index++) {
      const segment = { index, of }
      const generator = remote === null || begin === null
        ? await startHere(options, segment, begin)
        : await startThere(remote, options, segment, begin)
      // The others wait for it in vain if it never begins.
      const ended = () => begin?.fail()
      generator.done.then(ended, ended)
      started.push(generator)
    }
  } catch (error) {
    begin?.fail()
    begin?.close()
    await stop()
    throw error
  }
  return {
    stop,
    done: Promise.all(started.map(({ done }) => done)).finally(() => begin?.close()),
    /** Call it when the load is over. */
    finish: () => finishAll(started)
  }
}

/**
 * @param {ProbeOptions} options
 * @param {{index: number, of: number}} segment
 * @param {import('./common-begin.js').CommonBegin | null} begin
 * @returns {Promise<Started>}
 */
async function startHere ({ generators, settings, directory, watchPort, threads }, segment, begin) {
  const { index } = segment
  const name = generatorName(index)
  const { csvFile, done } = await generators.start({
    name,
    directory,
    settings: begin === null ? settings : { ...settings, begin_url: begin.urlOf(index) },
    segment,
    watchPort: index === 0 ? watchPort : undefined,
    threads
  })
  const finish = async () => ({ facts: await done, clock: null, busyRatio: null })
  return { name, host: null, csvFile, done, finish }
}

/**
 * @param {import('../remote/remote-generators.js').RemoteGenerators} remote
 * @param {ProbeOptions} options
 * @param {{index: number, of: number}} segment
 * @param {import('./common-begin.js').CommonBegin} begin
 * @returns {Promise<Started>}
 */
async function startThere (remote, { settings, directory }, segment, begin) {
  const name = generatorName(segment.index)
  return { name, ...await remote.start({ name, directory, settings, segment, begin }) }
}

/** @param {Started[]} started */
async function finishAll (started) {
  const all = await Promise.all(started.map(async ({ finish, ...rest }) => ({ ...rest, ...await finish() })))
  const there = all.filter(({ host }) => host !== null)
  return {
    each: all.map(({ name, host, facts, clock }) =>
      ({ name, host, ...facts, ...host === null ? {} : clockOf(clock) })),
    sources: all.map(({ csvFile: file, clock }) =>
      ({ file, aheadUs: clock?.aheadUs ?? 0, planAheadUs: clock?.planAheadUs ?? 0 })),
    remoteUse: there.map(({ name, host, busyRatio }) => ({ name, host: /** @type {string} */ (host), busyRatio })),
    clockSkewBoundMs: there.length === 0 ? null : skewBoundUs(all.map(({ clock }) => clock)) / 1000,
    clockDriftMs: Math.max(0, ...all.map(({ clock }) => Math.abs(clock?.driftUs ?? 0) / 1000))
  }
}

/** @param {import('../remote/clock.js').ClockFacts | null} clock */
const clockOf = (clock) => ({
  clock_ahead_ms: clock === null ? null : clock.aheadUs / 1000,
  clock_bound_ms: clock === null ? null : clock.boundUs / 1000
})

/** @param {number} index */
export const generatorName = (index) => index === 0 ? 'k6' : `k6 ${index + 1}`

/**
 * @param {ProbeGenerator[]} each  at least one
 * @returns {GeneratorFacts} of all as one: sums of what they used, the longest time, and how one of them failed
 */
export function combined (each) {
  if (each.length === 1) {
    const [{ name, host, clock_ahead_ms: _, clock_bound_ms: __, ...facts }] = each
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
    generator_cpu_share: each.some(({ host }) => host !== null)
      ? Math.max(...each.map(({ generator_cpu_share: share }) => share))
      : round(cpuS / (wallS * availableParallelism())),
    stolen_cpu_share: stolen.length === 0 ? null : Math.max(...stolen)
  }
}
