/**
 * @param {import('./profile.js').Profile} profile
 * @returns {string[]} lines for people
 */
export function profileLines ({ asked, applied, missing, calibration }) {
  const { origin, links, client } = asked
  const parts = [
    applied.cpu && `${(100 * Number(origin.cpu_share)).toFixed(1)} % of a core`,
    applied.memory && `${Math.round(Number(origin.memory_bytes) / 1024 ** 2)} MiB`,
    applied.links && `round trips ${links.client_edge_rtt_ms}/${links.client_origin_rtt_ms}/${links.edge_origin_rtt_ms} ms (client–edge, client–origin, edge–origin)`,
    applied.links && links.origin_uplink_mbit_per_s !== null &&
      `${links.origin_uplink_mbit_per_s} Mb/s out of the origin`,
    applied.links && links.client_uplink_mbit_per_s !== null &&
      `${links.client_uplink_mbit_per_s} Mb/s out of the client`,
    applied.links && origin.delay_ms > 0 && `${origin.delay_ms} ms at the origin`,
    applied.links && client.overhead_ms > 0 && `${client.overhead_ms} ms at the client`,
    client.pause_s !== undefined && `${client.pause_s} s between requests, where the experiment states no pause`
  ].filter(Boolean)
  return [
    `profile ${asked.name}: ${asked.title}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`,
    ...(calibration ? [`calibrated on ${calibration.experiment}, ${calibration.run}`] : []),
    ...missing.map((sentence) => `limitation: ${sentence}`)
  ]
}
