import { bringUpToDate } from './source.js'

/** @import {Index} from './file.js' */
/** @import {Source} from './source.js' */

const PAGES_AT_ONCE = 500
/** Of the index, for the same names: more only where many pages are gone. */
const NAMES_AT_ONCE = 2_000

/**
 * Compares all pages with the index, in the order of their names, and reads the texts of those that differ: builds an
 * index, and mends one after changes that nobody has seen. It goes on after a restart where it was.
 * @param {Index} index @param {Source} source
 * @param {{exclusive: <T>(work: () => Promise<T>) => Promise<T>, signal: AbortSignal}} options  `exclusive`: nothing
 *   else changes the index meanwhile, so that no older text follows a newer one
 * @returns {Promise<number>} how many pages were indexed
 */
export async function sweep (index, source, { exclusive, signal }) {
  let indexed = 0
  for (let done = false; !done && !signal.aborted;) {
    await exclusive(async () => {
      const { swept, building, cluster_time: clusterTime } = await index.state()
      if (building === 0) {
        done = true
        return
      }
      const part = await nextPart(index, source, swept, clusterTime)
      const state = part.upTo === null ? { building: 0, swept: '' } : { swept: part.upTo }
      indexed += await bringUpToDate(index, source, { ...part, clusterTime, state })
    })
  }
  return indexed
}

/** @param {Index} index @param {Source} source @param {string} after @param {string} clusterTime */
async function nextPart (index, source, after, clusterTime) {
  const read = await source.headsAfter(after, PAGES_AT_ONCE, clusterTime)
  const lastRead = read.length < PAGES_AT_ONCE ? null : read[read.length - 1]._id
  const stored = await index.revisionsBetween(after, lastRead, NAMES_AT_ONCE)
  const upTo = stored.size < NAMES_AT_ONCE ? lastRead : /** @type {string} */ ([...stored.keys()].at(-1))
  const heads = upTo === lastRead ? read : read.filter(({ _id }) => inBytes(_id, upTo) <= 0)
  const there = new Set(heads.map(({ _id }) => _id))
  return { upTo, heads, stored, gone: [...stored.keys()].filter((name) => !there.has(name)) }
}

/** As the database and SQLite compare. @param {string} a @param {string | null} b */
const inBytes = (a, b) => b === null ? -1 : Buffer.compare(Buffer.from(a), Buffer.from(b))
