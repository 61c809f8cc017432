/** @import {ReplayEvent} from './schedule.js' */

/** @param {Pick<ReplayEvent, 'class' | 'page'>} event @returns {string} names a page in URLs and as Cache-Tag */
export const nameOf = (event) => `${event.class}-${event.page}`

/**
 * The versions of the pages: how often each was edited, and when. Times are in milliseconds of one clock.
 */
export function createPages () {
  /** @type {Map<string, number[]>} */
  const edits = new Map()
  return {
    /** @param {string} name @returns {number} 0 before its first edit */
    version: (name) => edits.get(name)?.length ?? 0,
    /** @param {string} name @param {number} nowMs */
    edit (name, nowMs) {
      const times = edits.get(name)
      if (times === undefined) edits.set(name, [nowMs])
      else times.push(nowMs)
    },
    /** @param {string} name @param {number} version  an outdated one @returns {number} when that became outdated */
    outdatedAt: (name, version) => /** @type {number[]} */ (edits.get(name))[version]
  }
}

/** @typedef {ReturnType<typeof createPages>} Pages */
