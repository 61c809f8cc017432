import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive } from '@stevec/harness/processes'

/**
 * The record of a stack for later commands. Readable by its owner alone: it holds control tokens.
 * @typedef {object} StackState
 * @property {1} schema_version
 * @property {string} started_at
 * @property {import('../config.js').Ports} ports
 * @property {number[]} [wiki_ports]  of each wiki, the first one's is `ports.wiki`; absent: one wiki
 * @property {number[]} [database_ports]  of each mongod, the first one's is `ports.mongod`; absent: one mongod
 * @property {number[]} [shared_ports]  of what the wikis share; absent: nothing
 * @property {import('./wiki-limits.js').WikiLimits} [wiki_limits]  absent: no wiki has a limit of its own
 * @property {number[]} [reserved_ports]  by the process that starts the stack, until it stops it
 * @property {Record<import('./doors.js').DoorName, import('./doors.js').Door>} doors
 * @property {Record<string, {url: string, token: string}>} controls  purge listeners, by role; `cache` if nginx's own
 *   cache is at the door `cached`
 * @property {import('./cache.js').CacheAtDoor | null} [cache]  at the door `cached`, instead of the edge
 * @property {Record<string, string>} config_hashes
 * @property {import('@stevec/harness/processes').ProcessIdentity[]} processes  in the order of their start
 * @property {string[]} cgroups  directories created for this stack, or about to be
 * @property {import('../profile/profile.js').Profile} profile  limits and links of origin and client
 * @property {import('@stevec/harness/cgroup').Group} limits  control groups of the origin's processes
 * @property {string | null} [cache_policy]  of its wiki at the start; null: the wiki's default
 * @property {string | null} [redis_url]  with its password; null: no Redis; absent: as the environment says
 * @property {string} [redis_master_url]  of the server that took writes at the start; absent: no Redis of the stack
 * @property {number} [traces_port]  where traces of the wikis arrive while something listens; absent: they make none
 * @property {import('@stevec/harness/toxiproxy').Link[]} [links]  absent: none stand between the hops
 * @property {string | null} links_api  toxiproxy's API; null: no links stand between the hops
 * @property {import('./origin/origin.js').OriginRecord} origin
 */

/**
 * @param {string} directory  of one stack
 * @returns {StackState | null} null without a record
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
 * @returns {boolean} whether any of its processes runs
 */
export function isRunning (state) {
  return state !== null && state.processes.some(isAlive)
}

/**
 * @param {string} directory  of a stack
 * @param {string} name  of a process
 * @returns {string} the file with its output
 */
export const logOf = (directory, name) => path.join(directory, `${name.replaceAll(' ', '-')}.log`)
