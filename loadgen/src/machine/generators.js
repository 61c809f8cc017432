/** @typedef {import('./usage.js').Interval} Interval */

/**
 * A generator during the load.
 * @typedef {object} GeneratorUse
 * @property {string} name
 * @property {string | null} host  null: this machine
 * @property {number | null} cpu_cores  that it used; null: not known of another machine
 * @property {number | null} machine_busy_ratio  of all cores of its machine; null: not known of another machine
 * @property {boolean | null} saturated  null: not known
 */

/**
 * A generator elsewhere, and how busy the cores of its machine were.
 * @typedef {{name: string, host: string, busyRatio: number | null}} RemoteUse
 */

/**
 * Judges each generator. Those of one machine share its cores: if they use too much of them together, each one that has
 * at least half of an equal share is saturated; the others wait for something else.
 * @param {Interval[]} intervals  at least one
 * @param {RemoteUse[]} remote
 * @param {{cores: number, busyCores: number, limit: number}} machine  this one; `limit`: share of a machine's cores
 *   above which its generators are saturated
 * @returns {GeneratorUse[]}
 */
export function generatorsOf (intervals, remote, { cores, busyCores, limit }) {
  const totalS = intervals.reduce((sum, { duration_s: durationS }) => sum + durationS, 0)
  /** @type {Map<string, number>} */
  const used = new Map()
  for (const { processes, duration_s: durationS } of intervals) {
    for (const [name, { part, cpu_cores: cpuCores }] of processes) {
      if (part === 'generator') used.set(name, (used.get(name) ?? 0) + cpuCores * durationS / totalS)
    }
  }
  const all = [...used.values()].reduce((sum, cpuCores) => sum + cpuCores, 0)
  const local = [...used].sort(([a], [b]) => a.localeCompare(b)).map(([name, cpuCores]) => ({
    name,
    host: null,
    cpu_cores: cpuCores,
    machine_busy_ratio: busyCores / cores,
    saturated: all > limit * cores && cpuCores >= all / used.size / 2
  }))
  return [...local, ...remote.map(({ name, host, busyRatio }) => ({
    name,
    host,
    cpu_cores: null,
    machine_busy_ratio: busyRatio,
    saturated: busyRatio === null ? null : busyRatio > limit
  }))]
}
