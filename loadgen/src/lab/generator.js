import { readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { readConfig } from '../config.js'
import { ROOT } from '@stevec/harness/config'
import { startProcess, stopProcess } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'

/** Above this share of all cores, the generators and not the server may be what is measured. */
export const GENERATOR_LIMIT = 0.7
/** Of k6's own files of samples, which are too large to be kept. */
export const RAW_SUFFIX = '-raw.csv.gz'
/** Linux's USER_HZ, the unit of /proc/<pid>/stat; 100 on every architecture that this runs on. */
const TICKS_PER_S = 100

/**
 * What loadgen/scenarios/requests.js is told.
 * @typedef {import('./definition.js').Settings & ToldBesides & {summary_file: string}} GeneratorSettings
 */

/**
 * @typedef {object} ToldBesides
 * @property {string} url  the door's
 * @property {import('../../scenarios/plan.js').Plan} plan
 * @property {string} mark  begins the text of each edit; different for each trial of a run
 * @property {string | null} until_url  instead of a plan's end: reads until this address answers
 */

/**
 * How a k6 process did; shares are of all cores. stolen_cpu_share: what the host of this machine gave to other machines meanwhile, though it was wanted here; null where the kernel does not tell.
 * @typedef {{exit_code: number | null, dropped_iterations: number, wall_s: number, generator_cpu_s: number, generator_cpu_share: number, generator_limited: boolean, stolen_cpu_share: number | null}} GeneratorFacts
 */

/**
 * @typedef {object} Generator
 * @property {Promise<GeneratorFacts>} done
 * @property {() => number} cpuSeconds  used so far; 0 when it has ended
 * @property {string} csvFile  gone until k6 has ended
 */

/**
 * Starts the k6 processes of one trial. Only here, and while no other child of this process ends but by `disregard`, as the CPU time of a process is told apart by when it ended
 * (ssh, with which an origin elsewhere is killed and started again in a trial with a fault, is counted with them: hundredths of a second).
 * @param {AbortSignal} signal  stops them
 */
export function createGenerators (signal) {
  let attributedS = childrenCpuSeconds()
  return {
    /**
     * @param {object} options
     * @param {string} options.name  of its files: <name>-raw.csv.gz and <name>.log
     * @param {string} options.directory
     * @param {Omit<GeneratorSettings, 'summary_file'>} options.settings
     * @param {number} [options.watchPort]  k6's dashboard listens there while it runs
     * @returns {Promise<Generator>}
     */
    async start ({ name, directory, settings, watchPort }) {
      const summaryFile = path.join(directory, `${name}-summary.json`)
      const csvFile = path.join(directory, `${name}${RAW_SUFFIX}`)
      const logFile = path.join(directory, `${name}.log`)
      const startedAt = performance.now()
      const stolenBeforeS = stolenCpuSeconds()
      const k6 = await startProcess({
        name: 'k6',
        command: requireTool('k6').path,
        args: ['run', '--quiet', '--no-color', '--no-usage-report', '--address', '', '--out', `csv=${csvFile}`, path.join(ROOT, 'loadgen/scenarios/requests.js')],
        logFile,
        // Settings in the environment and not as an argument: an argument is seen by every user of the machine.
        env: { ...readConfig().childEnvironment, K6_CSV_TIME_FORMAT: 'unix_micro', STEVEC_GENERATOR: JSON.stringify({ ...settings, summary_file: summaryFile }), ...dashboard(watchPort) }
      })
      const onAbort = () => { stopProcess(k6, 5_000) }
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      let ended = false
      const done = k6.exited.then((exitCode) => {
        ended = true
        signal.removeEventListener('abort', onAbort)
        const wallS = (performance.now() - startedAt) / 1000
        // A child's times are added here when it has ended: what came since the last one is this one's. The kernel keeps them to its last instruction.
        const totalS = childrenCpuSeconds()
        const cpuS = totalS - attributedS
        attributedS = totalS
        if (statSync(logFile).size === 0) rmSync(logFile)
        const ofCores = (/** @type {number} */ seconds) => round(seconds / (wallS * availableParallelism()))
        const share = ofCores(cpuS)
        const stolenS = stolenCpuSeconds()
        return { exit_code: exitCode, dropped_iterations: droppedIterations(summaryFile), wall_s: round(wallS), generator_cpu_s: round(cpuS), generator_cpu_share: share, generator_limited: share > GENERATOR_LIMIT, stolen_cpu_share: stolenS === null || stolenBeforeS === null ? null : ofCores(stolenS - stolenBeforeS) }
      })
      return { done, cpuSeconds: () => ended ? 0 : cpuSeconds(k6.pid), csvFile }
    },
    /**
     * To be called just before another child of this process ends: its time is no generator's.
     * @param {number} pid
     */
    disregard (pid) {
      attributedS += cpuSeconds(pid)
    }
  }
}

/** @typedef {ReturnType<typeof createGenerators>} Generators */

/**
 * https://grafana.com/docs/k6/latest/results-output/web-dashboard/
 * @param {number | undefined} port
 * @returns {Record<string, string>}
 */
function dashboard (port) {
  return port === undefined ? {} : { K6_WEB_DASHBOARD: 'true', K6_WEB_DASHBOARD_HOST: '127.0.0.1', K6_WEB_DASHBOARD_PORT: String(port), K6_WEB_DASHBOARD_PERIOD: '1s', K6_WEB_DASHBOARD_OPEN: 'false' }
}

/** The CPU time of children that have ended and been waited for (proc(5): cutime and cstime). */
export const childrenCpuSeconds = () => statTimes('self', 13)

/**
 * The CPU time of a living process, all its threads (proc(5): utime and stime).
 * @param {number} pid
 */
function cpuSeconds (pid) {
  try {
    return statTimes(String(pid), 11)
  } catch {
    return 0
  }
}

/**
 * @param {string} process
 * @param {number} index  of the first of two fields after the process's name
 */
function statTimes (process, index) {
  const stat = readFileSync(`/proc/${process}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[index]) + Number(fields[index + 1])) / TICKS_PER_S
}

function stolenCpuSeconds () {
  try {
    return stolenSecondsIn(readFileSync('/proc/stat', 'latin1'))
  } catch {
    return null
  }
}

/**
 * @param {string} stat  /proc/stat
 * @returns {number | null} processor time since boot, of all cores together, that a virtual machine wanted and its host did not give (proc(5): steal)
 */
export function stolenSecondsIn (stat) {
  const ticks = /^cpu +(?:\d+ +){7}(\d+)/m.exec(stat)?.[1]
  return ticks === undefined ? null : Number(ticks) / TICKS_PER_S
}

/** @param {string} summaryFile */
function droppedIterations (summaryFile) {
  try {
    return JSON.parse(readFileSync(summaryFile, 'utf8')).dropped_iterations
  } catch {
    // k6 was killed before it could write one; its exit code says so.
    return 0
  } finally {
    rmSync(summaryFile, { force: true })
  }
}

/** @param {number} value */
export const round = (value) => Math.round(value * 1000) / 1000
