import { setTimeout as delay } from 'node:timers/promises'
import { addToxic, removeToxic } from '@stevec/harness/toxiproxy'
import { EDGE_NAMES } from '../stack/edge-names.js'
import { fetchLink, purgeLink } from '../stack/layout.js'

/** @import {Toxic} from '@stevec/harness/toxiproxy' */

/** Date has millisecond resolution. */
const CLOCK_RESOLUTION_US = 1000
const [EDGE] = EDGE_NAMES

/**
 * What each kind of fault cuts. An edge that is parted from its origin gets no purge either.
 * @type {Record<LinkFault['kind'], string[]>}
 */
const LINKS = {
  'edge-parted': [purgeLink(EDGE), fetchLink(EDGE)],
  'purges-lost': [purgeLink(EDGE)]
}

/**
 * Nothing that is sent arrives, and no connection is closed until the link is mended: as if packets were lost. What is
 * already on its way back arrives, so that a request is never answered twice.
 * @type {Toxic}
 */
const SWALLOW = Object.freeze({ name: 'cut', type: 'timeout', stream: 'upstream', attributes: { timeout: 0 } })

/**
 * @typedef {{kind: 'edge-parted' | 'purges-lost', from_s: number, for_s: number}} LinkFault
 */

/**
 * The times of a fault, microseconds since 1970. The links passed everything before `cut_began_at_us` and nothing after
 * `cut_at_us`; they were mended between `mending_began_at_us` and `mended_at_us`.
 * @typedef {object} LinkFaultTimes
 * @property {LinkFault['kind']} kind
 * @property {number} cut_began_at_us
 * @property {number} cut_at_us
 * @property {number} mending_began_at_us
 * @property {number} mended_at_us
 */

/**
 * @param {import('./fault.js').Fault} fault
 * @returns {fault is LinkFault}
 */
export const isLinkFault = (fault) => fault.kind in LINKS

/**
 * Cuts links of the edge, and mends them after the planned time, also after an abort.
 * @param {LinkFault} fault
 * @param {string | null} api  of the links; null: the stack has none
 * @param {AbortSignal} signal
 * @returns {Promise<LinkFaultTimes>}
 * @throws {Error} when the stack has no links, or one cannot be cut or mended
 */
export async function cutLinks ({ kind, for_s: forS }, api, signal) {
  if (api === null) throw new Error(`the fault ${kind} needs a stack with links`)
  const nowUs = () => Date.now() * 1000
  const began = nowUs()
  /** @type {string[]} */
  const cut = []
  let cutAt
  let mendingBegan
  try {
    for (const link of LINKS[kind]) {
      await addToxic(api, link, SWALLOW)
      cut.push(link)
    }
    cutAt = nowUs() + CLOCK_RESOLUTION_US
    await delay(1000 * forS, undefined, { signal })
  } finally {
    mendingBegan = nowUs()
    for (const link of cut) await removeToxic(api, link, SWALLOW.name)
  }
  return {
    kind,
    cut_began_at_us: began,
    cut_at_us: cutAt,
    mending_began_at_us: mendingBegan,
    mended_at_us: nowUs() + CLOCK_RESOLUTION_US
  }
}
