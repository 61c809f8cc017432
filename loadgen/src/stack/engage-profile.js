import { replaceToxics } from '@stevec/harness/toxiproxy'
import { setCpuShare } from '@stevec/harness/cgroup'
import { toxicsOf } from '../profile/links.js'
import { EDGE_NAMES } from './edge-names.js'
import { setWikiShares } from './wiki-limits.js'

/**
 * What a profile needs of a stack.
 * @typedef {Pick<import('./state.js').StackState, 'profile' | 'limits' | 'wiki_limits' | 'links_api' | 'controls'> &
 *   {cache?: import('./state.js').StackState['cache']}} Stack
 */

/**
 * Puts CPU share and links in force. Writing pages and warming up come before, at full speed.
 * @param {Stack} stack
 * @param {number} [originDelayMs]  extra delay of every response of the origin
 */
export async function engageProfile (stack, originDelayMs = 0) {
  const { profile: { asked }, limits, links_api: api, cache, controls } = stack
  setWikiShares(stack, true)
  setCpuShare(limits, asked.origin.cpu_share)
  if (api === null) {
    if (originDelayMs > 0) throw new Error('a stack without links cannot delay the responses of its origin')
    return
  }
  const toxics = toxicsOf({
    ...asked,
    origin: { ...asked.origin, delay_ms: asked.origin.delay_ms + originDelayMs }
  })
  const ofEdges = Object.fromEntries(EDGE_NAMES.filter((name) => name in controls).flatMap((name) =>
    [[`client-${name}`, toxics['client-edge']], [`${name}-origin`, toxics['edge-origin']]]))
  // A cache in the edge's place is as far away as the edge.
  await replaceToxics(api, cache
    ? { ...toxics, 'client-cache': toxics['client-edge'], 'cache-origin': toxics['edge-origin'] }
    : { ...toxics, ...ofEdges })
}

/**
 * Lifts CPU share and links; memory stays limited.
 * @param {Stack} stack
 */
export async function disengageProfile (stack) {
  const { limits, links_api: api } = stack
  setWikiShares(stack, false)
  setCpuShare(limits, null)
  if (api !== null) await replaceToxics(api, {})
}
