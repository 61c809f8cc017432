import { setTimeout as delay } from 'node:timers/promises'
import { pageName } from '../../scenarios/plan.js'
import { request } from '@stevec/harness/request'

const REQUESTS = 3_000
const CONCURRENCY = 4
/** The first reads of an emulated board took more than ten seconds on a busy machine. */
const READ_WITHIN_MS = 60_000
/** Under its first load, a starved wiki may believe its database silent and respond with 503. */
const UNAVAILABLE_MAX = 30
const UNAVAILABLE_WAIT_MS = 1_000
const CONNECTING_WITHIN_MS = 60_000

/**
 * Reads pages until the JavaScript engine has compiled the wiki's code and the database has its data in the cache.
 * Otherwise the first trials of a run would measure a slower wiki than the last. Uses a door that stores nothing.
 * @param {object} options
 * @param {Pick<import('../stack/doors.js').Door, 'url'>} options.door
 * @param {number} options.pages
 * @param {number} [options.requests]
 * @param {AbortSignal} options.signal
 * @returns {Promise<number>} requests sent
 * @throws {Error} when a page does not exist
 */
export async function warmUp ({ door, pages, requests = REQUESTS, signal }) {
  let next = 0
  let unavailable = 0
  const reader = async () => {
    while (next < requests) {
      signal.throwIfAborted()
      const page = next++ % pages
      const { status } = await request(`${door.url}/wiki/${pageName(page)}`, { timeoutMs: READ_WITHIN_MS })
      if (status === 503 && ++unavailable <= UNAVAILABLE_MAX) await delay(UNAVAILABLE_WAIT_MS, undefined, { signal })
      else if (status !== 200) throw new Error(`${pageName(page)} answered ${status} during the warm-up`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, reader))
  return requests
}

/**
 * Sends so many requests at once that the origin's nginx opens as many connections to the wiki, which it keeps open.
 * Node accepts one new connection per turn of its event loop, and under load a turn takes as long as all waiting work.
 * Without this, the first trial with many clients would measure the minutes that the last clients wait for a
 * connection; later trials would not.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door  one that leads straight to the origin
 * @param {number} options.connections
 * @param {AbortSignal} options.signal
 * @throws {Error} when a page does not exist
 */
export async function openConnections ({ door, connections, signal }) {
  signal.throwIfAborted()
  await Promise.all(Array.from({ length: connections }, async () => {
    const { status } = await request(`${door.url}/wiki/${pageName(0)}`, { timeoutMs: CONNECTING_WITHIN_MS })
    if (status !== 200) {
      throw new Error(`${pageName(0)} answered ${status} to ${connections} requests at once, during the warm-up`)
    }
  }))
}
