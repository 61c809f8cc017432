import { readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { readConfig, ROOT } from '../config.js'
import { startProcess, stopProcess } from '../stack/processes.js'
import { requireTool } from '../tools/locate.js'

/** Above this share of all cores, the generator and not the server may be what is measured. */
const GENERATOR_LIMIT = 0.7
/** Linux's USER_HZ, the unit of /proc/<pid>/stat; 100 on every architecture that this runs on. */
const TICKS_PER_S = 100
const REQUEST_TIMEOUT_S = 60

/**
 * Runs k6 once.
 * @param {object} options
 * @param {import('./definition.js').Definition} options.definition
 * @param {import('../../scenarios/plan.js').Plan} options.plan
 * @param {string} options.url  the door's
 * @param {string} options.directory  gets k6.csv.gz and k6.log
 * @param {AbortSignal} options.signal  stops k6
 * @returns {Promise<{exit_code: number | null, dropped_iterations: number, wall_s: number, generator_cpu_s: number, generator_cpu_share: number, generator_limited: boolean}>}
 *   generator_cpu_share is of all cores
 */
export async function runK6 ({ definition, plan, url, directory, signal }) {
  const summaryFile = path.join(directory, 'k6-summary.json')
  const settings = {
    url,
    plan,
    vus: definition.vus,
    pause_s: definition.pause_s,
    connection_reuse: definition.connection_reuse,
    duration_max_s: definition.duration_max_s,
    timeout_s: REQUEST_TIMEOUT_S,
    summary_file: summaryFile
  }
  const cpuBefore = childrenCpuSeconds()
  const startedAt = performance.now()
  const k6 = await startProcess({
    name: 'k6',
    command: requireTool('k6').path,
    args: ['run', '--quiet', '--no-color', '--no-usage-report', '--address', '', '--out', `csv=${path.join(directory, 'k6.csv.gz')}`,
      path.join(ROOT, `loadgen/scenarios/${definition.scenario}.js`)],
    logFile: path.join(directory, 'k6.log'),
    // Settings in the environment and not as an argument: an argument is seen by every user of the machine.
    env: { ...readConfig().childEnvironment, K6_CSV_TIME_FORMAT: 'unix_micro', STEVEC_TRIAL: JSON.stringify(settings) }
  })
  const onAbort = () => { stopProcess(k6, 5_000) }
  signal.addEventListener('abort', onAbort)
  const exitCode = await k6.exited
  signal.removeEventListener('abort', onAbort)
  const wallS = (performance.now() - startedAt) / 1000
  const cpuS = childrenCpuSeconds() - cpuBefore
  const share = cpuS / (wallS * availableParallelism())
  return {
    exit_code: exitCode,
    dropped_iterations: droppedIterations(summaryFile),
    wall_s: round(wallS),
    generator_cpu_s: round(cpuS),
    generator_cpu_share: round(share),
    generator_limited: share > GENERATOR_LIMIT
  }
}

/**
 * The CPU time of children that have ended and been waited for, which k6 is the only one of while it runs (proc(5), cutime and cstime).
 */
function childrenCpuSeconds () {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_S
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
const round = (value) => Math.round(value * 1000) / 1000
