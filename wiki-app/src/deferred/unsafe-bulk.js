import { createCollector } from './collector.js'

/** @import {Schedule} from './buffered.js' */

/**
 * Collects saves, then commits them in as few transactions as fit.
 * @type {Schedule}
 */
export const unsafeBulk = ({ max, waitMs, commitTogether }) =>
  createCollector({ max, waitMs, onBatch: (saves) => saves.forEach(commitTogether) })
