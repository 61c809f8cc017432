import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAlive } from '@stevec/harness/processes'

const INTERVAL_MS = 1_000

/**
 * Samples every second what processes of this machine and their children use: CPU as a share of all its cores, and
 * resident memory, in which shared pages count twice. Network and temperature are null: they are the whole machine's.
 * proc_pid_stat(5), proc_tid_children(5)
 * @param {() => import('@stevec/harness/processes').ProcessIdentity[]} processesNow  called for each sample: a trial
 *   may kill a process and start another
 * @param {(sample: import('@stevec/arm-image/origin-sample').OriginSample) => void} onSample
 * @returns {import('@stevec/arm-image/origin-sample').Sampler}
 */
export function sampleProcesses (processesNow, onSample) {
  const [ticksPerS, pageBytes] = ['CLK_TCK', 'PAGESIZE']
    .map((name) => Number(execFileSync('getconf', [name], { encoding: 'utf8' })))
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
  let before = look()
  const timer = setInterval(() => {
    const dead = processesNow().find((identity) => !isAlive(identity))
    if (dead !== undefined) {
      clearInterval(timer)
      fail(new Error(`${dead.name} has ended`))
      return
    }
    const now = look()
    // The difference is negative when a process with many ticks has ended.
    const busyS = Math.max(0, now.ticks - before.ticks) / ticksPerS
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

  function look () {
    const found = { atMs: performance.now(), ticks: 0, pages: 0 }
    for (const pid of processesNow().flatMap(({ pid }) => [pid, ...childrenOf(pid)])) {
      const stat = read(`/proc/${pid}/stat`)
      // The name, in parentheses, may contain spaces.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (fields.length < 22) continue
      found.ticks += Number(fields[11]) + Number(fields[12])
      found.pages += Number(fields[21])
    }
    return found
  }
}

/**
 * @param {number} pid
 * @returns {number[]}
 */
function childrenOf (pid) {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/**
 * @param {string} file
 * @returns {string} '' if the file is gone
 */
function read (file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
