import { PARTS } from './reading.js'

/** @typedef {import('./reading.js').Reading} Reading */
/** @typedef {import('./reading.js').Part} Part */

/**
 * What a process, or a part, used in an interval; cores are seconds of processor time a second.
 * @typedef {object} Use
 * @property {number} cpu_cores
 * @property {number} busiest_thread_cores  of its threads, the one that used most
 * @property {number | null} run_queue_cores  of its threads together: ready to run, without a core; null: not reported
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
 * @property {number} others_cores  busy, and not by a watched process, this one, interrupts or the host
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
  const rise = (/** @type {number | null} */ before, /** @type {number | null} */ after) =>
    before === null || after === null ? null : per(after - before)
  const [before, after] = [begin.processors, end.processors]
  const processes = useBetween(begin, end, per)
  const ours = [...processes.values()].reduce((sum, use) => sum + use.cpu_cores, 0)
  const [busy, stolen] = [per(after.busy_s - before.busy_s), rise(before.stolen_s, after.stolen_s)]
  return {
    from_us: begin.at_us,
    until_us: end.at_us,
    duration_s: durationS,
    busy_cores: busy,
    idle_cores: per(after.idle_s - before.idle_s),
    stolen_cores: stolen,
    pressure_ratio: rise(begin.pressure_s, end.pressure_s),
    held_up_ratio: Math.min(1, per(end.held_up_s - begin.held_up_s)),
    others_cores: Math.max(0, busy - (stolen ?? 0) - per(after.interrupt_s - before.interrupt_s) - ours),
    processes
  }
}

/**
 * @param {Reading} begin
 * @param {Reading} end
 * @param {(seconds: number) => number} per
 * @returns {Interval['processes']}
 */
function useBetween (begin, end, per) {
  /** @type {Interval['processes']} */
  const uses = new Map()
  const useOf = ({ name = '', part = /** @type {Part} */ ('lab') }) => {
    const use = uses.get(name) ?? { part, cpu_cores: 0, busiest_thread_cores: 0, run_queue_cores: 0 }
    uses.set(name, use)
    return use
  }
  for (const [pid, now] of end.processes) {
    const before = begin.processes.get(pid)
    const use = useOf(now)
    use.cpu_cores += per(now.cpu_s - (before?.cpu_s ?? 0))
    for (const [tid, thread] of now.threads) {
      const threadBefore = before?.threads.get(tid)
      const cores = per(thread.cpu_s - (threadBefore?.cpu_s ?? 0))
      use.busiest_thread_cores = Math.max(use.busiest_thread_cores, cores)
      if (thread.run_queue_s === null) use.run_queue_cores = null
      else if (use.run_queue_cores !== null) {
        use.run_queue_cores += per(thread.run_queue_s - (threadBefore?.run_queue_s ?? 0))
      }
    }
    const { heirs, usedS } = endedBetween(begin, end, pid)
    for (const heir of heirs) useOf(heir).cpu_cores += per(usedS / heirs.length)
  }
  return uses
}

/**
 * What children of a process used before they ended: the process has taken over all the time that they ever used. A
 * child that began and ended within the interval counts as its parent.
 * @param {Reading} begin
 * @param {Reading} end
 * @param {number} pid  of the parent
 * @returns {{heirs: import('./reading.js').ProcessReading[], usedS: number}}
 */
function endedBetween (begin, end, pid) {
  const now = /** @type {import('./reading.js').ProcessReading} */ (end.processes.get(pid))
  const takenOverS = now.ended_s - (begin.processes.get(pid)?.ended_s ?? 0)
  const gone = [...begin.processes].flatMap(([child, process]) =>
    process.parent === pid && !end.processes.has(child) ? [process] : [])
  const knownS = gone.reduce((sum, { cpu_s: cpuS, ended_s: endedS }) => sum + cpuS + endedS, 0)
  return { heirs: gone.length > 0 ? gone : [now], usedS: Math.max(0, takenOverS - knownS) }
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
    const isQueueKnown = uses.every((use) => use.run_queue_cores !== null)
    parts[part] = {
      cpu_cores: uses.reduce((sum, use) => sum + use.cpu_cores, 0),
      busiest_thread_cores: Math.max(...uses.map((use) => use.busiest_thread_cores)),
      run_queue_cores: isQueueKnown ? uses.reduce((sum, use) => sum + (use.run_queue_cores ?? 0), 0) : null
    }
  }
  return parts
}
