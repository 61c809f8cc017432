import mongoose from 'mongoose'
import { NAME_ORDER } from '../pages/model.js'

/** @import {Models, Tag} from '../pages/model.js' */
/** @import {Found, PageItem, Part} from './search.js' */

/** @typedef {PageItem & {day: string}} OverdueItem  `day`: `2027-01-31` */

const WORD = 'review '
const REVIEW_TAG = new RegExp(`^${WORD}\\d{4}-\\d{2}-\\d{2}$`)
/** Of an item in the list: the day, and the page's name. */
export const OVERDUE_POSITION = '^\\d{4}-\\d{2}-\\d{2} .'
const DAY_CHARS = '2027-01-31'.length

/**
 * A tag `review 2027-01-31` says by which day a page is to be read through again. So the date has a history, and goes
 * with the page into an export.
 * @param {Pick<Models, 'Tags'>} models
 * @param {(part: Part & {tag: string}) => Promise<Found<PageItem>>} byTag
 */
export const createOverdue = ({ Tags }, byTag) =>
  /**
   * Pages whose day is over (UTC), the oldest first; once for each such tag.
   * @param {Part} part  `after`: an OVERDUE_POSITION @returns {Promise<Found<OverdueItem>>}
   */
  async function overdue ({ after, limit }) {
    const [from, last] = after === undefined ? ['0', undefined] : [dayIn(after), after.slice(DAY_CHARS + 1)]
    const today = new Date().toISOString().slice(0, DAY_CHARS)
    /** @type {Tag[]} */
    const tags = await Tags
      .find({ _id: mongoose.trusted({ $gte: WORD + from, $lt: WORD + today, $regex: REVIEW_TAG }) })
      .collation(NAME_ORDER)
      .sort({ _id: 1 })
      .limit(limit + 1)
      .lean()
      .exec()
    /** @type {OverdueItem[]} */
    const items = []
    for (const { _id: tag } of tags) {
      const day = tag.slice(WORD.length)
      const found = await byTag({ tag, after: day === from ? last : undefined, limit: limit + 1 - items.length })
      items.push(...found.items.map((page) => ({ ...page, day })))
      if (items.length > limit) return { items: items.slice(0, limit), more: true }
    }
    // Each has a page, but for the first, whose pages may have been listed.
    return { items, more: tags.length > limit }
  }

/** @param {string} position */
const dayIn = (position) => position.slice(0, DAY_CHARS)

/** @param {OverdueItem} item @returns {string} its OVERDUE_POSITION */
export const overduePosition = ({ _id: name, day }) => `${day} ${name}`
