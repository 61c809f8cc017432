import { createCollector } from './collector.js'
import { insertBatch } from './insert.js'

/** @type {import('./index.js').Make} Answers, collects, then inserts the collected records in one command. */
export const createBulk = ({ records, gatherMax, gatherMs }) => ({
  answersAfter: false,
  ...createCollector({ max: gatherMax, ms: gatherMs, insert: (batch) => insertBatch(records, batch) })
})
