import { createEdge } from '@stevec/cdn/edge'
import { cacheStatusOf } from '../../scenarios/cache-status.js'
import { request } from '@stevec/harness/request'
import { readCounter } from './counter.js'

/** In no plan, so the proof warms no page of a trial. */
export const PROBE_PAGE = 'cold-proof'
export const PROBE_TEXT = 'Read before each trial to prove that the caches are cold.'

/** @typedef {{cold: boolean, observed: string[], origin_requests: number}} ColdProof  `observed`: '' for no status */

/**
 * Empties every cache and proves it at a door: a page that was a HIT just before must be a MISS and reach the origin.
 * If no cache stores pages there, each read must reach the origin. Leaves the counter at 0.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door
 * @param {boolean} options.stores  whether a cache stores pages at this door (see storesPages)
 * @param {Record<string, {url: string, token: string}>} options.controls
 * @param {string} options.wikiUrl
 * @param {() => Promise<void>} [options.emptyOther]  empties a cache without a control listener
 * @returns {Promise<ColdProof>}
 */
export async function purgeAndProveCold ({ door, stores, controls, wikiUrl, emptyOther = async () => {} }) {
  const purge = () => Promise.all([
    emptyOther(),
    ...Object.values(controls).map((control) => createEdge(control).purgeEverything())
  ])
  const read = async () => {
    const { headers } = await request(`${door.url}/wiki/${PROBE_PAGE}`)
    return cacheStatusOf((name) => headers[name]?.toString())
  }
  await purge()
  await readCounter(wikiUrl)
  const observed = [await read(), await read()]
  await purge()
  observed.push(await read())
  const { requests } = await readCounter(wikiUrl)
  const cold = stores
    ? observed.join() === 'MISS,HIT,MISS' && requests === 2
    : observed.every((status) => status === '' || status === 'BYPASS') && requests === 3
  return { cold, observed, origin_requests: requests }
}
