import mongoose from 'mongoose'
import { pageOfTalk } from '../pages/talk.js'

/** @import {Types} from 'mongoose' */
/** @import {RevisionItem} from '../history/history.js' */
/** @import {Watcher} from './model.js' */

/**
 * A change is seen once its transaction is committed, so long after its id was made at most. Of the last minute,
 * changes are therefore read one by one: one that comes late would be read before anybody has seen it.
 * https://www.mongodb.com/docs/manual/reference/parameters/#mongodb-parameter-param.transactionLifetimeLimitSeconds
 */
export const COMMIT_MAX_MS = 60_000
const READ_MAX = 500
/** Changes that one mark names. */
export const MARKED_MAX = 100

/** Milliseconds of the time of day, and the ids of changes. */
export const READ_MARK_PATTERN = `^\\d{13}(\\.[0-9a-f]{24}){0,${MARKED_MAX}}$`

/**
 * What a reader may take as read, for `readAfter`.
 * @param {RevisionItem[]} items  the newest, at most MARKED_MAX
 * @param {Date} askedAt  before they were read from the database
 * @returns {string}
 */
export function readMarkOf (items, askedAt) {
  const recent = items.filter((item) => timeOf(item) >= askedAt.getTime() - COMMIT_MAX_MS)
  return [askedAt.getTime(), ...recent.map(({ _id }) => String(_id))].join('.')
}

/** @typedef {Pick<Watcher, 'read_before' | 'read'>} Read */

/**
 * @param {Read} read @param {string} mark  as READ_MARK_PATTERN says; a time to come is now @param {Date} now
 * @returns {Read} with what was shown
 */
export function readAfter ({ read_before: readBefore, read }, mark, now) {
  const [time, ...shown] = mark.split('.')
  const upToMs = Math.max(readBefore.getTime(), Math.min(Number(time), now.getTime()) - COMMIT_MAX_MS)
  const ids = [...new Set([...read.map(String), ...shown])].map((id) => new mongoose.Types.ObjectId(id))
  return {
    read_before: new Date(upToMs),
    read: ids.filter((_id) => timeOf({ _id }) >= upToMs).slice(-READ_MAX)
  }
}

/**
 * Their own changes are not new to them, nor what was there before they watched it.
 * @param {Watcher} watcher @param {(name: string) => string} keyOf  of a user's name
 * @returns {(item: RevisionItem) => boolean} whether the change is new to them
 */
export function isNewTo ({ _id: user, pages, authors, read_before: readBefore, read }, keyOf) {
  const known = new Set(read.map(String))
  const since = (/** @type {Watcher['pages']} */ list) => new Map(list.map((each) => [each.name, each.since.getTime()]))
  const [sincePage, sinceAuthor] = [since(pages), since(authors)]
  return (item) => {
    // Who watches a page also watches its talk page.
    const pageSinceMs = [item.page, pageOfTalk(item.page) ?? ''].map((name) => sincePage.get(name) ?? Infinity)
    const watchedSinceMs = Math.min(...pageSinceMs, sinceAuthor.get(item.author) ?? Infinity)
    return timeOf(item) >= Math.max(watchedSinceMs, readBefore.getTime()) && !known.has(String(item._id)) &&
      keyOf(item.author) !== user
  }
}

/** An id has whole seconds, and is made when a change begins. @param {Date} date */
export const asIdsHave = (date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

/** @param {{_id: Types.ObjectId}} item */
const timeOf = ({ _id }) => _id.getTimestamp().getTime()
