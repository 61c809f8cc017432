import { randomBytes } from 'node:crypto'
import mongoose from 'mongoose'
import { sha256, userKey } from '../access/users.js'
import { createHistories } from '../pages/histories.js'
import { createEntries } from './entries.js'
import { createFollowPublic } from './follow-pages.js'
import { createWatchingInside } from './inside.js'
import { defineWatchers } from './model.js'
import { isNewTo, MARKED_MAX, readAfter, readMarkOf } from './read-marks.js'
import { createWatchedChanges } from './watched-changes.js'
import { createWatchList } from './watch-list.js'

/** @import {Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {RevisionItem} from '../history/history.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Begun} from '../spaces/services.js' */
/** @import {FanOut} from './fan-out.js' */
/** @import {Listed, WatchList} from './watch-list.js' */

const SECRET_BYTES = 32
/** Each of 100 changes: what was changed by themselves or read before is looked through for others. */
const PARTS_MAX = 50

/**
 * `space`: the private space of the page; null: it is public.
 * @typedef {RevisionItem & {isNew: boolean, space: string | null}} WatchedItem
 * `readMark`: for `markRead`; of what is there now, not of this part alone. `hasNew`: so far as that goes.
 * @typedef {{items: WatchedItem[], more: boolean, hasNew: boolean, readMark: string}} WatchedPart
 */

/**
 * The public store, or that of the private spaces.
 * @typedef {{list: WatchList, changesOf: FanOut['changesOf'] | ReturnType<typeof createWatchedChanges>}} Source
 */

/**
 * Signed-in people watch pages and authors, and see what changes there. Of private pages, feeds and mails have nothing
 * that says which: both go to programs and mailboxes, where they stay when a role ends.
 * @param {{connection: Connection, models: Models, users: Users, fanOut?: FanOut,
 *   spaces: Pick<Begun, 'models' | 'finding'>}} parts
 */
export function createWatching ({ connection, models, users, fanOut, spaces }) {
  const list = createWatchList({ Watchers: defineWatchers(connection), follow: createFollowPublic(models) })
  const changesOf = fanOut?.changesOf ?? createWatchedChanges(models, createHistories(models))
  const inside = createWatchingInside({ connection, users, spaces })
  /** @type {Source[]} */
  const sources = [{ list, changesOf }, inside]
  const listsOf = (/** @type {string} */ user) => Promise.all(sources.map((source) => source.list.of(userKey(user))))

  return {
    ...createEntries({ list, inside }),

    /** @param {string} user  name */
    async of (user) {
      const lists = await listsOf(user)
      const [{ authors, feed }] = lists
      return {
        pages: lists.flatMap(({ pages, spaceOf }) =>
          pages.map(({ name, until }) => ({ name, until, space: spaceOf(name) }))),
        authors: authors.map(({ name }) => ({ name })),
        hasFeed: feed !== undefined
      }
    },

    /**
     * @param {string} user  name @param {{before?: string, limit: number}} part  `limit`: at most 100
     * @returns {Promise<WatchedPart>}
     */
    changes: async (user, part) => partOf(sources, await listsOf(user), part),

    /** @param {string} user  name @param {string} mark  `readMark` of what was seen */
    async markRead (user, mark) {
      const [watcher, privately] = await listsOf(user)
      await list.set(watcher._id, readAfter(watcher, mark, new Date()))
      if (privately.pages.length === 0) return
      await inside.list.set(watcher._id, readAfter(privately, mark, new Date()))
    },

    /**
     * What is new to them of a time, both in whole seconds. Of private pages: how much.
     * @param {string} user  name @param {{from: Date, to: Date, limit: number}} range  without `to`
     * @returns {Promise<New & {inSpaces: {count: number, more: boolean}}>}
     */
    async newBetween (user, range) {
      const lists = await listsOf(user)
      const [found, { items, more }] = await Promise.all(sources.map((source, at) => newOf(source, lists[at], range)))
      return { ...found, inSpaces: { count: items.length, more } }
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
      return user && { ...await partOf([{ list, changesOf }], [watcher], { limit }), user: user.name }
    }
  }
}

/**
 * @param {Source[]} sources @param {Listed[]} lists  of each
 * @param {{before?: string, limit: number}} part @returns {Promise<WatchedPart>}
 */
async function partOf (sources, lists, { before, limit }) {
  const askedAt = new Date()
  const found = await Promise.all(sources.map(async ({ changesOf }, at) => {
    const { items, more } = await changesOf(lists[at], { before, limit: MARKED_MAX })
    const isNew = isNewTo(lists[at], userKey)
    return { items: items.map((item) => ({ ...item, isNew: isNew(item), space: lists[at].spaceOf(item.page) })), more }
  }))
  const all = found.flatMap(({ items }) => items).sort((a, b) => String(a._id) < String(b._id) ? 1 : -1)
  const items = all.slice(0, MARKED_MAX)
  return {
    items: items.slice(0, limit),
    more: found.some(({ more }) => more) || all.length > limit,
    hasNew: items.some(({ isNew }) => isNew),
    readMark: readMarkOf(items, askedAt)
  }
}

/**
 * @typedef {{items: RevisionItem[], more: boolean}} New  the newest first
 * @param {Source} source @param {Listed} watcher @param {{from: Date, to: Date, limit: number}} range
 * @returns {Promise<New>}
 */
async function newOf ({ changesOf }, watcher, { from, to, limit }) {
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
}

/** @param {Date} time */
const firstIdOf = (time) => mongoose.Types.ObjectId.createFromTime(time.getTime() / 1000).toHexString()

/** @typedef {ReturnType<typeof createWatching>} Watching */
