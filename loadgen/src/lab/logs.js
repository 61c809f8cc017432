import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { waitUntil } from '../stack/processes.js'

/** nginx writes a request's line after the client has its answer; how long the last lines may take. */
const LATE_MS = 2_000

export const LOG_ROLES = /** @type {const} */ (['edge', 'origin', 'local'])

/** @typedef {Record<(typeof LOG_ROLES)[number], number>} PerRole */

/**
 * The access logs of what is measured, cut into trials.
 * @param {string} stackDirectory
 * @param {() => Promise<void>} fetch  brings what the origin has logged here
 */
export const createLogs = (stackDirectory, fetch) => ({
  fetch,
  ends: () => logEnds(stackDirectory),
  waitFor: (/** @type {PerRole} */ starts, /** @type {PerRole} */ expected) => waitForLogLines(stackDirectory, starts, expected, fetch),
  keep: (/** @type {PerRole} */ starts, /** @type {string} */ directory) => keepLogs(stackDirectory, starts, directory),
  /** Lines that so many requests through a door, of which so many reached the origin, leave in each log. */
  linesOf: (/** @type {import('../stack/doors.js').DoorName} */ door, /** @type {number} */ sent, /** @type {number} */ reached) => /** @type {PerRole} */ ({ edge: 0, local: 0, ...{ [logOfDoor(door)]: sent }, origin: reached })
})

/** @typedef {ReturnType<typeof createLogs>} Logs */

const NOTHING = /** @type {PerRole} */ ({})

/** Of what is measured elsewhere, where nobody can read them. @type {Logs} */
export const NO_LOGS = Object.freeze({ fetch: async () => {}, ends: () => NOTHING, waitFor: async () => NOTHING, keep: async () => {}, linesOf: () => NOTHING })

/**
 * Where each nginx role's access log ends now.
 * @param {string} stackDirectory
 * @returns {PerRole} bytes
 */
export function logEnds (stackDirectory) {
  return perRole((role) => {
    const file = logFile(stackDirectory, role)
    return existsSync(file) ? statSync(file).size : 0
  })
}

/**
 * Waits for lines that are still being written.
 * @param {string} stackDirectory
 * @param {PerRole} starts  bytes, from logEnds
 * @param {PerRole} expected  lines since then
 * @param {() => Promise<void>} [fetchLog]  brings what the origin logs here
 * @returns {Promise<PerRole>} lines that are there; fewer than expected when they did not come in time
 */
export async function waitForLogLines (stackDirectory, starts, expected, fetchLog = async () => {}) {
  const found = perRole(() => 0)
  for (const role of LOG_ROLES) {
    await waitUntil(async () => {
      if (role === 'origin') await fetchLog()
      found[role] = await countLines(logFile(stackDirectory, role), starts[role])
      return found[role] >= expected[role]
    }, LATE_MS)
  }
  return found
}

/**
 * Which role's log has a line for each request through a door.
 * @param {import('../stack/doors.js').DoorName} door
 * @returns {(typeof LOG_ROLES)[number]}
 */
const logOfDoor = (door) => ({ cached: /** @type {const} */ ('edge'), nocache: /** @type {const} */ ('edge'), local: /** @type {const} */ ('local'), source: /** @type {const} */ ('origin') })[door]

/**
 * Keeps the part of each log that a trial wrote, as <role>.log.gz.
 * @param {string} stackDirectory
 * @param {PerRole} starts  bytes
 * @param {string} directory
 */
export async function keepLogs (stackDirectory, starts, directory) {
  for (const role of LOG_ROLES) {
    await pipeline(createReadStream(logFile(stackDirectory, role), { start: starts[role] }), createGzip(), createWriteStream(path.join(directory, `${role}.log.gz`)))
  }
}

/**
 * @param {(role: (typeof LOG_ROLES)[number]) => number} value
 * @returns {PerRole}
 */
const perRole = (value) => /** @type {PerRole} */ (Object.fromEntries(LOG_ROLES.map((role) => [role, value(role)])))

/**
 * @param {string} stackDirectory
 * @param {string} role
 */
const logFile = (stackDirectory, role) => path.join(stackDirectory, role, 'access.log')

/**
 * @param {string} file
 * @param {number} start  bytes
 */
async function countLines (file, start) {
  let lines = 0
  for await (const chunk of createReadStream(file, { start })) for (const byte of chunk) if (byte === 10) lines += 1
  return lines
}
