import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { waitUntil } from '@stevec/harness/processes'
import { EDGE_NAMES } from '../stack/edge-names.js'
import { isCrawled, readCrawl } from './crawl.js'
import { reconcile } from './reconcile.js'

/** nginx logs a request after the client has the response; the last lines may take this long. */
const LATE_MS = 2_000

/** Of a stack with one edge. */
export const LOG_ROLES = /** @type {const} */ (['edge', 'origin', 'local'])

/** @typedef {(typeof LOG_ROLES)[number]} LogRole */

/** By log: `edge`, `origin`, `local`, and of further edges `edge-2` … @typedef {Record<string, number>} PerRole */

/** @typedef {Pick<import('./definition.js').Settings, 'door' | 'cache'>} Doorway */
/** @typedef {Doorway & Pick<import('./definition.js').Settings, 'resource' | 'edit_door'>} Requested */

/**
 * The access logs of a stack, cut into trials.
 * @param {string} stackDirectory
 * @param {() => Promise<void>} [fetch]  copies new log lines of a remote origin to this machine
 */
export const createLogs = (stackDirectory, fetch = async () => {}) => ({
  fetch,
  ends: () => logEnds(stackDirectory),
  waitFor: (/** @type {PerRole} */ starts, /** @type {PerRole} */ expected, withCrawlers = false) =>
    waitForLogLines(stackDirectory, starts, expected, { fetchLog: fetch, withCrawlers }),
  keep: (/** @type {PerRole} */ starts, /** @type {string} */ directory, withCrawlers = false) =>
    keepLogs(stackDirectory, starts, directory, withCrawlers),
  refreshes: (/** @type {PerRole} */ starts) => countRefreshes(stackDirectory, starts),
  /** What crawlers and people asked for, by the log of `role`. */
  crawl: (/** @type {LogRole} */ role, /** @type {PerRole} */ starts) =>
    readCrawl(logFile(stackDirectory, role), starts[role]),
  /** Returns, in sentences, where logs, samples and counter disagree. */
  reconcile: (
    /** @type {string} */ directory,
    /** @type {Requested} */ requested,
    /** @type {import('./counter.js').Counter} */ counter
  ) => reconcile({
    ...{ directory, doorRole: logOfDoor(requested), resource: requested.resource, counter },
    editsApart: requested.edit_door !== null
  }),
  /**
   * Returns how many lines each log gets from the requests through each edge of a door, or through the door, if
   * `reached` of them reach the origin.
   */
  linesOf (/** @type {Doorway} */ doorway, /** @type {number[]} */ sentEach, /** @type {number} */ reached) {
    const role = logOfDoor(doorway)
    const [sent] = sentEach
    const edges = Object.fromEntries(sentEach.map((requests, index) =>
      [EDGE_NAMES[index], role === 'edge' ? requests : 0]))
    return /** @type {PerRole} */ ({ ...edges, local: role === 'local' ? sent : 0, origin: reached })
  }
})

/** @typedef {ReturnType<typeof createLogs>} Logs */

const NOTHING = /** @type {PerRole} */ ({})

/** For a target elsewhere, whose logs the lab cannot read. @type {Logs} */
export const NO_LOGS = Object.freeze({
  fetch: async () => {},
  ends: () => NOTHING,
  waitFor: async () => NOTHING,
  keep: async () => {},
  refreshes: async () => 0,
  crawl: async () => ({ statuses: {}, reads: 0, writes: 0 }),
  reconcile: async () => [],
  linesOf: () => NOTHING
})

/**
 * Returns the current size of each nginx role's access log.
 * @param {string} stackDirectory
 * @returns {PerRole} bytes
 */
export function logEnds (stackDirectory) {
  return perRole(stackDirectory, (role) => {
    const file = logFile(stackDirectory, role)
    return existsSync(file) ? statSync(file).size : 0
  })
}

/**
 * Waits for lines that nginx is still writing.
 * @param {string} stackDirectory
 * @param {PerRole} starts  bytes, from logEnds
 * @param {PerRole} expected  lines since then
 * @param {object} [options]
 * @param {() => Promise<void>} [options.fetchLog]  copies new lines of the origin's log to this machine
 * @param {boolean} [options.withCrawlers]  whose lines do not count
 * @returns {Promise<PerRole>} lines found; fewer than expected if they did not appear in time
 */
