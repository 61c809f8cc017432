import { randomUUID } from 'node:crypto'
import mongoose from 'mongoose'
import { createBatchLoader } from '../database/batch-loader.js'
import { driverOf } from '../database/driver.js'
import { readBatch } from '../database/read-batch.js'
import { answerInTime, createWait, inTransaction } from '../database/transaction.js'
import { RevisionIsDeletion, RevisionMissing } from '../history/history.js'
import { HISTORY_FIELDS, historyOf } from '../pages/histories.js'
import { PageMissing } from '../pages/page-errors.js'
import { ShortLinkMissing, ShortLinkTaken, TooManyShortLinks } from './errors.js'
import { isId, randomId } from './ids.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Models} from '../pages/model.js' */
/** @import {ShortLink, ShortLinkModel} from './model.js' */

/** A renaming changes them all in its transaction. */
const CHOSEN_MAX = 100
/** A page that was renamed several times. */
const RENAMES_MAX = 20
const FIELDS = { id: 1, page: 1, revision: 1 }
/** A link that another process has answered with cannot be lost in a failover. */
const DURABLE = { readConcern: { level: /** @type {const} */ ('majority') } }

/**
 * `page`: canonical name. `revision` null: the page as it is at any time.
 * @typedef {{page: string, revision: number | null}} Target
 * @typedef {Target & {id: string, created_at: Date}} Link
 */

/**
 * Where an address is read from. `forget` comes after the commit that changed them, and before its response.
 * @typedef {object} Level
 * @property {(id: string) => Promise<Target | null>} find
 * @property {(ids: string[]) => Promise<void>} forget
 */

/**
 * Lasting short addresses. A page has no id but its name, so a renaming changes the name in its links, too, in its own
 * transaction, as in its revisions (docs/decisions/0043).
 * @typedef {{models: Pick<Models, 'Pages' | 'Revisions' | 'Targets'>, model: ShortLinkModel}} Stored
 * @typedef {{createLoader?: typeof createBatchLoader, levelOf?: (database: Level) => Level}} Around
 * @param {Stored & {readsAtOnce: number} & Around} parts  `levelOf`: what is in front of
 *   the database
 */
export function createShortLinks ({ models, model, readsAtOnce, createLoader, levelOf = (database) => database }) {
  const { Links, key } = model
  const level = levelOf({ find: createRead(model, readsAtOnce, createLoader), forget: async () => {} })
  const { known, make, choose, keep } = createMaking(models, model)

  /**
   * A version without short links leaves them at the old name when it renames. Such a random link stays, as if it was
   * chosen, where the page's own random link of the same revision comes.
   * @param {ClientSession} session @param {string} page @param {(number | null)[]} revisions  whose links come
   */
  async function makeWay (session, page, revisions) {
    if (revisions.length === 0) return
    const leftBehind = { page, revision: { $in: revisions }, chosen: null }
    await driverOf(Links).updateMany(leftBehind, [{ $set: { chosen: `$${key}` } }], { session })
  }

  return {
    known,
    make,
    choose,
    keep,

    /** For a redirect. @param {string} id @returns {Promise<Target | null>} */
    find: async (id) => isId(id) ? level.find(id) : null,

    /** @param {string} id @returns {Promise<Link>} @throws {Error} 404 */
    async read (id) {
      const found = await driverOf(Links).findOne(/** @type {object} */ ({ [key]: id }), DURABLE)
      if (found === null) throw new ShortLinkMissing()
      return linkOf(found)
    },

    /**
     * Within the transaction of a renaming.
     * @param {ClientSession} session @param {{from: string, to: string}[]} moves
     * @returns {Promise<Map<string, string[]>>} by former name: ids of its links, which lead to the new name now
     */
    async move (session, moves) {
      /** @type {Map<string, string[]>} */
      const moved = new Map()
      const names = { $in: moves.map(({ from }) => from) }
      const fields = { id: 1, page: 1, revision: 1, chosen: 1 }
      const links = await driverOf(Links).find({ page: names }, { projection: fields, session }).toArray()
      for (const link of links) moved.set(link.page, [...moved.get(link.page) ?? [], idOf(link)])
      for (const { from, to } of moves) {
        if (!moved.has(from)) continue
        const random = links.filter(({ page, chosen }) => page === from && chosen === null)
        await makeWay(session, to, random.map(({ revision }) => revision))
        await driverOf(Links).updateMany({ page: from }, { $set: { page: to } }, { session })
      }
      return moved
    },

    forget: level.forget
  }
}

/** @typedef {ReturnType<typeof createShortLinks>} ShortLinks */

/** @param {Pick<ShortLink, '_id' | 'id'>} stored */
const idOf = ({ _id, id = String(_id) }) => id

/** @param {ShortLink} stored @returns {Link} */
const linkOf = (stored) =>
  ({ id: idOf(stored), page: stored.page, revision: stored.revision, created_at: stored.created_at })

/**
 * @param {ShortLinkModel} model @param {number} readsAtOnce  ids in one read
 * @param {typeof createBatchLoader} [createLoader] @returns {(id: string) => Promise<Target | null>}
 */
function createRead ({ Links, key }, readsAtOnce, createLoader = createBatchLoader) {
  return createLoader({
    keysMax: readsAtOnce,
    source: Links,
    readMany: async (ids) => {
      const filter = { [key]: ids.length === 1 ? ids[0] : { $in: ids } }
      const found = await readBatch(Links, filter, FIELDS, ids.length) ??
        await driverOf(Links).find(/** @type {object} */ (filter), { projection: FIELDS }).toArray()
      return new Map(found.map((each) => [idOf(each), { page: each.page, revision: each.revision }]))
    }
  })
}

