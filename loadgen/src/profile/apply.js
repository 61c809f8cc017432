import { replaceToxics } from '../stack/toxiproxy.js'
import { setCpuShare } from './cgroup.js'
import { toxicsOf } from './links.js'

/** A stack as far as a profile is concerned. @typedef {Pick<import('../stack/state.js').StackState, 'profile' | 'limits' | 'links_api'> & {cache?: import('../stack/state.js').StackState['cache']}} Stack */

/**
 * Puts CPU share and links in force. What prepares a measurement (writing pages, warming up) is done before, at full speed.
 * @param {Stack} stack
 * @param {number} [originDelayMs]  by which every answer of the origin is late besides
 */
export async function engageProfile ({ profile: { asked }, limits, links_api: api, cache }, originDelayMs = 0) {
  setCpuShare(limits, asked.origin.cpu_share)
  const toxics = toxicsOf({ ...asked, origin: { ...asked.origin, delay_ms: asked.origin.delay_ms + originDelayMs } })
  // Another cache in the edge's place is as far away as that.
  await replaceToxics(api, cache ? { ...toxics, 'client-cache': toxics['client-edge'], 'cache-origin': toxics['edge-origin'] } : toxics)
}

/**
 * Takes CPU share and links off again; memory stays limited.
 * @param {Stack} stack
 */
export async function disengageProfile ({ limits, links_api: api }) {
  setCpuShare(limits, null)
  await replaceToxics(api, {})
}

/**
 * @param {import('./profile.js').Profile} profile
 * @returns {string[]} one line each, for people
 */
export function profileLines ({ asked, applied, missing, calibration }) {
  const { origin, links, client } = asked
  const parts = [
    applied.cpu && `${(100 * Number(origin.cpu_share)).toFixed(1)} % of a core`,
    applied.memory && `${Math.round(Number(origin.memory_bytes) / 1024 ** 2)} MiB`,
    applied.links && `round trips ${links.client_edge_rtt_ms}/${links.client_origin_rtt_ms}/${links.edge_origin_rtt_ms} ms (client–edge, client–origin, edge–origin)`,
    applied.links && links.uplink_mbit_per_s !== null && `${links.uplink_mbit_per_s} Mb/s out of the origin`,
    applied.links && origin.delay_ms > 0 && `${origin.delay_ms} ms at the origin`,
    applied.links && client.overhead_ms > 0 && `${client.overhead_ms} ms at the client`
  ].filter(Boolean)
  return [
    `profile ${asked.name}: ${asked.title}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`,
    ...(calibration ? [`calibrated on ${calibration.experiment}, ${calibration.run}`] : []),
    ...missing.map((sentence) => `not as it should be: ${sentence}`)
  ]
}
