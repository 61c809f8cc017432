import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { childPids, readProcessStat } from '@stevec/harness/proc'
import { isAlive } from '@stevec/harness/processes'

const INTERVAL_MS = 1_000

/**
 * Samples every second what processes of this machine and their children use: CPU as a share of all its cores, and
 * resident memory, in which shared pages count twice. Network and temperature are null: they are the whole machine's.
 * @param {() => import('@stevec/harness/processes').ProcessIdentity[]} processesNow  called for each sample: a trial
 *   may kill a process and start another
 * @param {(sample: import('@stevec/arm-image/origin-sample').OriginSample) => void} onSample
 * @returns {import('@stevec/arm-image/origin-sample').Sampler}
 */
export function sampleProcesses (processesNow, onSample) {
  const pageBytes = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }))
  /** @type {(error: Error) => void} */
  let fail = () => {}
  /** @type {() => void} */
  let finish = () => {}
  /** @type {Promise<void>} */
  const ended = new Promise((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  // Without this, a rejection that no caller awaits would end the process.
  ended.catch(() => {})
  let before = readUsage()
  const timer = setInterval(() => {
    const dead = processesNow().find((identity) => !isAlive(identity))
    if (dead !== undefined) {
      clearInterval(timer)
      fail(new Error(`${dead.name} has ended`))
      return
    }
    const now = readUsage()
    // The difference is negative when a process with much CPU time has ended.
    const busyS = Math.max(0, now.cpuS - before.cpuS)
    onSample({
      time_s: Date.now() / 1000,
      cpu_ratio: Math.min(
        1,
        Math.round(1e4 * busyS / ((now.atMs - before.atMs) / 1000 * availableParallelism())) / 1e4
      ),
      memory_used_bytes: now.pages * pageBytes,
      temperature_c: null,
      received_bytes: null,
      sent_bytes: null
    })
    before = now
  }, INTERVAL_MS)
  return {
    ended,
    async stop () {
      clearInterval(timer)
      finish()
    }
  }

  function readUsage () {
    const usage = { atMs: performance.now(), cpuS: 0, pages: 0 }
    for (const pid of processesNow().flatMap(({ pid }) => [pid, ...childPids(pid)])) {
      const stat = readProcessStat(pid)
      usage.cpuS += stat?.cpu_s ?? 0
      usage.pages += stat?.resident_pages ?? 0
    }
    return usage
  }
}