export async function waitForLogLines (
  stackDirectory, starts, expected, { fetchLog = async () => {}, withCrawlers = false } = {}
) {
  const count = withCrawlers ? countLinesOfPeople : countLines
  const found = perRole(stackDirectory, () => 0)
  for (const role of Object.keys(found)) {
    await waitUntil(async () => {
      if (role === 'origin') await fetchLog()
      found[role] = await count(logFile(stackDirectory, role), starts[role])
      return found[role] >= expected[role]
    }, LATE_MS)
  }
  return found
}

/**
 * Counts requests that the edges sent to the origin by itself while it served a stale copy (RFC 5861 §3).
 * @param {string} stackDirectory
 * @param {PerRole} starts  bytes, from logEnds
 */
export async function countRefreshes (stackDirectory, starts) {
  let refreshes = 0
  for (const role of logRoles(stackDirectory).filter((name) => EDGE_NAMES.includes(name))) {
    const input = createReadStream(logFile(stackDirectory, role), { start: starts[role] })
    for await (const line of createInterface({ input })) {
      if (line.includes('"cache_status":"UPDATING"')) refreshes += JSON.parse(line).refreshes
    }
  }
  return refreshes
}

/**
 * Returns the role whose log has a line for each request through a door; other projects' caches write no such log.
 * @param {Doorway} doorway
 * @returns {LogRole | null}
 */
export function logOfDoor ({ door, cache }) {
  if (door === 'cached' && cache !== 'edge') return null
  return ({
    cached: /** @type {const} */ ('edge'),
    nocache: /** @type {const} */ ('edge'),
    local: /** @type {const} */ ('local'),
    source: /** @type {const} */ ('origin')
  })[door]
}

/**
 * Saves the part of each log that a trial wrote as <role>.log.gz; the lines of crawlers go to <role>-crawl.log.gz, so
 * that the other files have what the witnesses compare.
 * @param {string} stackDirectory
 * @param {PerRole} starts  bytes
 * @param {string} directory
 * @param {boolean} [withCrawlers]
 */
export async function keepLogs (stackDirectory, starts, directory, withCrawlers = false) {
  for (const role of logRoles(stackDirectory)) {
    const read = () => createReadStream(logFile(stackDirectory, role), { start: starts[role] })
    const keep = (/** @type {AsyncIterable<Buffer | string>} */ lines, /** @type {string} */ name) =>
      pipeline(lines, createGzip(), createWriteStream(path.join(directory, `${name}.log.gz`)))
    if (withCrawlers) {
      await keep(linesWhere(read(), (line) => !isCrawled(line)), role)
      await keep(linesWhere(read(), isCrawled), `${role}-crawl`)
    } else {
      await keep(read(), role)
    }
  }
}

/**
 * @param {import('node:stream').Readable} input
 * @param {(line: string) => boolean} isWanted
 */
async function * linesWhere (input, isWanted) {
  for await (const line of createInterface({ input })) if (isWanted(line)) yield `${line}\n`
}

/**
 * @param {string} stackDirectory
 * @returns {string[]} of its logs
 */
const logRoles = (stackDirectory) => [
  ...LOG_ROLES, ...EDGE_NAMES.slice(1).filter((name) => existsSync(logFile(stackDirectory, name)))
]

/**
 * @param {string} stackDirectory
 * @param {(role: string) => number} value
 * @returns {PerRole}
 */
const perRole = (stackDirectory, value) =>
  Object.fromEntries(logRoles(stackDirectory).map((role) => [role, value(role)]))

/**
 * @param {string} stackDirectory
 * @param {string} role
 */
const logFile = (stackDirectory, role) => path.join(stackDirectory, role, 'access.log')

const LINE_FEED = 10

/**
 * Counts bytes, and decodes no line: logs of a run are large.
 * @param {string} file
 * @param {number} start  bytes
 */
async function countLines (file, start) {
  let lines = 0
  for await (const bytes of /** @type {AsyncIterable<Buffer>} */ (createReadStream(file, { start }))) {
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1
  }
  return lines
}

/**
 * @param {string} file
 * @param {number} start  bytes
 */
async function countLinesOfPeople (file, start) {
  let lines = 0
  const input = createReadStream(file, { start })
  for await (const line of createInterface({ input })) if (!isCrawled(line)) lines += 1
  return lines
}
