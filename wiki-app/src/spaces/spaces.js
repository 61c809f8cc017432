import createError from '@fastify/error'
import { NotOfSpace } from '../access/places.js'
import { suffices } from '../access/roles.js'
import { driverOf } from '../database/driver.js'
import { createIndexes } from '../database/indexes.js'
import { inTransaction } from '../database/transaction.js'
import { namesAbove } from '../pages/name.js'
import { rangeBelow, subpagesUrl } from '../pages/subpage-names.js'
import { isAmongTalk } from '../pages/talk.js'
import { proposalsUrl } from '../proposals/addresses.js'
import { createOutwait } from '../protection/outwait.js'
import { spaceFilesListUrl } from './addresses.js'
import { beginnings, isWithin, NoSpace, rangesOf, roleOf } from './find-space.js'
import { NoGroup } from './groups.js'

/** @import {ClientSession, Connection} from 'mongoose' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {FileModels} from '../files/model.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Purges} from '../pages/commit.js' */
/** @import {Actor, Audit} from '../people/audit.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {FindSpace} from './find-space.js' */
/** @import {Space, SpaceModels} from './model.js' */

export const SPACES_MAX = 100
const COUNTED_MAX = 10_000

const SpaceTaken = createError('WIKI_SPACE_TAKEN', '“%s” is a private space already.', 409)
const SpacesOverlap = createError(
  'WIKI_SPACES_OVERLAP',
  'Private spaces do not overlap, and “%s” is one. Choose a name that is not above or below it.',
  409
)
const NoSpaceName = createError(
  'WIKI_NO_NAME_OF_SPACE',
  '“%s” cannot be a private space: the talk pages go with their pages, and the page at / is for everybody.',
  400
)
const PublicPages = createError(
  'WIKI_PUBLIC_PAGES',
  'No private space was made: “%s” and the names below it have public pages (%s). ' +
    'Rename or delete them first, and their talk pages: the list is at %s.',
  409
)
const SpaceNotEmpty = createError(
  'WIKI_SPACE_NOT_EMPTY', 'The private space “%s” was not removed: it has pages (%s). Delete them first.', 409
)
const SpaceHasFiles = createError(
  'WIKI_SPACE_HAS_FILES',
  'The private space “%s” was not removed: it has pictures or files (%s). Delete them first: the list is at %s.',
  409
)
const SpaceHasProposals = createError(
  'WIKI_SPACE_HAS_PROPOSALS',
  'The private space “%s” was not removed: proposals wait for a review (%s). ' +
    'Publish or decline them first: the list is at %s.',
  409
)
/** Another removal, which found something, has opened it again: since then it may have pages. */
const SpaceKept = createError(
  'WIKI_SPACE_KEPT',
  'The private space “%s” was not removed: another request to remove it came at the same time. Try again.',
  409
)
const TooManySpaces = createError(
  'WIKI_TOO_MANY_SPACES', `There are ${SPACES_MAX} private spaces already. Remove an empty one first.`, 409
)

/**
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {SpaceModels} models
 * @property {FileModels} fileModels  of the spaces
 * @property {Models} publicModels
 * @property {FindSpace} finding
 * @property {Audit} audit
 * @property {(name: string) => boolean} isInFile  whether USERS_FILE has that person
 * @property {Later} later
 * @property {Pick<Purges, 'ofEverything' | 'added'>} purges
 * @property {string} home  name of the page at `/`
 */

