import { createCollector } from './collector.js'

/** @import {Schedule} from './buffered.js' */

/**
 * Collects saves, then commits each in a transaction of its own, many in parallel.
 * @type {Schedule}
 */
export const unsafeGroup = ({ max, waitMs, commitAlone }) =>
  createCollector({ max, waitMs, onBatch: (saves) => saves.forEach(commitAlone) })
