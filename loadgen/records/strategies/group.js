import { createCollector } from './collector.js'
import { insertOne } from './insert.js'

const AT_ONCE = 100

/** @type {import('./index.js').Make} Answers, collects, then inserts the collected records one by one, 100 at once. */
export function createGroup ({ records, gatherMax, gatherMs }) {
  const collector = createCollector({
    max: gatherMax,
    ms: gatherMs,
    async insert (/** @type {import('./insert.js').Item[]} */ batch) {
      let next = 0
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, batch.length) }, async () => {
        while (next < batch.length) await insertOne(records, batch[next++])
      }))
    }
  })
  return { answersAfter: false, ...collector }
}
