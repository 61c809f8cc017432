/** @import {Schedule} from './buffered.js' */

/**
 * Commits each save right after its answer, in a transaction of its own.
 * @type {Schedule}
 */
export function unsafeAsync ({ commitAlone }) {
  let batches = 0
  return {
    add (save) {
      batches++
      setImmediate(commitAlone, save)
    },
    hurry () {},
    batches: () => batches
  }
}
