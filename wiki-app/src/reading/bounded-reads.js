/** @import {IncomingHttpHeaders} from 'node:http' */
/** @import {PurgeLogWatch} from '../purge-log/watch.js' */
/** @import {CachingOf, View} from './view.js' */

/** Of a request: the position in the purge log that the answer has to cover. */
const AFTER = 'purge-log-after'
/** Of a request: the client has seen this revision, so the newest one is read. */
const REVISION_MIN = 'page-revision-min'
/** Of a response: the position that it covers. */
const POSITION = 'purge-log-position'
const IS_POSITION = /^[0-9a-f]{16}$/

/**
 * @typedef {(name: string, headers: IncomingHttpHeaders, caching?: CachingOf) => Promise<View | null>} LookUp
 * @typedef {{read: (name: string, caching?: CachingOf) => Promise<View | null>, lookUp: LookUp}} Reads
 */

/**
 * Reads that show nothing older than half the bound (caches have the other half), and say which part of the purge log
 * they cover. Before a read the process makes sure that it, and the server that it reads from, have not been cut off
 * since: see purge-log/watch.js. They reject with a 503 when that cannot be known.
 * @param {Reads} reads
 * @param {{watch: Pick<PurgeLogWatch, 'current' | 'certify'>, boundMs: number, cachingOf: CachingOf}} parts
 */
export function createBoundedReads (reads, { watch, boundMs, cachingOf }) {
  /** @param {number} ageMaxMs @param {string} [after] @returns {Promise<CachingOf>} */
  async function certified (ageMaxMs, after) {
    const { position } = watch.current(ageMaxMs, after) ?? await watch.certify(ageMaxMs, after)
    return (page) => [...cachingOf(page), POSITION, position]
  }

  /** @param {string} name @param {IncomingHttpHeaders} headers */
  async function lookUp (name, headers) {
    const after = headers[AFTER]
    const isOne = typeof after === 'string' && IS_POSITION.test(after)
    const ageMaxMs = headers[REVISION_MIN] === undefined ? boundMs / 2 : 0
    return reads.lookUp(name, headers, await certified(ageMaxMs, isOne ? after : undefined))
  }

  return {
    /** @param {string} name */
    read: async (name) => reads.read(name, await certified(boundMs / 2)),
    lookUp,
    cachedOrRead: lookUp
  }
}
