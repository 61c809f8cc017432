/** @typedef {import('@stevec/harness/toxiproxy').Toxic} Toxic */

/** @typedef {'client-edge' | 'client-origin' | 'client-local' | 'local-origin' | 'edge-origin'} LinkName */

/**
 * Translates a profile to toxics for each link. Each direction has half of the round trip; toxiproxy counts whole
 * milliseconds, so the way back takes the rounding error. A new connection waits one more round trip (RFC 9293 §3.5).
 * The client's own time is on the links that the client opens, not on the link from its caching proxy to the origin.
 * Uplinks: each host sends at one rate, shared by all its connections. The client's proxy stands on the client's host.
 * @param {import('./profile.js').ProfileFile} profile
 * @returns {Record<LinkName, Toxic[]>} in the order in which bytes pass them
 */
export function toxicsOf ({ origin, links, client }) {
  const ofOrigin = { delayMs: origin.delay_ms, originMbitPerS: links.origin_uplink_mbit_per_s }
  const ofClient = { clientMbitPerS: links.client_uplink_mbit_per_s }
  const overheadMs = client.overhead_ms
  return {
    'client-edge': toxics({ rttMs: links.client_edge_rtt_ms, overheadMs, ...ofClient }),
    'client-origin': toxics({ rttMs: links.client_origin_rtt_ms, overheadMs, ...ofOrigin, ...ofClient }),
    'client-local': toxics({ rttMs: 0, overheadMs }),
    'local-origin': toxics({ rttMs: links.client_origin_rtt_ms, ...ofOrigin, ...ofClient }),
    'edge-origin': toxics({ rttMs: links.edge_origin_rtt_ms, ...ofOrigin })
  }
}

/**
 * @param {{rttMs: number, overheadMs?: number, delayMs?: number, originMbitPerS?: number | null,
 *   clientMbitPerS?: number | null}} link
 * @returns {Toxic[]}
 */
function toxics ({ rttMs, overheadMs = 0, delayMs = 0, originMbitPerS = null, clientMbitPerS = null }) {
  const there = Math.round(rttMs / 2 + overheadMs)
  const back = Math.round(rttMs + overheadMs + delayMs) - there
  /** @type {Toxic[]} */
  const found = []
  if (rttMs > 0) found.push({ name: 'handshake', type: 'handshake', stream: 'upstream', attributes: { delay: rttMs } })
  if (clientMbitPerS !== null) found.push(uplink('client', 'upstream', clientMbitPerS))
  if (there > 0) found.push({ name: 'there', type: 'latency', stream: 'upstream', attributes: { latency: there } })
  if (originMbitPerS !== null) found.push(uplink('origin', 'downstream', originMbitPerS))
  if (back > 0) found.push({ name: 'back', type: 'latency', stream: 'downstream', attributes: { latency: back } })
  return found
}

/**
 * @param {'client' | 'origin'} host  that sends
 * @param {Toxic['stream']} stream
 * @param {number} mbitPerS
 * @returns {Toxic}
 */
const uplink = (host, stream, mbitPerS) => ({
  name: `${host}-uplink`,
  type: 'uplink',
  stream,
  attributes: { name: host, rate: Math.round(mbitPerS * 1e6 / 8) }
})
