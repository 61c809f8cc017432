import { CloudflareError } from './error.js'

/** Of one query: https://developers.cloudflare.com/analytics/graphql-api/limits/ */
const WINDOWS_PER_QUERY = 10
/** Of one window; a group is one host with one cache status. */
const GROUPS_MAX = 100

/**
 * @typedef {{from: string, to: string, hosts: string[]}} Window  ISO 8601, both ends included
 *
 * @typedef {object} Group  requests and bytes are estimates unless sample_interval is 1
 * @property {string} host
 * @property {string} cache_status
 * @property {number} requests
 * @property {number} edge_response_bytes
 * @property {number} sample_interval
 */

/**
 * Reads Cloudflare's count of requests and bytes by host and cache status, for each window.
 * @param {import('./client.js').Client} client
 * @param {string} zoneId
 * @param {Window[]} windows
 * @returns {Promise<Group[][]>} in the order of the windows
 * @throws {CloudflareError} also when one host has more groups than a response can hold
 */
export async function readAnalytics (client, zoneId, windows) {
  /** @type {Group[][]} */
  const results = []
  for (let start = 0; start < windows.length; start += WINDOWS_PER_QUERY) {
    results.push(...await readSome(client, zoneId, windows.slice(start, start + WINDOWS_PER_QUERY)))
  }
  // Cloudflare silently drops groups beyond the limit.
  const full = [...results.keys()].filter((index) => results[index].length >= GROUPS_MAX)
  if (full.length === 0) return results
  const parts = await readAnalytics(client, zoneId, full.flatMap((index) => halvesOf(windows[index])))
  for (const [position, index] of full.entries()) results[index] = parts.slice(2 * position, 2 * position + 2).flat()
  return results
}

/**
 * @param {Window} window
 * @returns {[Window, Window]} each with half of the hosts
 * @throws {CloudflareError} when the window has only one host
 */
function halvesOf ({ from, to, hosts }) {
  const names = [...new Set(hosts)]
  if (names.length < 2) {
    const message =
      `${names.join()} has ${GROUPS_MAX} groups or more from ${from} to ${to}, and one answer holds no more`
    throw new CloudflareError(`read the analytics: ${message}; ask for a shorter time`, { kind: 'refused' })
  }
  const middle = names.length >> 1
  return [{ from, to, hosts: names.slice(0, middle) }, { from, to, hosts: names.slice(middle) }]
}

/**
 * @param {import('./client.js').Client} client
 * @param {string} zoneId
 * @param {Window[]} windows
 */
async function readSome (client, zoneId, windows) {
  const nodes = windows.map((_window, index) =>
    `w${index}: httpRequestsAdaptiveGroups(limit: ${GROUPS_MAX}, filter: $f${index}) { count avg { sampleInterval } sum { edgeResponseBytes } dimensions { clientRequestHTTPHost cacheStatus } }`)
  const query = `query Stevec($zoneTag: string, ${
    windows.map((_window, index) => `$f${index}: ZoneHttpRequestsAdaptiveGroupsFilter_InputObject`).join(', ')
  }) { viewer { zones(filter: { zoneTag: $zoneTag }) { ${nodes.join(' ')} } } }`
  const variables = {
    zoneTag: zoneId,
    // Requests of visitors only: requests of Workers and of the CDN itself would count some visits twice.
    ...Object.fromEntries(
      windows.map(({ from, to, hosts }, index) => [
        `f${index}`,
        { datetime_geq: from, datetime_leq: to, clientRequestHTTPHost_in: hosts, requestSource: 'eyeball' }
      ])
    )
  }
  const answer = /** @type {any} */ (
    await client.call('read the analytics', (api, options) =>
      api.post('/graphql', { body: { query, variables }, ...options })
    )
  )
  if (answer.errors?.length > 0) {
    const refused = answer.errors.some((/** @type {any} */ { extensions }) => extensions?.code === 'authz')
    throw new CloudflareError(
      `read the analytics: ${answer.errors.map((/** @type {any} */ { message }) => message).join(', ')}${
        refused ? '; check that the token has Analytics:Read for the zone' : ''
      }`,
      { kind: refused ? 'permission' : 'refused' }
    )
  }
  const zone = answer.data?.viewer?.zones?.[0]
  if (zone === undefined) {
    throw new CloudflareError('read the analytics: the response has no zone; check that the token has Analytics:Read for it', { kind: 'permission' })
  }
  return windows.map((_window, index) => zone[`w${index}`].map((/** @type {any} */ group) => /** @type {Group} */ ({
    host: group.dimensions.clientRequestHTTPHost,
    cache_status: String(group.dimensions.cacheStatus).toUpperCase(),
    requests: group.count,
    edge_response_bytes: group.sum.edgeResponseBytes,
    sample_interval: group.avg.sampleInterval
  })))
}
