import {
  chmodSync, copyFileSync, lstatSync, lutimesSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync
} from 'node:fs'
import path from 'node:path'

/**
 * Copies a folder over another with metadata that do not depend on the checkout's owner and umask: the caller's owner,
 * folders 0755, files 0644 or 0755, one time for all. Links stay links and replace existing files.
 * @param {string} from
 * @param {string} to
 * @param {object} options
 * @param {number} options.epoch  seconds since 1970: the time of every copied file
 * @param {(relative: string) => boolean} [options.keep]  false skips a file, or a folder with its content
 */
export function layOver (from, to, { epoch, keep = () => true }) {
  layFolder(from, to, '', { epoch, keep })
}

/**
 * @param {string} from
 * @param {string} to
 * @param {string} relative
 * @param {{epoch: number, keep: (relative: string) => boolean}} options
 */
function layFolder (from, to, relative, options) {
  const fresh = lstatSync(path.join(to, relative), { throwIfNoEntry: false }) === undefined
  if (fresh) mkdirSync(path.join(to, relative), { recursive: true, mode: 0o755 })
  for (const name of readdirSync(path.join(from, relative)).sort()) {
    const inside = path.join(relative, name)
    if (!options.keep(inside)) continue
    const source = path.join(from, inside)
    const target = path.join(to, inside)
    const status = lstatSync(source)
    if (status.isDirectory()) {
      layFolder(from, to, inside, options)
      continue
    }
    rmSync(target, { force: true })
    if (status.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target)
    } else {
      copyFileSync(source, target)
      chmodSync(target, status.mode & 0o100 ? 0o755 : 0o644)
    }
    lutimesSync(target, options.epoch, options.epoch)
  }
  if (fresh) {
    // The umask may have removed rights.
    chmodSync(path.join(to, relative), 0o755)
    lutimesSync(path.join(to, relative), options.epoch, options.epoch)
  }
}
