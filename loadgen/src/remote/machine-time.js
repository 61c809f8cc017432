/**
 * What a k6 and its machine used, in a machine's own words.
 * @typedef {object} MachineTime
 * @property {number} cpuS  of k6
 * @property {number | null} busyRatio  of all cores of the machine while k6 ran; null: it has no /proc/stat
 * @property {number | null} stolenShare  likewise
 */

/**
 * @param {string} text  the line `cpu` of /proc/stat before and after, and what the shell's `times` says; instead of a
 *   line there may be `none`
 * @returns {MachineTime}
 */
export function machineTime (text) {
  const lines = text.trim().split('\n')
  const [before, after] = lines.filter((line) => /^(cpu |none$)/.test(line)).map(ticksOf)
  const known = before !== null && after !== null && before !== undefined && after !== undefined
  const total = known ? after.total - before.total : 0
  const share = (/** @type {'busy' | 'stolen'} */ name) =>
    known && total > 0 ? Math.min(1, Math.max(0, (after[name] - before[name]) / total)) : null
  const [, ...times] = /^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$/.exec(lines.at(-1) ?? '') ?? []
  const [userMin = 0, userS = 0, systemMin = 0, systemS = 0] = times.map(Number)
  return {
    cpuS: 60 * (userMin + systemMin) + userS + systemS,
    busyRatio: share('busy'),
    stolenShare: share('stolen')
  }
}

/**
 * proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
 * @param {string} line
 */
function ticksOf (line) {
  const ticks = line.split(/\s+/).slice(1, 9).map(Number)
  if (ticks.length < 8 || ticks.some(Number.isNaN)) return null
  const total = ticks.reduce((sum, each) => sum + each, 0)
  return { total, busy: total - ticks[3] - ticks[4], stolen: ticks[7] }
}
