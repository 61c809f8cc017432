import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { compare } from './comparison.js'
import { startEdge } from './edge.js'
import { PURGE_LOG_PATH, startOrigin, WARM_UP_PATH } from './origin.js'
import { meetPurges } from './met-purges.js'
import { createPages, nameOf } from './pages.js'
import { play } from './player.js'
import { createPurgeLog } from './purge-log.js'

/** @import {Plan, ReplayEvent} from './schedule.js' */
/** @import {PurgeLog} from './purge-log.js' */

const APPLIED_TIMEOUT_MS = 30_000
/** A message takes a fifth of the bound: LOG_DELAY_SHARE in analysis/stevec_advise/replay.py. */
const BOUND_OF_DELAY = 5

/**
 * Plays a schedule through an edge in front of an origin, both of which it starts and stops, and compares what they did
 * with the model.
 * @param {object} parts
 * @param {{plan: Plan, events: ReplayEvent[]}} parts.schedule
 * @param {string} parts.folder  where the edge gets a folder
 * @param {AbortSignal} parts.signal
 * @param {(played: number, elapsedMs: number) => void} [parts.progress]
 * @returns {Promise<import('./comparison.js').Comparison>}
 * @throws {Error} when the edge does not start or refuses a purge, or the reason of the signal
 */
export async function replay ({ schedule: { plan, events }, folder, signal, progress }) {
  const found = await freePorts(3)
  const [port, controlPort, originPort] = found
  const pages = createPages()
  const purgeLog = purgeLogOf(plan)
  const origin = await startOrigin({ port: originPort, classes: plan.classes, pages, purgeLog })
  const directory = path.join(folder, 'edge')
  mkdirSync(directory)
  /** @type {Awaited<ReturnType<typeof startEdge>> | undefined} */
  let edge
  try {
    edge = await startEdge({
      directory,
      ports: { port, controlPort, originPort },
      readyPath: WARM_UP_PATH,
      follow: purgeLog === null ? undefined : PURGE_LOG_PATH,
      signal
    })
    if (purgeLog !== null) await applied(purgeLog, signal)
    const purge = purger(plan, edge.control, purgeLog, signal)
    const played = await play({ events, classes: plan.classes.length, port, pages, purge, progress, signal })
    const fetches = [...origin.fetches]
    const met = await meetPurges({ plan, origin, port, pages, purge, signal })
    return compare(plan, { ...played, fetches, met })
  } finally {
    await edge?.stop()
    await origin.close()
    await releasePorts(found)
  }
}

/** @param {Plan} plan @returns {PurgeLog | null} null without a class of the family bounded */
function purgeLogOf ({ classes }) {
  const bounded = classes.find(({ family, reads }) => family === 'bounded' && reads > 0)
  if (bounded === undefined) return null
  const delayMs = Number(bounded.purge_delay_s) * 1000
  return createPurgeLog({ boundMs: delayMs * BOUND_OF_DELAY, delayMs })
}

/**
 * @param {Plan} plan
 * @param {{url: string, token: string}} control  of the edge
 * @param {PurgeLog | null} purgeLog
 * @param {AbortSignal} signal
 * @returns {(event: ReplayEvent) => Promise<void>} purges a page: by the API, or by the log where the class has it
 */
function purger ({ classes }, control, purgeLog, signal) {
  return async (event) => {
    const tag = nameOf(event)
    if (purgeLog !== null && classes[event.class].family === 'bounded') {
      purgeLog.say(tag)
      return applied(purgeLog, signal)
    }
    const { status } = await request(`${control.url}/client/v4/zones/any/purge_cache`, {
      method: 'POST', headers: { authorization: `Bearer ${control.token}` }, body: JSON.stringify({ tags: [tag] }), signal
    })
    if (status !== 200) throw new Error(`the edge answered a purge with ${status}`)
  }
}

/**
 * @param {PurgeLog} purgeLog
 * @param {AbortSignal} signal
 */
async function applied (purgeLog, signal) {
  const done = await waitUntil(() => signal.aborted || purgeLog.isApplied(), APPLIED_TIMEOUT_MS, 1)
  signal.throwIfAborted()
  if (!done) throw new Error('the edge does not follow the purge log')
}
