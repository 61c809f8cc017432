import { createHash } from 'node:crypto'
import mongoose from 'mongoose'

/** @import {Types} from 'mongoose' */

const HEX = 16
const SECONDS_MAX = 0xFFFFFFFF
const COUNTER_MAX = 0xFFFFFF
/** An edit that is made here in this second gets an id that need not be larger than one of ours. */
const AGO_MS = 2_000

/**
 * When a revision was made, as far as the wiki can have it: not in the future, and not before the one that it follows.
 * @param {Date} given  of the other wiki, whose clock may be wrong @param {Date | null} previous @param {number} nowMs
 * @returns {Date}
 */
export function dateAfter (given, previous, nowMs) {
  const ms = Number.isNaN(given.getTime()) ? 0 : given.getTime()
  return new Date(Math.max(0, previous?.getTime() ?? 0, Math.min(ms, nowMs - AGO_MS)))
}

/**
 * Ids of a page's revisions. Lists of changes are sorted by id, so an id has the time of its revision, and the ids of a
 * page grow with its numbers, also where two runs have written them.
 * https://www.mongodb.com/docs/manual/reference/bson-types/#objectid
 * @param {string} key  of the page: pages have different ids in the same second
 */
export function createIds (key) {
  const middle = createHash('sha256').update(key).digest('hex').slice(0, 10)
  /** @param {Date} at @param {number} number  of the revision @param {Types.ObjectId | null} previous */
  return function idAfter (at, number, previous) {
    const before = previous?.toHexString() ?? ''
    // Not before the second of the previous one; in that second an id of another process may be larger than ours.
    const least = before === '' ? 0 : parseInt(before.slice(0, 8), HEX)
    const seconds = Math.max(least, Math.min(Math.floor(at.getTime() / 1000), SECONDS_MAX))
    const end = middle + hex(number % (COUNTER_MAX + 1), 6)
    const id = hex(seconds, 8) + end
    return new mongoose.Types.ObjectId(id > before ? id : hex(seconds + 1, 8) + end)
  }
}

/** @param {number} number @param {number} digits */
const hex = (number, digits) => number.toString(HEX).padStart(digits, '0')
