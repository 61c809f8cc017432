import { problemOf } from '../http/problem.js'
import { createLimit } from '../process/limit.js'
import { linkNamed, readEntry } from './entry.js'
import { createInTurn } from './in-turn.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {ShortLinks} from '../short-links/store.js' */
/** @import {DeferredLink} from './entry.js' */
/** @import {Failures} from './failures.js' */
/** @import {Keep, Outcome} from './keep.js' */
/** @import {Entry, RedisBuffer} from './redis-buffer.js' */
/** @import {DeferredSave} from './save.js' */

/** Short addresses are a transaction each, and leave connections to others. */
const LINKS_AT_ONCE = 20
/** At an address that was answered before. */
const UNREADABLE = problemOf(500, 'What waited in Redis is no save that this wiki can read. It has been logged.')

/**
 * Stores the saves at the head of the buffer, in as few transactions as fit; those of one page in their order. Then the
 * short addresses among them, which may be of these pages. They leave the buffer afterwards, so a crash in between
 * leaves some that are stored: their ids show that.
 * @param {object} parts
 * @param {RedisBuffer} parts.buffer
 * @param {Pick<Keep, 'keep' | 'settle'>} parts.keep
 * @param {Failures} parts.failures
 * @param {Pick<PageStore, 'commitTogether'>} parts.store
 * @param {Pick<ShortLinks, 'keep'>} parts.shortLinks
 * @param {Pick<import('fastify').FastifyBaseLogger, 'error'>} parts.log
 */
export function createDrain ({ buffer, keep: { keep, settle }, failures, store, shortLinks, log }) {
  /** @param {Entry[]} entries  that are neither */
  async function setAside (entries) {
    if (entries.length === 0) return
    for (const { id, fields } of entries) {
      log.error({ entry: id }, 'what waited in Redis is no save, and was set aside: see docs/saving.md')
      const { named } = readEntry(fields)
      if (named !== null) await failures.add(named, UNREADABLE)
    }
    await buffer.setAside(entries)
  }

  /** @param {DeferredSave[]} saves @param {AbortSignal} signal @returns {Promise<Outcome[]>} */
  async function storeSaves (saves, signal) {
    if (saves.length === 0) return []
    const inTurn = createInTurn()
    const failed = await failures.among(saves.map(({ id }) => id))
    return Promise.all(saves.map(async (save) => failed.has(save.id)
      ? 'failed'
      : inTurn(save.name, () => keep(save, store.commitTogether, { mayBeStored: true, signal }))))
  }

  /** @param {DeferredLink[]} links @param {AbortSignal} signal @returns {Promise<Outcome[]>} */
  async function storeLinks (links, signal) {
    const inTurn = createInTurn()
    const limit = createLimit(LINKS_AT_ONCE)
    return Promise.all(links.map((link) => inTurn(link.page, () => limit.run(() =>
      settle(linkNamed(link), () => shortLinks.keep({ ...link, created_at: new Date(link.created_at) }), signal)))))
  }

  /**
   * @param {Entry[]} entries @param {AbortSignal} signal  ends it; what is not stored stays in the buffer
   * @returns {Promise<boolean>} whether all have left the buffer
   * @throws {Error} when Redis or the database is away
   */
  return async function drain (entries, signal) {
    const all = entries.map((entry) => ({ entry, ...readEntry(entry.fields) }))
    await setAside(all.flatMap(({ entry, save, link }) => save || link ? [] : [entry]))
    const saves = all.flatMap(({ entry, save }) => save ? [{ entry, what: save }] : [])
    const links = all.flatMap(({ entry, link }) => link ? [{ entry, what: link }] : [])
    const outcomes = [
      ...await storeSaves(saves.map(({ what }) => what), signal),
      ...await storeLinks(links.map(({ what }) => what), signal)
    ]
    const done = [...saves, ...links].flatMap(({ entry }, index) => outcomes[index] === 'given up' ? [] : [entry])
    if (done.length > 0) await buffer.remove(done)
    return done.length === outcomes.length
  }
}
