import { createBatchLoader } from '../database/batch-loader.js'
import { aboutCommand } from './command-spans.js'

/** @import {Active, Steps} from './steps.js' */

/**
 * Requests that share a read of the database each get a span for it. The command itself is below the first of them; the
 * others link to that one. Its span is made here, and not by the driver's events: the context of a page view on the
 * fast path ends with the call.
 * @param {Steps} steps
 * @returns {typeof createBatchLoader}
 */
export function createSharedReads (steps) {
  return ({ readMany, keysMax, source }) => {
    /** @type {Map<string, Active[]>} */
    const waiting = new Map()

    /** @param {string[]} keys */
    function readTraced (keys) {
      const [first, ...others] = keys.flatMap((key) => waiting.get(key) ?? [])
      if (first === undefined) return readMany(keys)
      for (const key of keys) waiting.delete(key)
      for (const { span } of [first, ...others]) span.setAttribute('stevec.batch.size', keys.length)
      for (const { span } of others) span.addLink({ context: first.span.spanContext() })
      const about = aboutCommand({
        operation: 'find', namespace: source.db.name, collection: source.collection.name
      })
      return steps.atOnce(first, () => steps.step(about.name, () => steps.outside(() => readMany(keys)), about))
    }

    const load = createBatchLoader({
      readMany: (keys) => waiting.size === 0 ? steps.outside(() => readMany(keys)) : readTraced(keys), keysMax, source
    })

    /** @param {string} key */
    function loadTraced (key) {
      waiting.set(key, [...waiting.get(key) ?? [], /** @type {Active} */ (steps.active())])
      return load(key)
    }

    return (key) => steps.active() === undefined ? load(key) : steps.step('read', () => loadTraced(key))
  }
}
