import { createBatchLoader } from '../database/batch-loader.js'

/** @import {Active, Steps} from './steps.js' */

/**
 * Requests that share a read of the database each get a span for it. The command itself is below the first of them;
 * the others link to that one.
 * @param {Steps} steps
 * @returns {typeof createBatchLoader}
 */
export function createSharedReads (steps) {
  return ({ readMany, keysMax }) => {
    /** @type {Map<string, Active[]>} */
    const waiting = new Map()

    const load = createBatchLoader({
      keysMax,
      readMany: (keys) => {
        const [first, ...others] = keys.flatMap((key) => waiting.get(key) ?? [])
        for (const key of keys) waiting.delete(key)
        if (first === undefined) return steps.outside(() => readMany(keys))
        for (const { span } of [first, ...others]) span.setAttribute('stevec.batch.size', keys.length)
        for (const { span } of others) span.addLink({ context: first.span.spanContext() })
        return steps.within(first, () => readMany(keys))
      }
    })

    return (key) => steps.step('read', () => {
      const active = steps.active()
      if (active !== undefined) waiting.set(key, [...waiting.get(key) ?? [], active])
      return load(key)
    })
  }
}
