import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive, startTicks } from '../stack/processes.js'

/** Another run is under way: two at once would measure each other. */
export class LockedError extends Error {}

/**
 * @param {string} file
 * @returns {() => void} releases the lock
 * @throws {LockedError} when a living process holds it; what a dead one left is taken over
 */
export function acquireLock (file) {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  for (const retry of [true, false]) {
    try {
      writeFileSync(file, JSON.stringify({ name: 'run', pid: process.pid, start_ticks: startTicks(process.pid) }), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
      const holder = readHolder(file)
      if (!retry || (holder !== null && isAlive(holder))) {
        throw new LockedError(`a run is already under way (process ${holder?.pid}); wait for it, or stop it with Ctrl-C where it was started`)
      }
      rmSync(file, { force: true })
    }
  }
  throw new LockedError(`cannot take ${file}`)
}

/** @param {string} file */
function readHolder (file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
