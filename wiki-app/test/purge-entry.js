import { purgeTasks } from '../src/caching/purge-entries.js'

/**
 * As an edit leaves it in the queue.
 * @param {string[]} urls @param {{dueAt?: Date, api?: string}} [options]  default: due since long ago
 */
export const purgeEntry = (urls, { dueAt = new Date(0), api } = {}) => ({
  ...purgeTasks([{ everything: false, urls, tags: [] }], api)[0],
  done_up_to: '',
  due_at: dueAt,
  claim: null,
  failures: 0
})
