import createError from '@fastify/error'
import { LRUCache } from 'lru-cache'
import { retryAfter } from '../http/retry-after.js'
import { createLimit } from '../process/limit.js'
import { createDiagrams } from '../markdown/draw-diagrams.js'
import { createPool } from '../threads/pool.js'

/** @import {History, RevisionItem} from './history.js' */
/** @import {Difference} from './difference.js' */
/** @import {Diagrams} from '../markdown/draw-diagrams.js' */

const Busy = createError('WIKI_PAST_BUSY', 'Many readers look at old texts just now. Try again in a moment.', 503)
const TooCostly = createError('WIKI_PAST_TOO_COSTLY', 'This text is too long or too complicated to be shown here. ' +
  'The Markdown of each revision is at /api/v1/pages/{name}/revisions/{number}.', 422)

/** The texts of the next task are read meanwhile. */
const RUNNING_MAX = 2
/** No reader waits longer. */
const WAITING_MAX = 16
const CACHE_MAX_BYTES = 16 * 1_048_576
/** A short Buffer may keep 8 KiB of Node's pool. */
const ENTRY_BYTES = 8_192
const LINE_BYTES = 128
/** A quieter machine or a newer renderer may manage it. */
const REFUSED_TTL_MS = 600_000
const POOL = {
  filename: new URL('old-revisions-work.js', import.meta.url).href,
  // Most readers never open an old revision.
  threads: { min: 0, max: 1 },
  // On a quarter of a core, page views wait for more than a second while it starts.
  idleMs: 600_000,
  cpuMaxMs: 5_000,
  wallMaxMs: 60_000,
  waitingMax: RUNNING_MAX
}

/**
 * The thread serves only readers. Results are never in the database (docs/decisions/0019).
 * @typedef {{run: (task: any, options?: {bytes?: number}) => Promise<any>, close: () => Promise<void>}} Pool
 * @typedef {Pick<import('../pages/store.js').PageStore, 'findUnmarkedHtml'>} Store
 * @param {{history: History, store: Store, htmlMaxBytes: number, pool?: Pool, diagrams?: Diagrams}} options
 */
export function createOldRevisions ({
  history, store, htmlMaxBytes, pool = createPool(POOL), diagrams = createDiagrams()
}) {
  /** @type {LRUCache<string, Buffer | Difference | Refusal, () => Promise<Buffer | Difference>>} */
  const cache = new LRUCache({
    maxSize: CACHE_MAX_BYTES,
    sizeCalculation: (value) => ENTRY_BYTES + sizeOf(value),
    ttlAutopurge: false,
    // Waiting requests get the result even of an evicted entry.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { options, context: work }) => work().catch((error) => {
      if (error.statusCode !== 422) throw error
      options.ttl = REFUSED_TTL_MS
      return new Refusal()
    })
  })
  const limit = createLimit(RUNNING_MAX)

  /**
   * @template {Buffer | Difference} T @param {string} key  of a result that cannot change
   * @param {() => Promise<T>} work
   */
  async function once (key, work) {
    const value = await cache.fetch(key, { context: () => withSlot(work) })
    if (value instanceof Refusal) throw new TooCostly()
    return /** @type {T} */ (value)
  }

  /** @template T @param {() => Promise<T>} work */
  async function withSlot (work) {
    if (limit.waiting() >= WAITING_MAX) {
      throw retryAfter(new Busy())
    }
    return limit.run(work)
  }

  /** @param {string | Uint8Array} before @param {string | Uint8Array} after @returns {Promise<Difference>} */
  const compare = (before, after) => pool.run({ before, after }, { bytes: before.length + after.length })

  return {
    /**
     * Without marks of missing links, so it never changes.
     * @param {RevisionItem} revision @returns {Promise<Buffer>}
     * @throws {Error} 422 when it is too costly, 503 when the queue is full
     */
    html: ({ _id: id, page, revision }) => once(`html ${id}`, async () => {
      const newest = await store.findUnmarkedHtml(page, revision)
      if (newest !== null) return newest
      const markdown = await history.textAsBson(id)
      const { html } = await diagrams.drawn((drawings) =>
        pool.run({ markdown, htmlMaxBytes, drawings }, { bytes: markdown.length }))
      if (html === null) throw new TooCostly()
      return Buffer.from(html.buffer, 0, html.length)
    }),

    /** @param {RevisionItem} before @param {RevisionItem} after @throws {Error} as `html` */
    difference: ({ _id: from }, { _id: to }) => once(`difference ${from} ${to}`, async () => {
      const [before, after] = await Promise.all([history.textAsBson(from), history.textAsBson(to)])
      return compare(before, after)
    }),

    /**
     * @param {RevisionItem[]} versions  of one page, the oldest first, none erased
     * @returns {Promise<import('./authorship.js').Run[][]>} of each line of the last one @throws {Error} as `html`
     */
    async authorship (versions) {
      const [{ _id: first }, { _id: last }] = [versions[0], versions[versions.length - 1]]
      const json = await once(`authorship ${first} ${last}`, async () => {
        const texts = await Promise.all(versions.map(({ _id: id }) => history.textAsBson(id)))
        const bytes = texts.reduce((sum, { length }) => sum + length, 0)
        return Buffer.from(await pool.run({
          versions: versions.map(({ revision }, index) => ({ revision, text: texts[index] }))
        }, { bytes }))
      })
      return JSON.parse(json.toString())
    },

    /** @param {string} before @param {string} after @throws {Error} as `html` */
    compare: (before, after) => withSlot(() => compare(before, after)),

    /** Nothing of what is worked out stays in this process. */
    forget: () => cache.clear(),

    async close () {
      await Promise.all([pool.close(), diagrams.close()])
    }
  }
}

/** @typedef {ReturnType<typeof createOldRevisions>} OldRevisions */

/** Cached, so that requests do not retry it soon. */
class Refusal {}

/** @param {Buffer | Difference | Refusal} value */
function sizeOf (value) {
  if (value instanceof Refusal) return 0
  if (Buffer.isBuffer(value)) return value.length
  return value.lines.reduce((sum, line) => sum + LINE_BYTES + ('text' in line ? bytesOf(line) : 0), 0)
}

/** The words are the text again. @param {{text: string, words?: unknown[]}} line */
const bytesOf = ({ text, words }) =>
  words === undefined ? 2 * text.length : 4 * text.length + LINE_BYTES * words.length
