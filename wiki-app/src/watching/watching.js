import { randomBytes } from 'node:crypto'
import mongoose from 'mongoose'
import { sha256, userKey } from '../access/users.js'
import { createHistories } from '../pages/histories.js'
import { defineWatchers } from './model.js'
import { isNewTo, MARKED_MAX, readAfter, readMarkOf } from './read-marks.js'
import { createWatchedChanges } from './watched-changes.js'
import { createWatchList } from './watch-list.js'

/** @import {Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {RevisionItem} from '../history/history.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {FanOut} from './fan-out.js' */
/** @import {Watcher} from './model.js' */
/** @import {Kind} from './watch-list.js' */

const SECRET_BYTES = 32
/** Each of 100 changes: what was changed by themselves or read before is looked through for others. */
const PARTS_MAX = 50

/**
 * `readMark`: for `markRead`; of what is there now, not of this part alone. `hasNew`: so far as that goes.
 * @typedef {{items: (RevisionItem & {isNew: boolean})[], more: boolean, hasNew: boolean, readMark: string}} WatchedPart
 */

/**
 * Signed-in people watch pages and authors, and see what changes there.
 * @param {{connection: Connection, models: Models, users: Users, fanOut?: FanOut}} parts
 */
export function createWatching ({ connection, models, users, fanOut }) {
  const list = createWatchList({ Watchers: defineWatchers(connection), Pages: models.Pages })
  const changesOf = fanOut?.changesOf ?? createWatchedChanges(models, createHistories(models))

  /** @param {Watcher} watcher @param {{before?: string, limit: number}} part @returns {Promise<WatchedPart>} */
  async function partFor (watcher, { before, limit }) {
    const askedAt = new Date()
    const found = await changesOf(watcher, { before, limit: MARKED_MAX })
    const isNew = isNewTo(watcher, userKey)
    const items = found.items.map((item) => ({ ...item, isNew: isNew(item) }))
    return {
      items: items.slice(0, limit),
      more: found.more || items.length > limit,
      hasNew: items.some((item) => item.isNew),
      readMark: readMarkOf(items, askedAt)
    }
  }

  return {
    /** @param {string} user  name */
    async of (user) {
      const { pages, authors, feed } = await list.of(userKey(user))
      const shown = (/** @type {Watcher['pages']} */ watched) => watched.map(({ name, until }) => ({ name, until }))
      return { pages: shown(pages), authors: shown(authors), hasFeed: feed !== undefined }
    },

    /**
     * @param {string} user  name @param {Kind} kind @param {string} name @param {Date} [until]  without it: for good
     * @throws {Error} 409: too many
     */
    watch: (user, kind, name, until) => list.watch(userKey(user), kind, name, until),

    /** @param {string} user  name @param {Kind} kind @param {string} name */
    stop: (user, kind, name) => list.stop(userKey(user), kind, name),

    /** @param {string} user  name @param {{before?: string, limit: number}} part  `limit`: at most 100 */
    changes: async (user, part) => partFor(await list.of(userKey(user)), part),

    /** @param {string} user  name @param {string} mark  `readMark` of what was seen */
    async markRead (user, mark) {
      const watcher = await list.of(userKey(user))
      await list.set(watcher._id, readAfter(watcher, mark, new Date()))
    },

    /**
     * What is new to them of a time, both in whole seconds.
     * @param {string} user  name @param {{from: Date, to: Date, limit: number}} range  without `to`
     * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first
     */
    async newBetween (user, { from, to, limit }) {
      const watcher = await list.of(userKey(user))
      const isNew = isNewTo(watcher, userKey)
      /** @type {RevisionItem[]} */
      const items = []
      let [before, more] = [firstIdOf(to), true]
      for (let parts = 0; more && items.length <= limit && parts < PARTS_MAX; parts++) {
        const found = await changesOf(watcher, { from: firstIdOf(from), before, limit: MARKED_MAX })
        items.push(...found.items.filter(isNew))
        more = found.more
        before = String(found.items.at(-1)?._id)
      }
      return { items: items.slice(0, limit), more: more || items.length > limit }
    },

    /** The one before no longer leads anywhere. @param {string} user  name @returns {Promise<string>} a new secret */
    async newFeed (user) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      await list.set(userKey(user), { feed: sha256(secret) })
      return secret
    },

    /**
     * @param {string} secret @param {number} limit
     * @returns {Promise<WatchedPart & {user: string} | null>} null: there is no such feed, or its owner is gone
     */
    async feed (secret, limit) {
      const watcher = await list.byFeed(sha256(secret))
      if (watcher === null) return null
      const user = await users.find(watcher._id)
      return user && { ...await partFor(watcher, { limit }), user: user.name }
    }
  }
}

/** @param {Date} time */
const firstIdOf = (time) => mongoose.Types.ObjectId.createFromTime(time.getTime() / 1000).toHexString()

/** @typedef {ReturnType<typeof createWatching>} Watching */
