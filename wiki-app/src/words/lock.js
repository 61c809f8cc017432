import path from 'node:path'
import { isBusy, openSqlite } from './sqlite.js'

/**
 * Of several processes with one folder, one writes. The kernel frees the lock of a process that dies.
 * @param {string} folder @returns {Promise<{free: () => void} | null>} null: another process has it
 */
export async function takeLock (folder) {
  const lock = await openSqlite(path.join(folder, 'writer.lock'), { busyMaxMs: 0 })
  try {
    await lock.exec('begin exclusive')
    return { free: lock.close }
  } catch (error) {
    lock.close()
    if (isBusy(error)) return null
    throw error
  }
}

/** @param {string} folder @returns {Promise<boolean>} whether a process writes there now */
export async function isLocked (folder) {
  const lock = await takeLock(folder)
  lock?.free()
  return lock === null
}
