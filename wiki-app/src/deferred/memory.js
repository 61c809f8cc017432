import { bufferFull } from './errors.js'
import { sizeOf } from './save.js'

/** @import {DeferredSave} from './save.js' */

/** So many seconds' work may wait: a wiki that stops has three times as long to store it. */
const WORK_MAX_S = 3

/**
 * The saves that this process has acknowledged and not stored yet.
 * @param {{maxRecords: number, maxBytes: number}} limits @param {Pick<import('./pace.js').Pace, 'perSecond'>} pace
 */
export function createMemory ({ maxRecords, maxBytes }, pace) {
  /** @type {Map<string, DeferredSave>} */
  const saves = new Map()
  let bytes = 0
  /** @type {(() => void)[]} */
  let whenEmpty = []

  return {
    /** @param {number} size  bytes of one more @throws {Error} 503 when it does not fit */
    refuseWhenFull (size) {
      const most = Math.min(maxRecords, Math.ceil(WORK_MAX_S * pace.perSecond()))
      if (saves.size >= most || bytes + size > maxBytes) throw bufferFull()
    },

    /** @param {DeferredSave} save */
    add (save) {
      saves.set(save.id, save)
      bytes += sizeOf(save)
    },

    /** @param {DeferredSave} save */
    remove (save) {
      if (!saves.delete(save.id)) return
      bytes -= sizeOf(save)
      if (saves.size > 0) return
      for (const resolve of whenEmpty) resolve()
      whenEmpty = []
    },

    /** @param {string} id @param {string} name */
    has: (id, name) => saves.get(id)?.name === name,

    size: () => ({ records: saves.size, bytes }),

    /** @returns {Promise<void>} */
    empty: () => saves.size === 0 ? Promise.resolve() : new Promise((resolve) => whenEmpty.push(resolve))
  }
}
