import autocannon from 'autocannon'

export const DURATION_S = 4

/**
 * Requests a second that a server answers, each connection waiting for its answer before it asks again.
 * @param {object} options
 * @param {string} options.url
 * @param {number} options.connections
 * @param {{method?: 'GET' | 'POST', path: string, headers?: Record<string, string>, body?: string}[]} options.requests  each connection has an order of its own
 * @param {number} options.expected  the only status that counts
 * @returns {Promise<{rate_per_s: number, generator_cpu_share: number}>} share of one core that the load itself took
 * @throws {Error} when an answer was another, or none
 */
export async function load ({ url, connections, requests, expected }) {
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const result = await autocannon({
    url,
    connections,
    duration: DURATION_S,
    setupClient: (client) => client.setRequests(shuffled(requests))
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  const counts = new Map(Object.entries(result.statusCodeStats ?? {}).map(([status, { count = 0 }]) => [Number(status), count]))
  const answers = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const good = counts.get(expected) ?? 0
  if (result.errors > 0 || good !== answers || good === 0) throw new Error(`${url}: ${result.errors} errors, ${good} of ${answers} answers with ${expected}`)
  return { rate_per_s: good / result.duration, generator_cpu_share: (user + system) / 1000 / (performance.now() - startedAt) }
}

/** @template Item @param {Item[]} items @returns {Item[]} */
function shuffled (items) {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]]
  }
  return order
}
