import createError from '@fastify/error'
import { driverOf } from '../database/driver.js'
import { currentRevision, HEAD_FIELDS } from '../pages/head.js'
import { historyOf } from '../pages/histories.js'
import { outdatedMark } from '../pages/link-targets.js'
import { historyUrl } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { emptyNamesWithoutPage } from '../pages/without-page.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Head} from '../pages/head.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Actor, Audit} from '../people/audit.js' */

/** One transaction reads and writes each of them, and a text may have a mebibyte. */
export const REVISIONS_MAX = 100

const StillShown = createError(
  'WIKI_STILL_SHOWN',
  'Revision %s is the text that the page has now. Save a text without the secret first, then erase the old one.',
  409
)
const TooMany = createError(
  'WIKI_TOO_MANY_TO_ERASE',
  `There are more than ${REVISIONS_MAX} revisions from %s to %s. Erase them in several steps.`,
  409
)
const NothingToErase = createError(
  'WIKI_NOTHING_TO_ERASE', 'No revision from %s to %s of “%s” has anything left to erase. Look at its history.', 409
)

const Changed = createError(
  'WIKI_CHANGED_SINCE',
  '“%s” has a newer revision, %s, which may say the same again. Nothing was erased. ' +
    'Look at its history, then begin again.',
  409
)

/**
 * `from`, `to`: numbers of revisions; `newest`: the number of the last one that the administrator knows of.
 * @typedef {{name: string, from: number, to: number, newest?: number}} Range
 */

/**
 * Ends what revisions said: text, tags and summary. Each has its whole text and no other document has any of it, see
 * docs/decisions/0089. Author, time and number stay.
 * @param {object} parts
 * @param {Pick<Models, 'Pages' | 'Revisions'>} parts.models
 * @param {Audit} parts.audit
 * @param {import('../queue/queue.js').Later} parts.later
 * @param {Pick<import('../pages/commit.js').Purges, 'ofEverything' | 'added'>} [parts.purges]
 * @param {() => void} parts.forget  what this process has worked out of old texts
 */
export function createErasure ({ models, audit, later, purges, forget }) {
  const [pages, revisions] = [driverOf(models.Pages), driverOf(models.Revisions)]

  /**
   * @param {Range} range @param {ClientSession} [session]
   * @returns {Promise<{filter: object, newest: number}>} of the revisions; `newest`: the number of the last one
   * @throws {Error} 404, 409
   */
  async function find ({ name, from, to, newest = Infinity }, session) {
    const head = /** @type {Head | null} */ (
      await pages.findOne({ _id: name }, { projection: HEAD_FIELDS, session }))
    const page = head && historyOf(head)
    if (head === null || page === null) throw new PageMissing(name)
    if (head.revision > newest) {
      throw Object.assign(new Changed(name, head.revision), { historyUrl: historyUrl(name) })
    }
    const current = currentRevision(head)
    if (current >= from && current <= to) throw new StillShown(current)
    const filter = { page, revision: { $gte: from, $lte: to }, erased_at: { $exists: false } }
    const count = await revisions.countDocuments(filter, { limit: REVISIONS_MAX + 1, session })
    if (count > REVISIONS_MAX) throw new TooMany(from, to)
    if (count === 0) throw new NothingToErase(from, to, name)
    return { filter, newest: head.revision }
  }

  return {
    /**
     * @param {Range} range
     * @returns {Promise<{newest: number, revisions: number[]}>} `newest`: of the page; `revisions`: those that would be
     *   erased, the oldest first
     * @throws {Error} as `erase`
     */
    async plan (range) {
      const { filter, newest } = await find(range)
      const found = await revisions.find(filter, { projection: { revision: 1 }, sort: { revision: 1 } }).toArray()
      return { newest, revisions: found.map(({ revision }) => revision) }
    },

    /**
     * All of it or nothing. No difference of an erased text has an address that could be listed, so caches forget
     * everything.
     * @param {Actor} actor @param {Range} range @param {string} reason  for the list of what administrators did
     * @returns {Promise<number>} how many revisions
     * @throws {Error} 404; 409: the page shows one of them or changed since, there are too many, or none is left
     */
    async erase (actor, range, reason) {
      // First, so that an erasure that fails here can be sent again.
      await emptyNamesWithoutPage(models)
      const { name, from, to } = range
      const line = { did: 'erased', revisions: from === to ? `${from}` : `${from} to ${to}`, reason }
      const { count } = await audit.during(actor, line, async (session) => {
        const { filter } = await find(range, session)
        const gone = { content: '', content_bytes: 0, tags: [], summary: '' }
        const { modifiedCount } = await revisions.updateMany(
          filter, { $set: { ...gone, erased_at: new Date(), erased_by: actor.name } }, { session })
        // A request that brings one of them back at this moment writes the page, too.
        await pages.updateOne({ _id: name }, { $set: { links_outdated: outdatedMark() } }, { session })
        if (purges) await later(purges.ofEverything(), session)
        return { name, count: modifiedCount }
      })
      purges?.added()
      forget()
      return count
    }
  }
}

/** @typedef {ReturnType<typeof createErasure>} Erasure */
