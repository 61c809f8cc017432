import autocannon from 'autocannon'
import { cpuSeconds } from './process.js'

export const DURATION_S = 4
/** For a response. On a machine that is busy with other work, saves take seconds. */
const ANSWER_MAX_S = 60

/** @typedef {{method?: 'GET' | 'POST', path: string, headers?: Record<string, string>, body?: string}} Request */

/**
 * @typedef {object} Load
 * @property {number} requests  answered as expected
 * @property {number} refused  answered with the status that may also come
 * @property {number} rate_per_s  from the first response to the last, so that neither the generator's preparation nor
 *   its waiting at the end counts
 * @property {number[]} cpu_us  user and system time per request, of each of `pids`
 * @property {number} generator_cpu_share  of one core that the generator itself took
 */

/**
 * Measures how many requests a second a server answers. Each connection waits for its response before it sends the next
 * request.
 * @param {object} options
 * @param {string} options.url
 * @param {number} options.connections
 * @param {Request[] | (() => Request[])} options.requests  an array is shuffled for each connection; a function is
 *   called for each connection
 * @param {number} [options.expected]  the only status that counts
 * @param {number} [options.refusal]  a status that may also come, and does not count
 * @param {number} [options.duration_s]
 * @param {number} [options.amount]  this many requests, however long they take
 * @param {number[]} [options.pids]  of the processes whose processor time is measured
 * @returns {Promise<Load>}
 * @throws {Error} when a response had another status, or fewer than two were as expected
 */
export async function load ({
  url,
  connections,
  requests,
  expected = 200,
  refusal,
  duration_s: duration = DURATION_S,
  amount,
  pids = []
}) {
  const cpuBefore = process.cpuUsage()
  const serversBefore = pids.map(cpuSeconds)
  const startedAt = performance.now()
  let [firstAt, lastAt] = [0, 0]
  const options = {
    url,
    connections,
    duration,
    timeout: ANSWER_MAX_S,
    ...(amount === undefined ? {} : { amount }),
    setupClient: (/** @type {autocannon.Client} */ client) =>
      client.setRequests(typeof requests === 'function' ? requests() : shuffled(requests))
  }
  /** @type {autocannon.Result} */
  const result = await new Promise((resolve, reject) => {
    autocannon(options, (error, found) => error ? reject(error) : resolve(found)).on('response', () => {
      lastAt = performance.now()
      firstAt ||= lastAt
    })
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  const counts = new Map(
    Object.entries(result.statusCodeStats ?? {}).map(([status, { count = 0 }]) => [Number(status), count])
  )
  const answers = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const good = counts.get(expected) ?? 0
  const refused = refusal === undefined ? 0 : counts.get(refusal) ?? 0
  if (result.errors > 0 || good + refused !== answers || good < 2) {
    throw new Error(`${url}: ${result.errors} errors, ${good} of ${answers} answers with ${expected}`)
  }
  return {
    requests: good,
    refused,
    rate_per_s: (good - 1) / (lastAt - firstAt) * 1_000,
    cpu_us: pids.map((pid, index) => (cpuSeconds(pid) - serversBefore[index]) / good * 1e6),
    generator_cpu_share: (user + system) / 1000 / (performance.now() - startedAt)
  }
}

/** @template Item @param {Item[]} items @returns {Item[]} the same in a random order */
export function shuffled (items) {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]]
  }
  return order
}
