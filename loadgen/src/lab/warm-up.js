import { setTimeout as delay } from 'node:timers/promises'
import { pageName } from '../../scenarios/plan.js'
import { request } from '@stevec/harness/request'

const REQUESTS = 3_000
const CONCURRENCY = 4
/** The first reads of an emulated board, beside other work, have taken more than ten seconds. */
const READ_WITHIN_MS = 60_000
/** Under the first load a starved wiki may take its database for silent, and says so with a 503. */
const UNAVAILABLE_MAX = 30
const UNAVAILABLE_WAIT_MS = 1_000
const CONNECTING_WITHIN_MS = 60_000

/**
 * Reads pages until the wiki's code is compiled by its engine and its data in the database's cache; otherwise the first trials
 * of a run would measure a slower wiki than the last. Through a door that stores nothing.
 * @param {object} options
 * @param {Pick<import('../stack/doors.js').Door, 'url'>} options.door
 * @param {number} options.pages
 * @param {number} [options.requests]
 * @param {AbortSignal} options.signal
 * @returns {Promise<number>} requests sent
 * @throws {Error} when a page is not there
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
 * Has so many requests under way at once that the origin's nginx opens as many connections to the wiki, which it keeps. Node takes up one new connection
 * in each turn of its event loop, and under load a turn is as long as all that waits: without this the first trial with many clients would measure how
 * long the last of them wait to be let in, which is minutes, and later trials would not.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door  that leads to the origin alone
 * @param {number} options.connections
 * @param {AbortSignal} options.signal
 * @throws {Error} when a page is not there
 */
export async function openConnections ({ door, connections, signal }) {
  signal.throwIfAborted()
  await Promise.all(Array.from({ length: connections }, async () => {
    const { status } = await request(`${door.url}/wiki/${pageName(0)}`, { timeoutMs: CONNECTING_WITHIN_MS })
    if (status !== 200) throw new Error(`${pageName(0)} answered ${status} to ${connections} requests at once, during the warm-up`)
  }))
}
