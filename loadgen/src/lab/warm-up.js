import { pageName } from '../../scenarios/plan.js'
import { request } from '../stack/doors.js'

const REQUESTS = 3_000
const CONCURRENCY = 4

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
  const reader = async () => {
    while (next < requests) {
      signal.throwIfAborted()
      const page = next++ % pages
      const { status } = await request(`${door.url}/wiki/${pageName(page)}`)
      if (status !== 200) throw new Error(`${pageName(page)} answered ${status} during the warm-up`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, reader))
  return requests
}
