import { setTimeout as sleep } from 'node:timers/promises'
import { problemOf } from '../http/problem.js'
import { checkOf } from '../writing/change.js'

/** @import {Edit, Written} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {TagOf} from '../pages/preconditions.js' */
/** @import {Failures, Problem} from './failures.js' */
/** @import {DeferredSave, Representation} from './save.js' */

/** While the database is away. */
const PAUSE_MIN_MS = 50
const PAUSE_MAX_MS = 1_000

/**
 * @typedef {'saved' | 'failed' | 'given up'} Outcome  given up: the wiki stops, and does not know
 * @typedef {(edit: Edit) => Promise<Written>} Commit
 */

/**
 * Stores saves that nobody waits for.
 * @param {object} parts
 * @param {Pick<PageStore, 'prepare'>} parts.store
 * @param {Failures} parts.failures
 * @param {number} parts.rendererVersion
 * @param {Record<Representation, TagOf>} parts.tagOfs
 * @param {(error: unknown) => boolean} parts.isUnavailable
 * @param {() => boolean} parts.isAvailable
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error'>} parts.log
 */
export function createKeep ({ store, failures, rendererVersion, tagOfs, isUnavailable, isAvailable, log }) {
  const givingUp = new AbortController()
  const counts = { saved: 0, failed: 0 }
  /** @type {Date | null} */
  let settledAt = null

  /** @param {'saved' | 'failed'} outcome */
  function count (outcome) {
    counts[outcome]++
    settledAt = new Date()
    return outcome
  }

  /** @param {any} error */
  const isTemporary = (error) => error?.statusCode === 503 || isUnavailable(error)

  /**
   * Until the database answers, or the signal says that the wiki gives up.
   * @template T @param {AbortSignal} signal @param {(attempt: number) => Promise<T>} work
   */
  async function persist (signal, work) {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return { result: await work(attempt) }
      } catch (error) {
        if (!isTemporary(error)) throw error
      }
      do {
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(attempt, 10))
        await sleep(pauseMs, undefined, { signal }).catch(() => {})
      } while (!isAvailable() && !signal.aborted)
    }
    return null
  }

  /** @param {DeferredSave} save @param {boolean} mayBeStored @returns {Promise<Edit>} */
  async function editOf (save, mayBeStored) {
    const { id, name, attribution, condition, representation, change, rendered, renderer } = save
    // Another version of the wiki may have taken it.
    const prepared = renderer === rendererVersion ? { change, rendered } : await store.prepare(change)
    const precondition = checkOf(condition, tagOfs[representation])
    return { ...prepared, name, attribution, precondition, saveId: id, mayBeStored }
  }

  /** @param {Pick<DeferredSave, 'id' | 'name'>} named @param {any} error @returns {Problem} */
  function problemFor ({ id, name }, error) {
    const { statusCode: status = 500, message, currentRevision } = error
    const current = currentRevision !== undefined && { current_revision: currentRevision }
    if (status >= 400 && status < 500) return { ...problemOf(status, message), ...current }
    log.error({ err: error, save: id, page: name }, 'unexpected error: a save that was acknowledged cannot be stored')
    return problemOf(500, 'Something went wrong in the wiki. It has been logged.')
  }

  /**
   * @param {Pick<DeferredSave, 'id' | 'name'>} named  where its failure is recorded
   * @param {(attempt: number) => Promise<unknown>} work @param {AbortSignal} signal  gives up
   * @returns {Promise<Outcome>} never rejects
   */
  async function settle (named, work, signal) {
    try {
      const stored = await persist(signal, work)
      if (stored === null) return 'given up'
      return count('saved')
    } catch (error) {
      const problem = problemFor(named, error)
      const recorded = await persist(signal, () => failures.add(named, problem)).catch((error) => {
        log.error({ err: error, save: named.id }, 'the failure of a save cannot be recorded')
      })
      if (recorded === null) return 'given up'
      return count('failed')
    }
  }

  return {
    counts: () => ({ ...counts }),

    /** When the last save was stored, or failed; null: none since the start. */
    settledAt: () => settledAt,

    settle,

    /**
     * @param {DeferredSave} save
     * @param {Commit} commit
     * @param {{mayBeStored?: boolean, signal?: AbortSignal}} [options]  `mayBeStored`: another process may have stored
     *   it; `signal`: gives up, by default `giveUp` does
     * @returns {Promise<Outcome>} never rejects
     */
    keep: (save, commit, { mayBeStored = false, signal = givingUp.signal } = {}) =>
      settle(save, async (attempt) => commit(await editOf(save, mayBeStored || attempt > 0)), signal),

    giveUp: () => givingUp.abort()
  }
}

/** @typedef {ReturnType<typeof createKeep>} Keep */
