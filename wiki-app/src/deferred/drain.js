import { problemOf } from '../http/problem.js'
import { readEntry } from './entry.js'
import { createInTurn } from './in-turn.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {Failures} from './failures.js' */
/** @import {Keep} from './keep.js' */
/** @import {Entry, RedisBuffer} from './redis-buffer.js' */
/** @import {DeferredSave} from './save.js' */

/** At an address that was answered before. */
const UNREADABLE = problemOf(500, 'What waited in Redis is no save that this wiki can read. It has been logged.')

/**
 * Stores the saves at the head of the buffer, in as few transactions as fit; those of one page in their order. They
 * leave the buffer afterwards, so a crash in between leaves saves that are stored: their ids show that.
 * @param {object} parts
 * @param {RedisBuffer} parts.buffer
 * @param {Pick<Keep, 'keep'>} parts.keep
 * @param {Failures} parts.failures
 * @param {Pick<PageStore, 'commitTogether'>} parts.store
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error'>} parts.log
 */
export function createDrain ({ buffer, keep: { keep }, failures, store, log }) {
  /** @param {Entry[]} entries  that are no saves */
  async function setAside (entries) {
    if (entries.length === 0) return
    for (const { id, fields } of entries) {
      log.error({ entry: id }, 'what waited in Redis is no save, and was set aside: see docs/saving.md')
      const { named } = readEntry(fields)
      if (named !== null) await failures.add(named, UNREADABLE)
    }
    await buffer.setAside(entries)
  }

  /**
   * @param {{entry: Entry, save: DeferredSave}[]} read @param {AbortSignal} signal
   * @returns {Promise<Entry[]>} those that are stored, or have failed
   */
  async function storeAll (read, signal) {
    const inTurn = createInTurn()
    const failed = await failures.among(read.map(({ save }) => save.id))
    const outcomes = await Promise.all(read.map(async ({ save }) => failed.has(save.id)
      ? 'failed'
      : inTurn(save.name, () => keep(save, store.commitTogether, { mayBeStored: true, signal }))))
    return read.flatMap(({ entry }, index) => outcomes[index] === 'given up' ? [] : [entry])
  }

  /**
   * @param {Entry[]} entries @param {AbortSignal} signal  ends it; what is not stored stays in the buffer
   * @returns {Promise<boolean>} whether all have left the buffer
   * @throws {Error} when Redis or the database is away
   */
  return async function drain (entries, signal) {
    const all = entries.map((entry) => ({ entry, save: readEntry(entry.fields).save }))
    await setAside(all.filter(({ save }) => save === null).map(({ entry }) => entry))
    const read = /** @type {{entry: Entry, save: DeferredSave}[]} */ (all.filter(({ save }) => save !== null))
    if (read.length === 0) return true
    const done = await storeAll(read, signal)
    if (done.length > 0) await buffer.remove(done)
    return done.length === read.length
  }
}
