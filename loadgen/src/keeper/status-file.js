import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * What the keeper knows of a service, as the wiki's STATUS_FILE has it (wiki-app/README.md).
 * @typedef {object} ServiceStatus
 * @property {string} name
 * @property {'running' | 'restarting' | 'given-up'} state
 * @property {string} since  ISO 8601
 * @property {number} restarts
 * @property {string | null} last_restart_at
 */

/** @param {string} directory  of a stack */
export const statusFileOf = (directory) => path.join(directory, 'services.json')

/** @param {string} directory @param {ServiceStatus[]} services */
export function writeStatus (directory, services) {
  const file = statusFileOf(directory)
  const content = { schema_version: 1, written_at: new Date().toISOString(), services }
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** @param {string} directory @returns {ServiceStatus[]} none without a file */
export function readStatus (directory) {
  try {
    return JSON.parse(readFileSync(statusFileOf(directory), 'utf8')).services
  } catch {
    return []
  }
}

/** @param {string} directory */
export const removeStatus = (directory) => rmSync(statusFileOf(directory), { force: true })
