import { existsSync } from 'node:fs'
import { lstat, readdir, stat, statfs } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { meanOf } from '../../scenarios/content.js'
import { pagesNeeded } from '../../scenarios/short-links.js'
import { hasOwnService } from './settings.js'
import { requestsPlanned } from './matrix.js'

/**
 * Bytes on the disk, about twice what was measured on 23 November 2026: 43 a request in the trials of
 * results/sample-policy, and 6000 a trial; of k6's own CSV, 156 a request, for the time of the trial;
 * 260 for a line of an access log; 315 million for a stack that has served nothing yet; 4000 in the database for a
 * revision of 5000 characters, and as much as its HTML in each of two caches.
 */
const KEPT_PER_REQUEST = 100
const KEPT_PER_TRIAL = 20_000
const RAW_PER_REQUEST = 300
const LOGGED_PER_REQUEST = 2 * 500
/** A change in the list of one watcher, with its indexes; a watcher takes as much. */
const ITEM_BYTES = 300
const EMPTY_STACK = 500_000_000
const STORED_PER_CHAR = 5
/** Of logs and the database, whose history keeps every edit; beyond this, the next trial starts a new stack. */
export const GROWTH_MAX_BYTES = 1_000_000_000
/** Requests of a background, however many readers it has: k6, caches and wiki share the cores. */
const BACKGROUND_MOST_PER_S = 5_000 * availableParallelism()

/** Of `st_blocks`, stat(2). */
const BLOCK_BYTES = 512

/** The disk may not hold what the run writes. */
export class DiskError extends Error {}

/**
 * Estimates, from above, the bytes that trials write.
 * @param {import('./matrix.js').PlannedTrial[]} trials
 * @returns {{results: number, stack: number}} `stack`: of a stack of the lab's own, at its largest
 */
export function bytesOf (trials) {
  const each = trials.map(({ settings, plan }) => {
    const requests = requestsPlanned(settings) + plan.writes + backgroundRequests(settings)
    const pageChars = meanOf(settings.page_size_chars)
    // A service of the trial's own is past every log.
    const logged = hasOwnService(settings) ? 0 : LOGGED_PER_REQUEST
    return {
      kept: KEPT_PER_TRIAL + KEPT_PER_REQUEST * requests,
      raw: RAW_PER_REQUEST * requests,
      grown: logged * requests + STORED_PER_CHAR * plan.writes * (settings.edit_size_chars ?? pageChars) +
        ITEM_BYTES * settings.watchers * (plan.writes + 1),
      pages: STORED_PER_CHAR * pagesNeeded(settings) * pageChars
    }
  })
  const sum = (/** @type {'kept' | 'grown'} */ name) => each.reduce((bytes, trial) => bytes + trial[name], 0)
  const most = (/** @type {'raw' | 'grown' | 'pages'} */ name) => Math.max(0, ...each.map((trial) => trial[name]))
  // A stack that has grown beyond the limit is replaced before the next trial.
  const grown = Math.min(sum('grown'), GROWTH_MAX_BYTES + most('grown'))
  return { results: sum('kept') + most('raw'), stack: EMPTY_STACK + grown + most('pages') }
}

/**
 * Probe and background wait for the same server, so a reader gets about as many responses as a VU of the probe, and
 * more while the probe pauses.
 * @param {import('./definition.js').Settings} settings
 * @returns {number}
 */
function backgroundRequests (settings) {
  const { background_vus: readers, model, vus, pause_s: pauseS, rate_per_s: rate, duration_max_s: durationS } = settings
  if (readers === 0) return 0
  const planned = requestsPlanned(settings)
  const [rounds, idleS] = model === 'open'
    ? [0, planned / /** @type {number} */ (rate)]
    : [planned / vus, planned / vus * pauseS]
  return readers + Math.min(readers * rounds + BACKGROUND_MOST_PER_S * idleS, BACKGROUND_MOST_PER_S * durationS)
}

/**
 * @typedef {object} Need
 * @property {string} folder
 * @property {string} variable  that chooses the folder
 * @property {number} bytes  to be written there
 * @property {string} [removed]  a folder on the same disk that is removed first
 */

/**
 * Refuses to begin what the disk may not hold.
 * @param {Need[]} needs
 * @param {(folder: string) => Promise<{disk: number, freeBytes: number}>} [diskOf]
 * @throws {DiskError} naming folders, the bytes needed and free, and the next step
 */
export async function refuseSmallDisk (needs, diskOf = diskOfFolder) {
  const placed = await Promise.all(needs.map(async (need) => ({ ...need, ...await diskOf(need.folder) })))
  for (const disk of new Set(placed.map((need) => need.disk))) {
    const here = placed.filter((need) => need.disk === disk)
    const needed = here.reduce((sum, { bytes }) => sum + bytes, 0)
    const removedBytes = await sizeOf(here.flatMap(({ removed }) => removed ?? []))
    const freeBytes = here[0].freeBytes + removedBytes
    if (needed <= freeBytes) continue
    const folders = here.map(({ folder, variable, bytes }) => `${inWords(bytes)} in ${folder} (${variable})`)
    throw new DiskError(`the disk may be too small: the run writes up to ${folders.join(' and ')}, and ` +
      `${inWords(freeBytes)} are free` +
      `${removedBytes > 0 ? `, ${inWords(removedBytes)} of a killed run included` : ''}. ` +
      `Free ${inWords(needed - freeBytes)}, name a folder on another disk in ` +
      `${here.map(({ variable }) => variable).join(' or ')}, or choose fewer trials (--repetitions, --only)`)
  }
}

/**
 * @param {string} folder  may not exist yet
 * @returns {Promise<{disk: number, freeBytes: number}>} bytes that this user may write
 */
async function diskOfFolder (folder) {
  let existing = folder
  while (!existsSync(existing)) existing = path.dirname(existing)
  const [{ dev: disk }, { bavail, bsize }] = await Promise.all([stat(existing), statfs(existing)])
  return { disk, freeBytes: bavail * bsize }
}

/**
 * @param {string[]} folders
 * @returns {Promise<number>} bytes that removing them frees; 0 for a folder that does not exist
 */
async function sizeOf (folders) {
  const entries = (await Promise.all(folders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true })
    .catch(() => [])))).flat()
  let blocks = 0
  for (const { parentPath, name } of entries) {
    blocks += await lstat(path.join(parentPath, name)).then((found) => found.blocks, () => 0)
  }
  return BLOCK_BYTES * blocks
}

/** @param {number} bytes */
const inWords = (bytes) => bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
