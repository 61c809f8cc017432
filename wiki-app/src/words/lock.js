import { isBusy, openSqlite } from './sqlite.js'

/**
 * Of several processes with one folder, one writes. The kernel frees the lock of a process that dies.
 * @param {string} file  made if there is none
 * @returns {Promise<{free: () => void} | null>} null: another process has it
 */
export async function takeLock (file) {
  const lock = await openSqlite(file, { busyMaxMs: 0 })
  try {
    await lock.exec('begin exclusive')
    return { free: lock.close }
  } catch (error) {
    lock.close()
    if (isBusy(error)) return null
    throw error
  }
}

/** @param {string} file @returns {Promise<boolean>} whether a process has it now */
export async function isLocked (file) {
  const lock = await takeLock(file)
  lock?.free()
  return lock === null
}
