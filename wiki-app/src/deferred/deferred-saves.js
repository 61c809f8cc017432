import { performance } from 'node:perf_hooks'
import { API_PREFIX } from '../views.js'
import { randomSaveId } from './save.js'

/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Condition} from '../writing/change.js' */
/** @import {Keep} from './keep.js' */
/** @import {Representation} from './save.js' */
/** @import {Strategy} from './strategy.js' */

/** Closing may take 10 s (STOP_MAX_MS of server.js): so the log says what is lost. */
const CLOSE_WITHIN_MS = 9_000

/**
 * Saves that are answered before they are stored, as an unsafe WRITE_STRATEGY has it (docs/saving.md).
 * @param {object} parts
 * @param {string} parts.name  of the strategy
 * @param {Strategy} parts.strategy
 * @param {boolean} parts.isShared  all processes of the wiki have one buffer, and it outlives them and the database
 * @param {Keep} parts.keep
 * @param {Pick<PageStore, 'prepare'>} parts.store
 * @param {number} parts.rendererVersion
 */
export function createDeferredSaves ({ name: strategyName, strategy, isShared, keep, store, rendererVersion }) {
  let closesAtMs = Infinity

  function hurry () {
    if (closesAtMs === Infinity) closesAtMs = performance.now() + CLOSE_WITHIN_MS
    strategy.hurry()
  }

  return {
    strategy: strategyName,
    isShared,
    waiting: strategy.waiting,
    batches: strategy.batches,
    counts: keep.counts,
    settledAt: keep.settledAt,
    links: strategy.links,
    isWaiting: strategy.isWaiting,

    /**
     * @param {string} name
     * @param {{content: string, tags?: string[]}} text
     * @param {{attribution: Attribution, condition: Condition, representation: Representation}} edit
     * @returns {Promise<Accepted>} acknowledged, not stored
     * @throws {Error} as `store.prepare`; 503 when the buffer is full
     */
    async save (name, text, edit) {
      strategy.refuseWhenFull(Buffer.byteLength(text.content))
      const { change, rendered } = await store.prepare(text)
      const id = randomSaveId()
      await strategy.add({ ...edit, id, name, change, rendered, renderer: rendererVersion })
      return { id, url: saveUrl(id, name), name, status: 'pending', revision: null, problem: null }
    },

    open: strategy.open,
    hurry,

    async close () {
      hurry()
      await strategy.close(Math.max(0, closesAtMs - performance.now()))
    }
  }
}

/** @typedef {ReturnType<typeof createDeferredSaves>} DeferredSaves */

/**
 * What its status address shows.
 * @typedef {import('./failures.js').Problem} Problem
 * @typedef {{id: string, url: string, name: string}} Named
 * @typedef {Named & {status: 'pending', revision: null, problem: null}} Accepted
 * @typedef {Named & {status: 'saved', revision: number, problem: null}} Saved
 * @typedef {Named & {status: 'failed', revision: null, problem: Problem}} Failed
 */

/** @param {string} id @param {string} name */
export const saveUrl = (id, name) => `${API_PREFIX}/saves/${id}?page=${encodeURIComponent(name)}`

/** RFC 9110 §15.3.3. @param {import('fastify').FastifyReply} reply @param {Accepted} accepted */
export function sendAccepted (reply, accepted) {
  reply.code(202).header('location', accepted.url)
  return accepted
}
