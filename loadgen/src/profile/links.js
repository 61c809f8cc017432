/** @typedef {import('@stevec/harness/toxiproxy').Toxic} Toxic */

/** @typedef {'client-edge' | 'client-origin' | 'client-local' | 'local-origin' | 'edge-origin'} LinkName */

/**
 * Translates a profile to toxics for each link. Each direction has half of the round trip; toxiproxy counts whole
 * milliseconds, so the way back takes the rounding error. A new connection waits one more round trip (RFC 9293 §3.5).
 * The client's own time is on the links that the client opens, not on the link from its caching proxy to the origin.
 * @param {import('./profile.js').ProfileFile} profile
 * @returns {Record<LinkName, Toxic[]>} in the order in which bytes pass them
 */
export function toxicsOf ({ origin, links, client }) {
  const ofOrigin = { delayMs: origin.delay_ms, uplinkMbitPerS: links.uplink_mbit_per_s }
  return {
    'client-edge': toxics({ rttMs: links.client_edge_rtt_ms, overheadMs: client.overhead_ms }),
    'client-origin': toxics({ rttMs: links.client_origin_rtt_ms, overheadMs: client.overhead_ms, ...ofOrigin }),
    'client-local': toxics({ rttMs: 0, overheadMs: client.overhead_ms }),
    'local-origin': toxics({ rttMs: links.client_origin_rtt_ms, ...ofOrigin }),
    'edge-origin': toxics({ rttMs: links.edge_origin_rtt_ms, ...ofOrigin })
  }
}

/**
 * @param {{rttMs: number, overheadMs?: number, delayMs?: number, uplinkMbitPerS?: number | null}} link
 * @returns {Toxic[]}
 */
function toxics ({ rttMs, overheadMs = 0, delayMs = 0, uplinkMbitPerS = null }) {
  const there = Math.round(rttMs / 2 + overheadMs)
  const back = Math.round(rttMs + overheadMs + delayMs) - there
  /** @type {Toxic[]} */
  const found = []
  if (rttMs > 0) found.push({ name: 'handshake', type: 'handshake', stream: 'upstream', attributes: { delay: rttMs } })
  if (there > 0) found.push({ name: 'there', type: 'latency', stream: 'upstream', attributes: { latency: there } })
  if (uplinkMbitPerS !== null) {
    found.push({
      name: 'uplink',
      type: 'uplink',
      stream: 'downstream',
      attributes: { name: 'origin', rate: Math.round(uplinkMbitPerS * 1e6 / 8) }
    })
  }
  if (back > 0) found.push({ name: 'back', type: 'latency', stream: 'downstream', attributes: { latency: back } })
  return found
}
