import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { nameOf } from './pages.js'
import { pathOf } from './origin.js'
import { versionAt } from './player.js'

/** @import {Pages} from './pages.js' */
/** @import {Part, startOrigin} from './origin.js' */
/** @import {Plan, ReplayEvent} from './schedule.js' */

/** Above all places of a schedule: pages of no log. */
const FIRST_PAGE = 1_000_000_000
/** An edge may let a read wait for the answer that is held up. */
const WAITS_MAX_MS = 2_000

/**
 * `before`: the part of the answer that had not come when the purge was done; `fresh`: no read after the purge got the
 * old version, neither while the answer was held up nor after it.
 * @typedef {{family: string, before: Part, fresh: boolean}} Met
 */

/**
 * In the play no purge meets a fetch: it waits for the reads before it. Here each does. The origin has read the old
 * version and holds up its answer while the page is edited and purged.
 * @param {object} parts
 * @param {Plan} parts.plan
 * @param {Awaited<ReturnType<typeof startOrigin>>} parts.origin
 * @param {number} parts.port  of the edge
 * @param {Pages} parts.pages
 * @param {(event: ReplayEvent) => Promise<void>} parts.purge  resolves once the edge has purged the page
 * @param {AbortSignal} parts.signal
 * @returns {Promise<Met[]>} two of each family with purges that the plan has
 * @throws {Error} when the edge did not ask, or what `purge` throws
 */
export async function meetPurges ({ plan, origin, port, pages, purge, signal }) {
  const agent = new http.Agent({ keepAlive: true })
  /** @type {Met[]} */
  const met = []
  try {
    for (const family of /** @type {const} */ (['purge', 'bounded'])) {
      const number = plan.classes.findIndex((one) => one.family === family && one.reads > 0)
      if (number === -1) continue
      for (const before of /** @type {const} */ (['head', 'body'])) {
        signal.throwIfAborted()
        met.push({ family, before, fresh: await isFresh(number, before, FIRST_PAGE + met.length) })
      }
    }
  } finally {
    agent.destroy()
  }
  return met

  /** @param {number} number  of the class @param {Part} before @param {number} page */
  async function isFresh (number, before, page) {
    const event = { at_ms: 0, kind: /** @type {const} */ ('purge'), class: number, page, url: 0 }
    const read = () => versionAt(port, pathOf(event), agent)
    const { arrived, release } = origin.hold(pathOf(event), before)
    const first = read()
    const isHeld = await Promise.race([arrived.then(() => true), first.then(() => false)])
    if (!isHeld) throw new Error('the edge answered a page that it cannot have without asking the origin')
    pages.edit(nameOf(event), performance.now())
    await purge(event)
    const meanwhile = read()
    await Promise.race([meanwhile, delay(WAITS_MAX_MS, undefined, { ref: false })])
    release()
    const versions = [await meanwhile, await first.then(read)]
    return versions.every((version) => version === 1)
  }
}
