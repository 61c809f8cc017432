import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive, startTicks } from './processes.js'

/**
 * Takes a lock file, if no living process holds it.
 * @param {string} file
 * @returns {{release: () => void, holder: null} | {release: null, holder: number}}  `holder`: pid of the process that
 *   holds the lock
 */
export function tryLock (file) {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const own = `${file}.${process.pid}`
  try {
    writeFileSync(own, JSON.stringify({ name: 'lock', pid: process.pid, start_ticks: startTicks(process.pid) }))
    for (;;) {
      // A hard link appears together with its content, so no process reads a half-written lock.
      if (succeeds(() => linkSync(own, file), 'EEXIST')) {
        return { release: () => rmSync(file, { force: true }), holder: null }
      }
      const holder = readHolder(file)
      if (holder !== null && isAlive(holder)) return { release: null, holder: holder.pid }
      takeAway(file, `${own}.dead`)
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/**
 * @param {string} file
 * @returns {number | null} pid of the living process that holds the lock; null: none does
 */
export function lockHolder (file) {
  const holder = readHolder(file)
  return holder !== null && isAlive(holder) ? holder.pid : null
}

/**
 * Removes the lock of a dead process. Checks the renamed file again: if another process took the lock meanwhile, puts
 * it back.
 * @param {string} file
 * @param {string} aside
 */
function takeAway (file, aside) {
  if (!succeeds(() => renameSync(file, aside), 'ENOENT')) return
  const holder = readHolder(aside)
  if (holder !== null && isAlive(holder)) succeeds(() => linkSync(aside, file), 'EEXIST')
  rmSync(aside, { force: true })
}

/**
 * @param {() => void} act
 * @param {string} otherwise  the error code that means "no"; other errors are thrown
 */
function succeeds (act, otherwise) {
  try {
    act()
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== otherwise) throw error
    return false
  }
}

/** @param {string} file */
function readHolder (file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
