import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive } from '@stevec/harness/processes'

/**
 * What a stack leaves behind for the commands that find it later. Readable by its owner alone: it holds control tokens.
 * @typedef {object} StackState
 * @property {1} schema_version
 * @property {string} started_at
 * @property {import('../config.js').Ports} ports
 * @property {Record<import('./doors.js').DoorName, import('./doors.js').Door>} doors
 * @property {Record<string, {url: string, token: string}>} controls  purge listeners, by role; `cache` where nginx's own cache stands at the door `cached`
 * @property {import('./cache.js').CacheAtDoor | null} [cache]  what stands there instead of the edge
 * @property {Record<string, string>} config_hashes
 * @property {import('@stevec/harness/processes').ProcessIdentity[]} processes  in the order of their start
 * @property {string[]} cgroups  directories that were made for this stack, or were about to be
 * @property {import('../profile/profile.js').Profile} profile  where origin and client stand
 * @property {import('@stevec/harness/cgroup').Group} limits  what the origin's processes were started in
 * @property {string | null} [cache_policy]  of its wiki when it was started; null: the wiki's own default
 * @property {string} links_api  toxiproxy's
 * @property {import('./origin/origin.js').OriginRecord} origin
 */

/**
 * @param {string} directory  of one stack
 * @returns {StackState | null} null when none was started there
 */
export function readState (directory) {
  try {
    return JSON.parse(readFileSync(path.join(directory, 'stack.json'), 'utf8'))
  } catch {
    return null
  }
}

/**
 * @param {string} directory
 * @param {StackState} state
 */
export function writeState (directory, state) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = path.join(directory, 'stack.json')
  writeFileSync(`${file}.new`, JSON.stringify(state, null, 2), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** @param {string} directory */
export function removeState (directory) {
  rmSync(path.join(directory, 'stack.json'), { force: true })
}

/**
 * @param {StackState | null} state
 * @returns {boolean} whether any of its processes still runs
 */
export function isRunning (state) {
  return state !== null && state.processes.some(isAlive)
}

/**
 * @param {string} directory  of a stack
 * @param {string} name  of a process
 * @returns {string} the file of its output
 */
export const logOf = (directory, name) => path.join(directory, `${name.replace(' ', '-')}.log`)
