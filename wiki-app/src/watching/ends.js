/** @import {WatchedPage} from './model.js' */

const DAY_MS = 86_400_000
/** What the form offers; 0 is for good. */
export const OFFERED_DAYS = [0, 7, 30, 91, 365]
export const DAYS_MAX = 366

/** @param {number} days  0: for good @returns {Date | undefined} */
export const endAfter = (days) => days === 0 ? undefined : new Date(Date.now() + days * DAY_MS)

/** @param {Pick<WatchedPage, 'until'>} page */
const endMsOf = ({ until }) => until?.getTime() ?? Infinity

/** @param {Pick<WatchedPage, 'until'>} page @param {Date} now */
export const isWatchedAt = (page, now) => endMsOf(page) > now.getTime()

/** In a filter, of one in the list, as `isWatchedAt`. @param {Date} now */
export const watchedAt = (now) => ({ until: { $not: { $lte: now } } })

/** Of the same page. @param {WatchedPage} first @param {WatchedPage} second @returns {WatchedPage} as long as either */
export const bothOf = (first, second) => ({
  ...endMsOf(second) > endMsOf(first) ? second : first,
  since: first.since < second.since ? first.since : second.since
})
