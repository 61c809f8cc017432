// Caches of other projects that can replace the edge. They must be installed on the machine; none is bundled.
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { squid } from './squid.js'
import { trafficserver } from './trafficserver.js'
import { varnish } from './varnish.js'

/**
 * @typedef {object} CacheOptions
 * @property {string} directory  for this cache alone; its content is replaced
 * @property {number} port  to listen on, at 127.0.0.1
 * @property {number} originPort  at 127.0.0.1
 * @property {number} memoryBytes  for cached pages
 */

/**
 * The files to write, and the arguments that start the cache in the foreground.
 * If we are root and `user` is set, that user runs the cache and owns its files.
 * @typedef {{files: Record<string, string>, directories?: string[], args: string[], user?: string}} Configuration
 */

/** @typedef {(options: CacheOptions) => Configuration} Configure */

const CONFIGURES = { varnish, trafficserver, squid }

/** @typedef {keyof typeof CONFIGURES} OtherCache */

export const OTHER_CACHES = /** @type {OtherCache[]} */ (Object.keys(CONFIGURES))

/**
 * Writes a cache's configuration into an emptied folder; data of an earlier process is removed.
 * @param {OtherCache} name
 * @param {Omit<CacheOptions, 'memoryBytes'> & {binary: string, memoryBytes?: number}} options
 * @returns {{command: string, args: string[], sha256: string}}
 * @throws {Error} when the cache's user does not exist
 */
export function prepareCache (name, { binary, directory, port, originPort, memoryBytes = 256 * 1024 ** 2 }) {
  const { files, directories = [], args, user } = CONFIGURES[name]({ directory, port, originPort, memoryBytes })
  rmSync(directory, { recursive: true, force: true })
  const made = [directory, ...directories]
  for (const each of made) mkdirSync(each, { recursive: true, mode: 0o755 })
  for (const [file, text] of Object.entries(files)) writeFileSync(file, text)
  const neutral = CONFIGURES[name]({ directory: '.', port: 0, originPort: 0, memoryBytes })
  const sha256 = `sha256:${createHash('sha256').update(JSON.stringify([neutral.files, neutral.args])).digest('hex')}`
  if (user === undefined || process.getuid?.() !== 0) return { command: binary, args, sha256 }

  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' })))
  for (const each of [...made, ...Object.keys(files)]) chownSync(each, uid, gid)
  chmodSync(path.dirname(directory), 0o755)
  // The kernel clears the parent-death signal when the user changes, so setpriv sets it again.
  return {
    command: 'setpriv',
    args: [
      '--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--pdeathsig', 'TERM',
      '--', binary, ...args
    ],
    sha256
  }
}
