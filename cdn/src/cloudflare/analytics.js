import { CloudflareError } from './error.js'

/** Of one query. https://developers.cloudflare.com/analytics/graphql-api/limits/ */
const WINDOWS_PER_QUERY = 10
/** Groups of one window: hosts × cache statuses. */
const GROUPS_MAX = 100

/**
 * @typedef {{from: string, to: string, hosts: string[]}} Window  ISO 8601, both ends included
 * @typedef {{host: string, cache_status: string, requests: number, edge_response_bytes: number, sample_interval: number}} Group
 *   requests and bytes are estimates where sample_interval is not 1
 */

/**
 * Requests and bytes by host and cache status, as Cloudflare has counted them, for each window.
 * @param {import('./client.js').Client} client
 * @param {string} zoneId
 * @param {Window[]} windows
 * @returns {Promise<Group[][]>} in the order of the windows
 * @throws {CloudflareError} also when one host has more groups than an answer holds
 */
export async function readAnalytics (client, zoneId, windows) {
  /** @type {Group[][]} */
  const results = []
  for (let start = 0; start < windows.length; start += WINDOWS_PER_QUERY) {
    results.push(...await readSome(client, zoneId, windows.slice(start, start + WINDOWS_PER_QUERY)))
  }
  // Cloudflare leaves out what is beyond the limit, and does not say so.
  const full = [...results.keys()].filter((index) => results[index].length >= GROUPS_MAX)
  if (full.length === 0) return results
  const parts = await readAnalytics(client, zoneId, full.flatMap((index) => halvesOf(windows[index])))
  for (const [position, index] of full.entries()) results[index] = parts.slice(2 * position, 2 * position + 2).flat()
  return results
}

/**
 * @param {Window} window
 * @returns {[Window, Window]} with half of its hosts each
 * @throws {CloudflareError} when it has one host
 */
function halvesOf ({ from, to, hosts }) {
  const names = [...new Set(hosts)]
  if (names.length < 2) {
    const message = `${names.join()} has ${GROUPS_MAX} groups or more from ${from} to ${to}, and one answer holds no more`
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
  const nodes = windows.map((_window, index) => `w${index}: httpRequestsAdaptiveGroups(limit: ${GROUPS_MAX}, filter: $f${index}) { count avg { sampleInterval } sum { edgeResponseBytes } dimensions { clientRequestHTTPHost cacheStatus } }`)
  const query = `query Stevec($zoneTag: string, ${windows.map((_window, index) => `$f${index}: ZoneHttpRequestsAdaptiveGroupsFilter_InputObject`).join(', ')}) { viewer { zones(filter: { zoneTag: $zoneTag }) { ${nodes.join(' ')} } } }`
  const variables = {
    zoneTag: zoneId,
    // Requests of visitors: Workers' and the CDN's own would count some twice.
    ...Object.fromEntries(windows.map(({ from, to, hosts }, index) => [`f${index}`, { datetime_geq: from, datetime_leq: to, clientRequestHTTPHost_in: hosts, requestSource: 'eyeball' }]))
  }
  const answer = /** @type {any} */ (await client.call('read the analytics', (api, options) => api.post('/graphql', { body: { query, variables }, ...options })))
  if (answer.errors?.length > 0) {
    const refused = answer.errors.some((/** @type {any} */ { extensions }) => extensions?.code === 'authz')
    throw new CloudflareError(`read the analytics: ${answer.errors.map((/** @type {any} */ { message }) => message).join(', ')}${refused ? '; has the token Analytics:Read for the zone?' : ''}`, { kind: refused ? 'permission' : 'refused' })
  }
  const zone = answer.data?.viewer?.zones?.[0]
  if (zone === undefined) throw new CloudflareError('read the analytics: the answer has no zone; has the token Analytics:Read for it?', { kind: 'permission' })
  return windows.map((_window, index) => zone[`w${index}`].map((/** @type {any} */ group) => /** @type {Group} */ ({
    host: group.dimensions.clientRequestHTTPHost,
    cache_status: String(group.dimensions.cacheStatus).toUpperCase(),
    requests: group.count,
    edge_response_bytes: group.sum.edgeResponseBytes,
    sample_interval: group.avg.sampleInterval
  })))
}
