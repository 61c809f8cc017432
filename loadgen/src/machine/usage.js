import { PARTS } from './reading.js'

/** @typedef {import('./reading.js').Reading} Reading */
/** @typedef {import('./reading.js').Part} Part */

/**
 * What a process, or a part, used in an interval; cores are seconds of processor time a second.
 * @typedef {object} Use
 * @property {number} cpu_cores
 * @property {number} busiest_thread_cores  of its threads, the one that used most
 * @property {number} run_queue_cores  of its threads together: ready to run, without a core
 */

/**
 * The machine between two readings.
 * @typedef {object} Interval
 * @property {number} from_us
 * @property {number} until_us
 * @property {number} duration_s
 * @property {number} busy_cores  stolen time included
 * @property {number} idle_cores
 * @property {number | null} stolen_cores
 * @property {number | null} pressure_ratio
 * @property {number} held_up_ratio
 * @property {number} others_cores  busy, and not by a watched process or this one
 * @property {Map<string, Use & {part: Part}>} processes  by name
 */

/**
 * @param {Reading[]} readings  in their order
 * @returns {Interval[]} one fewer
 */
export const intervalsOf = (readings) => readings.slice(1).map((end, index) => intervalBetween(readings[index], end))

/**
 * @param {Reading} begin
 * @param {Reading} end
 * @returns {Interval}
 */
export function intervalBetween (begin, end) {
  const durationS = Math.max(0.001, end.at_s - begin.at_s)
  const per = (/** @type {number} */ seconds) => Math.max(0, seconds) / durationS
  const rateOf = (/** @type {number | null} */ before, /** @type {number | null} */ after) =>
    before === null || after === null ? null : per(after - before)
  const processes = new Map([...end.processes].map(([name, times]) =>
    [name, { part: times.part, ...useBetween(begin.processes.get(name), times, per) }]))
  giveBack(begin, end, processes, per)
  const busyS = end.processors.busy_s - begin.processors.busy_s
  const oursS = totalS(end) - totalS(begin)
  return {
    from_us: begin.at_us,
    until_us: end.at_us,
    duration_s: durationS,
    busy_cores: per(busyS),
    idle_cores: per(end.processors.idle_s - begin.processors.idle_s),
    stolen_cores: rateOf(begin.processors.stolen_s, end.processors.stolen_s),
    pressure_ratio: rateOf(begin.pressure_s, end.pressure_s),
    held_up_ratio: Math.min(1, per(end.held_up_s - begin.held_up_s)),
    others_cores: per(busyS - oursS),
    processes
  }
}

/**
 * Processor time of all watched processes and this one. A child's time goes over to its parent when it ends, so the sum
 * never falls.
 * @param {Reading} reading
 */
const totalS = ({ processes }) => [...processes.values()].reduce((sum, { cpu_s: cpuS }) => sum + cpuS, 0)

/**
 * Gives processes that ended in the interval what they used in it: this process took over the time of its children.
 * @param {Reading} begin
 * @param {Reading} end
 * @param {Interval['processes']} processes  changed
 * @param {(seconds: number) => number} per
 */
function giveBack (begin, end, processes, per) {
  const lab = processes.get('lab')
  const gone = [...begin.processes].filter(([name, { cpu_s: cpuS }]) => cpuS > (end.processes.get(name)?.cpu_s ?? 0))
  if (lab === undefined || gone.length === 0) return
  const takenOverS = end.ended_s - begin.ended_s
  const beforeS = gone.reduce((sum, [, { cpu_s: cpuS }]) => sum + cpuS, 0)
  lab.cpu_cores = Math.max(0, lab.cpu_cores - per(takenOverS))
  for (const [name, { part }] of gone) {
    const use = processes.get(name) ?? { part, cpu_cores: 0, busiest_thread_cores: 0, run_queue_cores: 0 }
    processes.set(name, { ...use, cpu_cores: use.cpu_cores + per((takenOverS - beforeS) / gone.length) })
  }
}

/**
 * @param {import('./reading.js').ProcessTimes | undefined} begin  undefined: it started since
 * @param {import('./reading.js').ProcessTimes} end
 * @param {(seconds: number) => number} per
 * @returns {Use}
 */
function useBetween (begin, end, per) {
  let busiestS = 0
  let runQueueS = 0
  for (const [thread, now] of end.threads) {
    const before = begin?.threads.get(thread)
    busiestS = Math.max(busiestS, now.cpu_s - (before?.cpu_s ?? 0))
    runQueueS += now.run_queue_s - (before?.run_queue_s ?? 0)
  }
  return {
    cpu_cores: per(end.cpu_s - (begin?.cpu_s ?? 0)),
    busiest_thread_cores: per(busiestS),
    run_queue_cores: per(runQueueS)
  }
}

/**
 * @param {Interval} interval
 * @returns {Partial<Record<Part, Use>>} of the parts that had a process
 */
export function partsOf ({ processes }) {
  /** @type {Partial<Record<Part, Use>>} */
  const parts = {}
  for (const part of PARTS) {
    const uses = [...processes.values()].filter((use) => use.part === part)
    if (uses.length === 0) continue
    const sum = (/** @type {keyof Use} */ name) => uses.reduce((total, use) => total + use[name], 0)
    parts[part] = {
      cpu_cores: sum('cpu_cores'),
      busiest_thread_cores: Math.max(...uses.map((use) => use.busiest_thread_cores)),
      run_queue_cores: sum('run_queue_cores')
    }
  }
  return parts
}
