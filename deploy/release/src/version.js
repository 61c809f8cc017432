import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * @typedef {object} Version
 * @property {string} name  such as 0.1.0+20261125T020400.g362bea65, with `.dirty` if files differ from the commit
 * @property {string} commit
 * @property {boolean} dirty
 * @property {number} epoch_s  time of the commit, seconds since 1970: the time of every file of the release
 */

/**
 * A later commit has a greater version, in Debian's order too.
 * https://www.debian.org/doc/debian-policy/ch-controlfields
 * @param {string} source  a checkout
 * @returns {Version}
 * @throws {Error} outside a git checkout
 */
export function versionOf (source) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-C', source, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  const [commit, epoch] = git('log', '-1', '--format=%H %ct').split(' ')
  const dirty = git('status', '--porcelain') !== ''
  const { version } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'))
  const time = new Date(Number(epoch) * 1000).toISOString().replace(/[-:]|\.\d+Z/g, '')
  return {
    name: `${version}+${time}.g${commit.slice(0, 8)}${dirty ? '.dirty' : ''}`, commit, dirty, epoch_s: Number(epoch)
  }
}
