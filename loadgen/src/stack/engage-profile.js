import { replaceToxics } from '@stevec/harness/toxiproxy'
import { setCpuShare } from '@stevec/harness/cgroup'
import { toxicsOf } from '../profile/links.js'

/** A stack as far as a profile is concerned. @typedef {Pick<import('./state.js').StackState, 'profile' | 'limits' | 'links_api'> & {cache?: import('./state.js').StackState['cache']}} Stack */

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
