import { createCollector } from './collector.js'
import { insertBatch } from './insert.js'

/**
 * @type {import('./index.js').Make} Collects, inserts the collected records in one command, then answers all of them.
 */
export const createGroupCommit = ({ records, gatherMax, gatherMs }) => ({
  answersAfter: true,
  ...createCollector({ max: gatherMax, ms: gatherMs, insert: (batch) => insertBatch(records, batch) })
})
