import { readFileSync } from 'node:fs'

/** What each process of a stack may have open: worker_rlimit_nofile in nginx/templates/main.eta, which needs most. */
export const OPEN_FILES = 16_384

/**
 * Checks how many files this process may open; what it starts inherits that. Node raises its own soft limit to the hard
 * one (https://github.com/nodejs/node/blob/v22.x/src/node.cc, PlatformInit), so the soft limit is the one to read.
 * @param {string} [limits]  text of /proc/<pid>/limits (proc_pid_limits(5))
 * @returns {string | null} a warning with the next step; null: it is enough, or the system does not say
 */
export function openFilesWarning (limits = ownLimits()) {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1]
  if (soft === undefined || Number(soft) >= OPEN_FILES) return null
  return `a process may open ${soft} files here, and nginx may need ${OPEN_FILES}: with more than about ` +
    `${Math.floor(Number(soft) / 2)} clients at once, requests are refused. Raise the limit (as root: ulimit -n ` +
    `${OPEN_FILES}; of a unit: LimitNOFILE=${OPEN_FILES}; docs/operations.md, "Open files")`
}

function ownLimits () {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
