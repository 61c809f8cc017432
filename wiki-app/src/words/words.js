import { retryAfter } from '../http/retry-after.js'
import { NoIndex, reasonOf, SearchTooLong, SearchUnavailable, TooLong } from './errors.js'
import { lockIn } from './file.js'
import { openFolder } from './folder.js'
import { isLocked } from './lock.js'
import { createReaders } from './readers.js'
import { NoSqlite } from './sqlite.js'
import { corrected, matchOf, queryOf } from './terms.js'
import { createWriter } from './writer.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Connection} from 'mongoose' */
/** @import {Folder} from './folder.js' */
/** @import {Readers} from './readers.js' */
/** @import {Language} from '../site/languages.js' */
/** @import {Writer} from './writer.js' */

/** Less than so is no delay that a reader would notice. */
const BEHIND_MIN_MS = 1_000

/**
 * `building`: not every page is found yet; `behindMs`: the age of the oldest change that is not found yet, 0 for none
 * and below a second; `problem`: why nothing is found, or nothing new
 * @typedef {{building: boolean, behindMs: number, problem: string | null}} Freshness
 */

/**
 * `suggestion`: the query, with words of the index in place of those that it does not have; null: none.
 * @typedef {Omit<import('./readers.js').Hits, 'corrections'> & {suggestion: string | null}} Found
 */

/** No writer: another process writes. @typedef {{folder: Folder, readers: Readers, writer: Writer | null}} Parts */

/**
 * The words of all pages, in an index of this machine that follows the database.
 * @param {object} options
 * @param {Connection} options.connection
 * @param {string} options.collection  of pages
 * @param {string} [options.directory]  SEARCH_DIRECTORY
 * @param {{number: number, primary: number}} [options.worker]  one of several processes with the same folder
 * @param {Language} options.language  of most texts: words with other endings are found, too
 * @param {FastifyBaseLogger} options.log
 */
export function createWords ({ connection, collection, directory, worker, language, log }) {
  const writes = worker === undefined || worker.number === 1
  /** @type {Parts | null} */
  let parts = null
  let problem = 'the wiki has not started yet'
  /** @type {Freshness} */
  let known = { building: true, behindMs: 0, problem: null }

  /** @returns {Promise<Freshness>} */
  async function freshness () {
    known = parts === null ? { building: false, behindMs: 0, problem } : await freshnessOf(parts)
    return known
  }

  return {
    open () {
      try {
        const folder = openFolder(directory, { sharedBy: worker?.primary })
        const writer = writes ? createWriter({ connection, collection, folder, log }) : null
        parts = { folder, readers: createReaders(folder.path, language), writer }
        writer?.open()
      } catch (error) {
        problem = reasonOf(error)
        log.warn(`texts cannot be searched: ${/** @type {Error} */ (error).message}`)
      }
    },

    async close () {
      const closing = parts
      if (closing === null) return
      parts = null
      problem = 'the wiki ends'
      await closing.writer?.close()
      closing.readers.close()
      closing.folder.remove()
    },

    freshness,

    /** As it was known last, at once. Each call looks, so the next one knows. */
    known () {
      freshness()
      return known
    },

    /** Pages indexed by this process. */
    indexed: () => parts?.writer?.state().indexed ?? 0,

    /**
     * @param {{q: string, skip: number, limit: number, maxMs: number}} query  see queryOf
     * @returns {Promise<Found>} the best first; of too many hits, some
     * @throws {Error} 503 when it takes too long, and when there is no index
     */
    async search ({ q, skip, limit, maxMs }) {
      if (parts === null) throw new SearchUnavailable(problem)
      const query = queryOf(q)
      if (matchOf(query) === null) return { names: [], forms: [], suggestion: null, more: false, ranked: true }
      try {
        const { corrections, ...hits } = await parts.readers.search(query, { skip, limit, maxMs })
        return { ...hits, suggestion: corrected(q, corrections) }
      } catch (error) {
        throw await answerTo(/** @type {Error} */ (error))
      }
    }
  }

  /** @param {Error} error */
  async function answerTo (error) {
    if (error instanceof TooLong) return retryAfter(new SearchTooLong())
    if (error instanceof NoSqlite) return new SearchUnavailable(reasonOf(error))
    if (!(error instanceof NoIndex)) log.error(error)
    return retryAfter(new SearchUnavailable((await freshness()).problem ?? reasonOf(error)))
  }
}

/** @typedef {ReturnType<typeof createWords>} Words */

/** @param {Parts} parts @returns {Promise<Freshness>} */
async function freshnessOf ({ folder, readers, writer }) {
  const own = writer?.state()
  const reason = own?.failure ? reasonOf(own.failure) : null
  try {
    const { building, pending_since_ms: pending, failing_since_ms: failing } = await readers.state()
    const sinceMs = Math.min(pending ?? Infinity, failing ?? Infinity, own?.behindSinceMs ?? Infinity)
    const ms = sinceMs === Infinity ? 0 : Date.now() - sinceMs
    const isAlone = writer === null && !await isLocked(lockIn(folder.path))
    return {
      building: building !== 0,
      behindMs: ms < BEHIND_MIN_MS ? 0 : ms,
      problem: reason ?? (isAlone ? 'the process that indexes words is being started again' : null)
    }
  } catch (error) {
    const isMissing = error instanceof NoIndex
    return { building: isMissing, behindMs: 0, problem: reason ?? (isMissing ? null : reasonOf(error)) }
  }
}