/** @param {Parts} parts */
export function createSpaces (parts) {
  const { models, fileModels, finding, audit, isInFile } = parts
  const [spaces, groups] = [driverOf(models.Spaces), driverOf(models.Groups)]

  return {
    ...createComing(parts),

    /** At a start: a version may bring new indexes. */
    async prepare () {
      if (await spaces.findOne({}, { projection: { _id: 1 } }) !== null) await createIndexesInside(models, fileModels)
    },

    find: finding.find,
    roleIn: finding.roleIn,

    /**
     * By name: those that the person may read, with the person's role.
     * @param {Person} person @returns {Promise<(Space & {role: Role})[]>}
     */
    async list (person) {
      const own = await finding.groupsOf(person)
      const found = /** @type {Space[]} */ (
        await spaces.find({}, { sort: { _id: 1 }, limit: SPACES_MAX }).toArray())
      return found.flatMap((space) => {
        const role = person.role === 'admin' ? 'admin' : roleOf(space, own)
        return role === null ? [] : [{ ...space, role }]
      })
    },

    /**
     * By administrators of the space, too.
     * @param {Person} person @param {string} name  of the space
     * @param {{group: string, role: Role | null}} grant  `group`: its key; null ends the grant
     * @throws {Error} 403, 404
     */
    async grant (person, name, { group: key, role }) {
      const line = role === null ? { did: 'grant-ended', reason: key } : { did: 'granted', role, reason: key }
      const actor = { name: person.name, inFile: isInFile(person.name), ofSpace: person.role !== 'admin' }
      await audit.during(actor, line, async (session) => {
        const space = /** @type {Space | null} */ (await spaces.findOne({ _id: name }, { session }))
        const own = space && await finding.roleIn(space, person, session)
        if (space === null || own === null) throw new NoSpace(name)
        if (!suffices(own, 'admin')) throw new NotOfSpace(name, 'admin')
        if (role !== null && await groups.findOne({ _id: key }, { session }) === null) throw new NoGroup(key)
        const others = space.grants.filter(({ group }) => group !== key)
        const grants = role === null ? others : [...others, { group: key, role }]
        await spaces.updateOne({ _id: name }, { $set: { grants } }, { session })
        return { name }
      })
    }
  }
}

/** @typedef {ReturnType<typeof createSpaces>} Spaces */

/**
 * Spaces that come and go. A space opens once no transaction can write a public page at its names any more, and goes
 * once none can write a private one: guards.js refuses both meanwhile.
 * @param {Parts} parts
 */
function createComing (parts) {
  const { connection, models, fileModels, publicModels, audit, isInFile, later, purges, home } = parts
  const spaces = driverOf(models.Spaces)
  const [outwaitPublic, outwaitInside] = [createOutwait(publicModels), createOutwait(models.inside)]
  const refuseUnfit = createRefusals(models, publicModels)

  /** @param {string} root @throws {Error} 409 */
  async function begin (root) {
    await inTransaction(connection, async (session) => {
      const before = await spaces.findOne({ _id: root }, { session })
      if (before !== null && before.state !== 'opening') throw new SpaceTaken(root)
      if (await spaces.countDocuments({}, { session, limit: SPACES_MAX }) === SPACES_MAX) throw new TooManySpaces()
      const opening = { state: /** @type {const} */ ('opening'), grants: [], at: new Date() }
      await spaces.updateOne({ _id: root }, { $set: opening }, { session, upsert: true })
      return {}
    })
  }

  const actorOf = (/** @type {string} */ name) => ({ name, inFile: isInFile(name) })

  /** @param {string} actor @param {string} root @throws {Error} 403, 409 */
  const open = (actor, root) => audit.during(actorOf(actor), { did: 'space-made' }, async (session) => {
    const { matchedCount } = await spaces.updateOne(
      { _id: root, state: 'opening' }, { $set: { state: 'open' } }, { session })
    if (matchedCount === 0) throw new SpaceTaken(root)
    // Caches may keep that there is no page.
    await later(purges.ofEverything(), session)
    return { name: root }
  })

  return {
    /**
     * @param {string} actor  name of an administrator @param {string} root  canonical
     * @throws {Error} 400, 403, 409
     */
    async make (actor, root) {
      if (isAmongTalk(root) || isWithin(root, home)) throw new NoSpaceName(root)
      await refuseUnfit(root)
      await createIndexesInside(models, fileModels)
      await begin(root)
      try {
        await outwaitAll(root, outwaitPublic)
        // Also those that came meanwhile.
        await refuseUnfit(root)
        await open(actor, root)
      } catch (error) {
        await spaces.deleteOne({ _id: root, state: 'opening' })
        throw error
      }
      purges.added()
    },

    /**
     * Histories of deleted pages stay; a space of this name has them again. Rules and closed proposals go.
     * @param {string} actor  name of an administrator @param {string} root
     * @throws {Error} 403, 404, 409
     */
    async remove (actor, root) {
      const { matchedCount } = await spaces.updateOne({ _id: root }, { $set: { state: 'closing' } })
      if (matchedCount === 0) throw new NoSpace(root)
      try {
        await outwaitAll(root, outwaitInside)
        await refuseUsed(models, fileModels, root)
        await audit.during(actorOf(actor), { did: 'space-removed' }, async (session) => {
          await driverOf(models.Rules).deleteMany({ space: root }, { session })
          await driverOf(models.Proposals).deleteMany({ space: root }, { session })
          const { deletedCount } = await spaces.deleteOne({ _id: root, state: 'closing' }, { session })
          if (deletedCount === 0) throw new SpaceKept(root)
          return { name: root }
        })
      } catch (error) {
        await spaces.updateOne({ _id: root, state: 'closing' }, { $set: { state: 'open' } })
        throw error
      }
    }
  }
}

