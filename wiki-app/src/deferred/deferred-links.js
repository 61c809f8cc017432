import { ShortLinkTaken } from '../short-links/errors.js'
import { randomId } from '../short-links/ids.js'
import { linkNamed } from './entry.js'
import { ShortLinkFailed } from './errors.js'

/** @import {Link, ShortLinks, Target} from '../short-links/store.js' */
/** @import {DeferredLink} from './entry.js' */
/** @import {Failures} from './failures.js' */

/**
 * `take` returns a link that waits already with this id or, if the id is random, for this target; else the one that is
 * given. It throws 503.
 * @typedef {(link: DeferredLink) => Promise<DeferredLink>} Take
 * @typedef {{take: Take, find: (id: string) => Promise<DeferredLink | null>}} WaitingLinks
 */

/** `deferred`: it waits to be stored. @typedef {{link: Link, created: boolean, deferred?: boolean}} Made */

/**
 * Short addresses that programs make are answered before they are stored, and lead to their page at once. Whether the
 * page exists, and has not too many, is found out when they are stored.
 * @param {object} parts
 * @param {ShortLinks} parts.shortLinks  stored
 * @param {WaitingLinks} parts.waiting
 * @param {Failures} parts.failures
 * @param {Pick<import('../database/database.js').Database, 'whileAvailable'>} parts.database
 */
export function createDeferredLinks ({ shortLinks, waiting, failures, database: { whileAvailable } }) {
  const [knownIn, readIn] = [whileAvailable(shortLinks.known), whileAvailable(shortLinks.read)]

  /** `null` also without a database. @param {() => Promise<Link | null> | Link | null} look */
  async function ifFound (look) {
    try {
      return await look()
    } catch {
      return null
    }
  }

  /** @param {DeferredLink} asked @returns {Promise<Made>} @throws {Error} 409, 503 */
  async function take (asked) {
    const link = await waiting.take(asked)
    if (!isOf(link, asked)) throw new ShortLinkTaken(asked.id)
    return { link: linkOf(link), created: true, deferred: true }
  }

  /** @param {string} id @returns {Promise<Link>} @throws {Error} 404 */
  async function readStored (id) {
    try {
      return await shortLinks.read(id)
    } catch (error) {
      const problem = await failures.find(linkNamed({ id, page: '' }).id)
      throw problem === null ? error : new ShortLinkFailed(problem.detail)
    }
  }

  return {
    /** @param {Target} target @returns {Promise<Made>} @throws {Error} 503 */
    async make (target) {
      const link = await ifFound(() => knownIn(target))
      return link ? { link, created: false } : take(deferredLink(randomId(), target, false))
    },

    /** @param {string} id @param {Target} target @returns {Promise<Made>} @throws {Error} 409: it leads elsewhere */
    async choose (id, target) {
      const stored = await ifFound(() => readIn(id))
      if (stored === null) return take(deferredLink(id, target, true))
      if (!isOf(stored, target)) throw new ShortLinkTaken(id)
      return { link: stored, created: false }
    },

    /** @param {string} id @returns {Promise<Target | null>} */
    find: async (id) => await shortLinks.find(id) ?? await waiting.find(id) ??
      // It may have been stored meanwhile.
      await shortLinks.find(id),

    /** @param {string} id @returns {Promise<Link>} @throws {Error} 404 */
    async read (id) {
      const link = await waiting.find(id)
      return link === null ? readStored(id) : linkOf(link)
    }
  }
}

/** @typedef {ReturnType<typeof createDeferredLinks>} DeferredLinks */

/** @param {string} id @param {Target} target @param {boolean} chosen @returns {DeferredLink} */
const deferredLink = (id, { page, revision }, chosen) =>
  ({ id, page, revision, chosen, created_at: new Date().toISOString() })

/** @param {Target} one @param {Target} other */
const isOf = (one, other) => one.page === other.page && one.revision === other.revision

/** @param {DeferredLink} link @returns {Link} */
const linkOf = ({ id, page, revision, created_at: createdAt }) =>
  ({ id, page, revision, created_at: new Date(createdAt) })
