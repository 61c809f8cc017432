import { isDeepStrictEqual } from 'node:util'
import createError from '@fastify/error'
import { driverOf } from '../database/driver.js'
import { isWatchedAt } from './ends.js'
import { asIdsHave } from './read-marks.js'

/** @import {Follow, Followed} from './follow-pages.js' */
/** @import {Watcher, Watchers} from './model.js' */

/** With less than 600 bytes for each, far below the database's limit for a document. */
export const WATCHED_MAX = 1_000
/** Somebody may change the list in between, in another tab. */
const TRIES_MAX = 5

const TooManyWatched = createError(
  'WIKI_TOO_MANY_WATCHED', `You watch ${WATCHED_MAX} %s already. Stop watching one of them first.`, 409
)

/** @typedef {'pages' | 'authors'} Kind */
/** @typedef {Watcher & Followed} Listed */

/**
 * What each person watches. All users are keys (access/users.js).
 * @param {{Watchers: Watchers, follow: Follow}} parts
 */
export function createWatchList ({ Watchers, follow }) {
  const watchers = driverOf(Watchers)

  /**
   * Stores the names and keys of watched pages, where they are others now, without those that are not watched any
   * more. If that fails, the next reader does it.
   * @param {{_id: string} | {feed: string}} filter @returns {Promise<Listed | null>}
   */
  async function find (filter) {
    for (let tries = 1; ; tries++) {
      const watcher = await watchers.findOne(filter)
      if (watcher === null) return null
      const { _id, pages: before } = watcher
      const now = new Date()
      const followed = await follow(_id, before.filter((page) => isWatchedAt(page, now)))
      const pages = [...followed.pages, ...followed.hidden.slice(0, roomBeside(followed.pages))]
      const isStored = isDeepStrictEqual(pages, before) ||
        (await watchers.updateOne({ _id, pages: before }, { $set: { pages } })).matchedCount > 0
      if (isStored || tries === TRIES_MAX) return { ...watcher, ...followed }
    }
  }

  /** @param {string} user @param {Partial<Pick<Watcher, 'read' | 'read_before' | 'feed'>>} [fields] */
  async function set (user, fields = {}) {
    const others = Object.fromEntries(Object.entries(nothing()).filter(([field]) => !(field in fields)))
    const update = { ...Object.keys(fields).length > 0 && { $set: fields }, $setOnInsert: others }
    await watchers.updateOne({ _id: user }, update, { upsert: true })
  }

  return {
    /** @param {string} user @returns {Promise<Listed>} with the names that pages have now */
    of: async (user) => await find({ _id: user }) ?? { _id: user, ...nothing(), hidden: [], spaceOf: () => null },

    /**
     * Another end replaces that of before.
     * @param {string} user @param {Kind} kind @param {string} name @param {Date} [until]  without it: for good
     * @throws {Error} 409 beyond WATCHED_MAX
     */
    async watch (user, kind, name, until) {
      await set(user)
      await find({ _id: user })
      const end = { [`${kind}.$.until`]: until ?? '' }
      const again = await watchers.updateOne(
        { _id: user, [`${kind}.name`]: name }, /** @type {any} */ (until ? { $set: end } : { $unset: end })
      )
      if (again.matchedCount > 0) return
      const added = { name, since: asIdsHave(new Date()), ...until && { until } }
      const { matchedCount } = await watchers.updateOne(
        { _id: user, [`${kind}.name`]: { $ne: name }, [`${kind}.${WATCHED_MAX - 1}`]: { $exists: false } },
        { $push: /** @type {any} */ ({ [kind]: added }) }
      )
      // Before the page can get another name, and that name another page.
      const watcher = await find({ _id: user })
      const isKnown = watcher?.[kind].some((watched) => watched.name === name)
      if (matchedCount === 0 && !isKnown) throw new TooManyWatched(kind)
    },

    /** @param {string} user @param {Kind} kind @param {string} name */
    async stop (user, kind, name) {
      await find({ _id: user })
      await watchers.updateOne({ _id: user }, { $pull: /** @type {any} */ ({ [kind]: { name } }) })
    },

    set,

    /** @param {string} feed  SHA-256 of a secret @returns {Promise<Listed | null>} */
    byFeed: (feed) => find({ feed })
  }
}

/** Nobody can stop what is not shown to make room, so that never fills a list. @param {Watcher['pages']} shown */
const roomBeside = (shown) => Math.max(0, WATCHED_MAX - 1 - shown.length)

/** What was there before anything was watched is read. */
const nothing = () => ({ pages: [], authors: [], read: [], read_before: asIdsHave(new Date()) })

/** @typedef {ReturnType<typeof createWatchList>} WatchList */
