import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { nameOf } from './pages.js'
import { pathOf } from './origin.js'

/** @import {ReplayEvent} from './schedule.js' */
/** @import {Pages} from './pages.js' */

/** With as many unanswered reads the next one waits, and is late. */
const IN_FLIGHT_MAX = 256
const ANSWER_TIMEOUT_MS = 30_000
const PROGRESS_MS = 5_000

/**
 * `oldest_ms`: for how long the most outdated of the stale reads was, as the model counts: at the time of sending.
 * @typedef {{reads: number, failed: number, stale: number, oldest_ms: number}} Seen
 */

/**
 * Sends the reads of a schedule at their times, and makes its edits and purges happen. An edit or a purge waits for the
 * reads before it, and the reads after it wait for it, so that the order is the schedule's also when the machine is
 * busy.
 * @param {object} parts
 * @param {ReplayEvent[]} parts.events  in the order of time
 * @param {number} parts.classes  how many
 * @param {number} parts.port  of the edge
 * @param {Pages} parts.pages
 * @param {(event: ReplayEvent) => Promise<void>} parts.purge  resolves once the edge has purged the page
 * @param {(played: number, elapsedMs: number) => void} [parts.progress]
 * @param {AbortSignal} parts.signal
 * @returns {Promise<{seen: Seen[], late_max_ms: number}>} `seen`: by class
 * @throws {Error} when a purge fails, or the reason of the signal
 */
export async function play ({ events, classes, port, pages, purge, progress = () => {}, signal }) {
  const seen = Array.from({ length: classes }, () => ({ reads: 0, failed: 0, stale: 0, oldest_ms: 0 }))
  // Idle connections end before nginx closes them.
  const agent = new http.Agent({ keepAlive: true, maxSockets: IN_FLIGHT_MAX, timeout: ANSWER_TIMEOUT_MS })
  /** @type {Set<Promise<void>>} */
  const inFlight = new Set()
  let lateMaxMs = 0
  const beganMs = performance.now()
  let nextProgressMs = PROGRESS_MS
  const elapsed = () => performance.now() - beganMs
  try {
    for (const [played, event] of events.entries()) {
      while (elapsed() < event.at_ms) {
        await delay(Math.min(event.at_ms - elapsed(), nextProgressMs - elapsed()), undefined, { signal })
        if (elapsed() < nextProgressMs) continue
        progress(played, elapsed())
        nextProgressMs = elapsed() + PROGRESS_MS
      }
      signal.throwIfAborted()
      if (event.kind !== 'read') await Promise.all(inFlight)
      else if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight)
      lateMaxMs = Math.max(lateMaxMs, elapsed() - event.at_ms)
      if (event.kind === 'edit') pages.edit(nameOf(event), elapsed())
      else if (event.kind === 'purge') await purge(event)
      else {
        const answered = read(event).finally(() => inFlight.delete(answered))
        inFlight.add(answered)
      }
    }
    await Promise.all(inFlight)
  } finally {
    agent.destroy()
  }
  return { seen, late_max_ms: lateMaxMs }

  /** @param {ReplayEvent} event */
  async function read (event) {
    const name = nameOf(event)
    const [sentMs, current, counts] = [elapsed(), pages.version(name), seen[event.class]]
    counts.reads++
    const version = await versionAt(port, pathOf(event), agent)
    if (version === null) counts.failed++
    if (version === null || version >= current) return
    counts.stale++
    counts.oldest_ms = Math.max(counts.oldest_ms, sentMs - pages.outdatedAt(name, version))
  }
}

/**
 * @param {number} port
 * @param {string} path
 * @param {http.Agent} agent
 * @returns {Promise<number | null>} the version in the answer; null without an answer, or one that is no 200
 */
export function versionAt (port, path, agent) {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const outgoing = http.get({ host: '127.0.0.1', port, path, agent, signal }, (response) => {
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (chunk) => { text += chunk })
      response.on('end', () => resolve(response.statusCode === 200 ? Number(text) : null))
      response.on('error', () => resolve(null))
    })
    outgoing.on('error', () => resolve(null))
  })
}