/** @param {Stored['models']} models */
function createExisting ({ Pages, Revisions, Targets }) {
  /**
   * @param {Target} asked @param {ClientSession} session
   * @returns {Promise<Target>} with the page's name now @throws {Error} 404
   */
  return async function existing ({ page: asked, revision }, session) {
    let page = asked
    for (let renames = 0; ; renames++) {
      const fields = { deleted_at: 1, ...HISTORY_FIELDS }
      const head = await Pages.findOne({ _id: page }, fields, { session }).lean().exec()
      if (head?.redirect_to && renames < RENAMES_MAX) {
        page = head.redirect_to
        continue
      }
      // A deleted page has its old revisions.
      if (head === null || (revision === null && head.deleted_at != null)) throw new PageMissing(asked)
      if (revision !== null) await refuseMissing(Revisions, head, revision, session)
      break
    }
    // A renaming changes this document, too: of the two transactions, one has to begin again.
    const mark = { $set: { short_linked: randomUUID() }, $setOnInsert: { is: null, sources: 0 } }
    await driverOf(Targets).updateOne({ _id: page }, mark, { session, upsert: true })
    return { page, revision }
  }
}

/** @param {Stored['models']} models @param {ShortLinkModel} model */
function createMaking (models, { Links, key, keysOf }) {
  const existing = createExisting(models)

  /** @param {Target} target @param {object} options @returns {Promise<ShortLink | null>} */
  const findRandom = ({ page, revision }, options) =>
    driverOf(Links).findOne({ page, revision, chosen: null }, options)

  /** @template T @param {(session: ClientSession) => Promise<T>} work */
  function durably (work) {
    const wait = createWait(Links.db)
    return answerInTime(wait, () => inTransaction(Links.db, work, wait))
  }

  /**
   * @param {string} id @param {Target} target @param {string | null} chosen @param {ClientSession} session
   * @param {Date} [createdAt]
   */
  async function insert (id, target, chosen, session, createdAt = new Date()) {
    const stored = { ...keysOf(id), ...target, chosen, created_at: createdAt }
    await driverOf(Links).insertOne(/** @type {any} */ (stored), { session })
    return { link: linkOf(stored), created: true }
  }

  /**
   * @param {string} id @param {Target} target @param {ClientSession} session
   * @returns {Promise<ShortLink | null>} null: there is none with this id @throws {Error} 409
   */
  async function sameIn (id, target, session) {
    const found = await driverOf(Links).findOne(/** @type {object} */ ({ [key]: id }), { session })
    if (found === null || (found.page === target.page && found.revision === target.revision)) return found
    throw new ShortLinkTaken(id)
  }

  /** @param {string} id @param {Target} asked @param {ClientSession} session @param {Date} [createdAt] */
  async function chosenIn (id, asked, session, createdAt) {
    const target = await existing(asked, session)
    const found = await sameIn(id, target, session)
    if (found !== null) return { link: linkOf(found), created: false }
    const chosen = { page: target.page, chosen: mongoose.trusted({ $ne: null }) }
    const count = await Links.countDocuments(chosen, { session, limit: CHOSEN_MAX }).exec()
    if (count >= CHOSEN_MAX) throw new TooManyShortLinks(CHOSEN_MAX)
    return insert(id, target, id, session, createdAt)
  }

  /** @param {Target} target @returns {Promise<Link | null>} what `make` gave */
  async function known (target) {
    const found = await findRandom(target, DURABLE)
    return found && linkOf(found)
  }

  return {
    known,

    /**
     * Of one target always the same, from whichever process.
     * @param {Target} asked @returns {Promise<{link: Link, created: boolean}>} @throws {Error} 404
     */
    async make (asked) {
      const link = await known(asked)
      if (link !== null) return { link, created: false }
      return durably(async (session) => {
        const target = await existing(asked, session)
        const found = await findRandom(target, { session })
        if (found !== null) return { link: linkOf(found), created: false }
        return insert(randomId(), target, null, session)
      })
    },

    /**
     * @param {string} id @param {Target} asked @returns {Promise<{link: Link, created: boolean}>}
     * @throws {Error} 404; 409 when the id leads elsewhere, or the page has too many
     */
    choose: (id, asked) => durably((session) => chosenIn(id, asked, session)),

    /**
     * Stores one that was answered before. A random one stays as if it was chosen when its target has got another one
     * since. Repeated it changes nothing.
     * @param {Link & {chosen: boolean}} link @returns {Promise<{link: Link, created: boolean}>}
     * @throws {Error} 404; 409 as `choose`
     */
    keep: ({ id, page, revision, chosen, created_at: createdAt }) => durably(async (session) => {
      const asked = { page, revision }
      if (chosen) return chosenIn(id, asked, session, createdAt)
      const target = await existing(asked, session)
      const found = await sameIn(id, target, session)
      if (found !== null) return { link: linkOf(found), created: false }
      const other = await findRandom(target, { session })
      return insert(id, target, other === null ? null : id, session, createdAt)
    })
  }
}

/**
 * @param {Models['Revisions']} Revisions @param {Parameters<typeof historyOf>[0]} head @param {number} revision
 * @param {ClientSession} session @throws {Error} 404
 */
async function refuseMissing (Revisions, head, revision, session) {
  const page = historyOf(head)
  const found = page === null
    ? null
    : await Revisions.findOne({ page, revision }, { deleted: 1 }, { session }).lean().exec()
  if (found === null) throw new RevisionMissing(revision, head._id)
  if (found.deleted) throw new RevisionIsDeletion(revision, head._id)
}
