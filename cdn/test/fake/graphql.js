import { refusal } from './refusal.js'

/** https://developers.cloudflare.com/analytics/graphql-api/ */
const NODES_MAX = 30

/**
 * Answers the only query that we send: groups by host and cache status, one named node for each time window.
 * @param {any} body
 * @param {object} around
 * @param {any[]} around.zones
 * @param {{zone: string, host: string, at: string, cacheStatus: string, bytes: number}[]} around.traffic
 * @param {number} around.sampleInterval
 */
export function answerAnalytics (body, { zones, traffic, sampleInterval }) {
  const { query, variables } = body ?? {}
  if (typeof query !== 'string' || !/zones\s*\(\s*filter:\s*\{\s*zoneTag:\s*\$zoneTag\s*\}\s*\)/.test(query)) {
    throw refusal(400, 1000, 'the query must name a zone')
  }
  const zone = zones.find(({ id }) => id === variables.zoneTag)
  if (zone === undefined) {
    return { data: null, errors: [{ message: 'zone does not exist or the token may not read its analytics', path: ['viewer', 'zones', '0'], extensions: { code: 'authz' } }] }
  }
  const nodes = [
    ...query.matchAll(/(\w+):\s*httpRequestsAdaptiveGroups\s*\(\s*limit:\s*(\d+)\s*,\s*filter:\s*\$(\w+)\s*\)/g)
  ]
  if (nodes.length === 0 || nodes.length > NODES_MAX) {
    return { data: null, errors: [{ message: `a query takes 1 to ${NODES_MAX} nodes`, path: null, extensions: { code: 'validation' } }] }
  }
  for (const field of [
    'count',
    'avg { sampleInterval }',
    'sum { edgeResponseBytes }',
    'dimensions { clientRequestHTTPHost cacheStatus }'
  ]) {
    if (!query.includes(field)) {
      return { data: null, errors: [{ message: `this fake answers queries for ${field}`, path: null, extensions: { code: 'validation' } }] }
    }
  }
  const answer = Object.fromEntries(nodes.map(([, name, limit, filterName]) => {
    const filter = variables[filterName]
    const unknown = Object.keys(filter).find(
      (key) => !['datetime_geq', 'datetime_leq', 'clientRequestHTTPHost_in', 'requestSource'].includes(key)
    )
    if (unknown) throw refusal(400, 1001, `unknown arg ${unknown}`)
    /** @type {Map<string, any>} */
    const groups = new Map()
    for (const { host, cacheStatus, bytes } of traffic.filter(
      (request) =>
        request.zone === zone.id &&
        request.at >= filter.datetime_geq &&
        request.at <= filter.datetime_leq &&
        filter.clientRequestHTTPHost_in.includes(request.host)
    )) {
      const key = `${host} ${cacheStatus}`
      const group = groups.get(key) ?? {
        count: 0,
        avg: { sampleInterval },
        sum: { edgeResponseBytes: 0 },
        dimensions: { clientRequestHTTPHost: host, cacheStatus }
      }
      group.count += 1
      group.sum.edgeResponseBytes += bytes
      groups.set(key, group)
    }
    // As Cloudflare does: groups beyond the limit are dropped silently.
    return [name, [...groups.values()].slice(0, Number(limit))]
  }))
  return { data: { viewer: { zones: [answer] } }, errors: null }
}
