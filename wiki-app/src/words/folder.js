import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const PREFIX = 'stevec-search-'
const NAME = new RegExp(`^${PREFIX}(\\d+)-(\\d+)-`)

/**
 * @typedef {object} Folder
 * @property {string} path
 * @property {boolean} lasting  the index outlives the wiki, and power failures
 * @property {() => void} remove  what does not last
 */

/**
 * @param {string} [directory]  SEARCH_DIRECTORY; none: a temporary folder
 * @param {{sharedBy?: number}} [options]  the process whose workers use one temporary folder
 * @returns {Folder} @throws {Error} when it cannot be made
 */
export function openFolder (directory, { sharedBy } = {}) {
  if (directory !== undefined) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return { path: path.resolve(directory), lasting: true, remove: () => {} }
  }
  removeLeftOvers()
  if (sharedBy === undefined) {
    const folder = mkdtempSync(path.join(tmpdir(), `${ownedBy(process.pid)}-`))
    return { path: folder, lasting: false, remove: () => { rmSync(folder, { recursive: true, force: true }) } }
  }
  const folder = sharedFolder(sharedBy)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Its owner does.
  return { path: folder, lasting: false, remove: () => {} }
}

/** @param {number} pid  of the process whose workers have used it, which have ended */
export const removeSharedFolder = (pid) => { rmSync(sharedFolder(pid), { recursive: true, force: true }) }

/** @param {number} pid */
const sharedFolder = (pid) => path.join(tmpdir(), `${ownedBy(pid)}-workers`)

/** The start tells a process from an earlier one of the same number. @param {number} pid */
const ownedBy = (pid) => `${PREFIX}${pid}-${startOf(pid)}`

/** Of processes that were killed. */
function removeLeftOvers () {
  for (const name of readdirSync(tmpdir())) {
    const [, pid, start] = NAME.exec(name) ?? []
    if (pid === undefined || startOf(Number(pid)) === Number(start)) continue
    const folder = path.join(tmpdir(), name)
    try {
      if (statSync(folder).uid === process.getuid?.()) rmSync(folder, { recursive: true, force: true })
    } catch {
      // Another process removes it, too.
    }
  }
}

/**
 * @param {number} pid
 * @returns {number} when it started, in ticks since the machine did (proc(5), field 22 of stat); 1 without /proc if it
 *   runs; -1: it does not
 */
function startOf (pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    try {
      process.kill(pid, 0)
      return 1
    } catch {
      return -1
    }
  }
}