/**
 * Of a wiki without spaces, no start takes time for them.
 * @param {SpaceModels} models @param {FileModels} fileModels
 */
const createIndexesInside = ({ inside, Rules, Proposals }, fileModels) =>
  createIndexes([...Object.values(inside), Rules, Proposals, ...Object.values(fileModels)])

/** @param {SpaceModels} models @param {Models} publicModels */
const createRefusals = (models, publicModels) =>
  /** @param {string} root @throws {Error} 409 */
  async function refuseUnfit (root) {
    const spaces = driverOf(models.Spaces)
    const overlapping = await spaces.findOne({ _id: { $in: namesAbove(root) } }) ??
      await spaces.findOne({ _id: rangeBelow(root) })
    if (overlapping !== null) throw new SpacesOverlap(overlapping._id)
    const count = await pagesOf(publicModels, root)
    if (count > 0) throw new PublicPages(root, countOf(count), subpagesUrl(root))
  }

/** @param {string} root @param {(name: string, subpages: boolean) => Promise<void>} outwait */
async function outwaitAll (root, outwait) {
  for (const beginning of beginnings(root)) await outwait(beginning, true)
}

/**
 * What a space has would be lost with it.
 * @param {SpaceModels} models @param {FileModels} fileModels @param {string} root @throws {Error} 409
 */
async function refuseUsed ({ inside, Proposals }, { Files }, root) {
  const pages = await pagesOf(inside, root)
  if (pages > 0) throw new SpaceNotEmpty(root, countOf(pages))
  const files = await driverOf(Files).countDocuments({ space: root }, { limit: COUNTED_MAX + 1 })
  if (files > 0) throw new SpaceHasFiles(root, countOf(files), spaceFilesListUrl(root))
  const open = await driverOf(Proposals).countDocuments({ space: root, state: 'open' })
  if (open > 0) throw new SpaceHasProposals(root, countOf(open), proposalsUrl(root))
}

/** @param {Models} models @param {string} root @returns {Promise<number>} at most COUNTED_MAX + 1 */
async function pagesOf ({ Pages }, root) {
  const inside = rangesOf(root).map((range) => ({ _id: range }))
  return driverOf(Pages).countDocuments({ deleted_at: null, $or: inside }, { limit: COUNTED_MAX + 1 })
}

/** @param {number} count */
const countOf = (count) => count > COUNTED_MAX ? `more than ${COUNTED_MAX}` : String(count)
