import { createReadStream, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'

/** 200 requests a second for ten minutes, as analysis/stevec_advise/replay.py has it. */
const EVENTS_MAX = 120_000

/**
 * @typedef {'none' | 'revalidate' | 'ttl' | 'swr' | 'purge' | 'bounded'} Family
 * @typedef {{fetches: number, stale: number, oldest_s: number}} Counts  requests at the origin, stale reads, and for
 *   how long the most outdated of them was
 */

/**
 * A class of the log and its setting; the times are null where the family has none.
 * @typedef {object} ReplayClass
 * @property {string} name
 * @property {string} setting  in words
 * @property {Family} family
 * @property {number | null} lifetime_s
 * @property {number} window_s  of stale-while-revalidate
 * @property {number | null} purge_delay_s  from an edit to its purge, or to its message in the purge log
 * @property {number} reads
 * @property {number} edits
 * @property {Counts} model
 */

/**
 * @typedef {object} Plan
 * @property {number} begin_s  of the window, since the log's first read
 * @property {number} window_s
 * @property {number} reads_in_window
 * @property {number} pages_in_window
 * @property {number} pages  that are played
 * @property {number} requests_per_s_max
 * @property {ReplayClass[]} classes
 */

/**
 * `page`: the place of a path in its class; all URLs of a path have its version.
 * @typedef {{at_ms: number, kind: 'purge' | 'edit' | 'read', class: number, page: number, url?: number}} ReplayEvent
 */

/**
 * @param {string} folder  written by stevec_advise
 * @returns {Promise<{plan: Plan, events: ReplayEvent[]}>} events in the order of time: the schedule's, and the purges
 *   of its edits within the window
 * @throws {Error} when the schedule is longer than it may be
 */
export async function readSchedule (folder) {
  /** @type {Plan} */
  const plan = JSON.parse(readFileSync(path.join(folder, 'plan.json'), 'utf8'))
  /** @type {ReplayEvent[]} */
  const events = []
  for await (const line of createInterface({ input: createReadStream(path.join(folder, 'schedule.jsonl')) })) {
    const row = JSON.parse(line)
    if (events.length >= EVENTS_MAX) throw new Error(`the schedule has more than ${EVENTS_MAX} requests`)
    events.push({ ...row, kind: row.url === undefined ? 'edit' : 'read' })
  }
  return { plan, events: withPurges(plan, events) }
}

/**
 * @param {Plan} plan
 * @param {ReplayEvent[]} events  in the order of time
 * @returns {ReplayEvent[]} a purge before an edit or a read of the same millisecond, as in the model
 */
export function withPurges ({ classes, window_s: windowS }, events) {
  /** @type {ReplayEvent[]} */
  const purges = []
  for (const event of events) {
    const delayS = classes[event.class].purge_delay_s
    if (event.kind !== 'edit' || delayS === null) continue
    const atMs = event.at_ms + Math.round(delayS * 1000)
    if (atMs <= windowS * 1000) purges.push({ ...event, kind: 'purge', at_ms: atMs })
  }
  // Array.prototype.sort is stable.
  return [...purges, ...events].sort((one, other) => one.at_ms - other.at_ms)
}
