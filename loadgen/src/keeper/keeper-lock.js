import path from 'node:path'
import { lockHolder, tryLock } from '@stevec/harness/lock'
import { startTicks, stopProcess } from '@stevec/harness/processes'

/**
 * One process at a time keeps a stack, or stops it. It holds the lock while it lives.
 * @param {string} directory  of the stack
 */
export const lockKeeper = (directory) => tryLock(lockOf(directory))

/** @param {string} directory */
const lockOf = (directory) => path.join(directory, 'keeper.lock')

/**
 * @param {string} directory  of a stack
 * @returns {boolean} whether a process keeps it
 */
export const hasKeeper = (directory) => lockHolder(lockOf(directory)) !== null

/**
 * Stops the process that keeps a stack, and takes its place, so that no other one begins.
 * @param {string} directory
 * @returns {Promise<() => void>} gives the place back
 */
export async function stopKeeper (directory) {
  for (;;) {
    const { release, holder } = lockKeeper(directory)
    if (release !== null) return release
    const ticks = startTicks(holder)
    if (ticks !== null) await stopProcess({ name: 'keeper', pid: holder, start_ticks: ticks })
  }
}
