import { chmodSync, lutimesSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { layOver } from './overlay.js'

/** Where the release, and the board's image, have the wiki. The units name this folder. */
export const INSTALLED_AT = '/opt/stevec'
/** Where Debian's and most other packages of Node.js have it. */
export const SYSTEM_NODE = '/usr/bin/node'

/** What runs: no tests, no benchmarks, and nothing of the lab. */
const PARTS = [
  'wiki-app/src', 'wiki-app/bin', 'cdn/src', 'nginx/src', 'nginx/conf', 'nginx/lua', 'nginx/templates'
]
const PACKAGES = ['wiki-app', 'cdn', 'nginx']

/**
 * Lays the wiki, nginx's configuration and their npm packages into a folder, as the units expect them.
 * @param {object} options
 * @param {string} options.source  a checkout
 * @param {string} options.nodeModules
 * @param {string} options.target  the folder that becomes INSTALLED_AT
 * @param {number} options.epoch  seconds since 1970: the time of every file
 * @param {(relative: string) => boolean} [options.keep]  false leaves out a file of the checkout
 */
export function layApplication ({ source, nodeModules, target, epoch, keep = () => true }) {
  for (const part of PARTS) {
    const kept = (/** @type {string} */ relative) => keep(path.join(part, relative))
    layOver(path.join(source, part), path.join(target, part), { epoch, keep: kept })
  }
  const isManifest = (/** @type {string} */ relative) => relative === 'package.json'
  for (const name of PACKAGES) layOver(path.join(source, name), path.join(target, name), { epoch, keep: isManifest })
  layOver(source, target, { epoch, keep: (relative) => relative === 'LICENSE' })
  layOver(nodeModules, path.join(target, 'node_modules'), { epoch })
  // npm links workspaces in the same way: packages import each other by name.
  for (const name of PACKAGES) layLink(`../../${name}`, path.join(target, 'node_modules/@stevec', name), epoch)
  layLink(SYSTEM_NODE, path.join(target, 'bin/node'), epoch)
}

/**
 * @param {string} to
 * @param {string} link
 * @param {number} epoch
 */
function layLink (to, link, epoch) {
  const folder = path.dirname(link)
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  rmSync(link, { force: true })
  symlinkSync(to, link)
  for (const file of [link, folder]) lutimesSync(file, epoch, epoch)
}
