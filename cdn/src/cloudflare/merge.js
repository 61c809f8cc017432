import { isDeepStrictEqual } from 'node:util'

/** @typedef {import('./state.js').Rule} Rule */

/**
 * A rule without what Cloudflare itself sets on each write.
 * @param {Rule} rule
 * @returns {Rule}
 */
export function contentOf ({ id: _id, version: _version, last_updated: _lastUpdated, ...content }) {
  return content
}

/**
 * What makes two rules the same one. A ref is unique in its ruleset, is the rule's first id unless somebody chose it,
 * and outlives the id when a rule is removed and written again.
 * @param {Rule} rule
 */
export const keyOf = (rule) => rule.ref ?? JSON.stringify(contentOf(rule))

/**
 * A three-way merge: what `after` changed against `before`, done to `current`. A rule that `after` removed is gone, one
 * that it added or changed is as `after` has it, any other is as `current` has it. The order is that of `current`,
 * unless `after` moved rules; a rule that the order does not name stands before the rule that follows it in the other.
 * @param {Rule[]} current
 * @param {Rule[]} before
 * @param {Rule[]} after
 * @returns {Rule[]} their contents
 */
export function mergeRules (current, before, after) {
  const [merged, was, is] = [current, before, after].map(byKey)
  for (const key of was.keys()) if (!is.has(key)) merged.delete(key)
  for (const [key, rule] of is) if (!isDeepStrictEqual(was.get(key), rule)) merged.set(key, rule)
  const [ours, theirs] = [current, after].map((rules) => rules.map(keyOf))
  const order = isMoved(was, is) ? weave(theirs, ours) : weave(ours, theirs)
  return order.flatMap((key) => merged.get(key) ?? [])
}

/**
 * @param {Rule[]} rules
 * @returns {Map<string, Rule>}
 */
const byKey = (rules) => new Map(rules.map((rule) => [keyOf(rule), contentOf(rule)]))

/**
 * @param {Map<string, Rule>} was
 * @param {Map<string, Rule>} is
 */
const isMoved = (was, is) =>
  !isDeepStrictEqual([...was.keys()].filter((key) => is.has(key)), [...is.keys()].filter((key) => was.has(key)))

/**
 * The first list with what only the second has: before its successor there, or at the end.
 * @param {string[]} first
 * @param {string[]} second
 */
function weave (first, second) {
  const woven = [...first]
  for (const [index, item] of [...second.entries()].reverse()) {
    if (woven.includes(item)) continue
    woven.splice(index + 1 < second.length ? woven.indexOf(second[index + 1]) : woven.length, 0, item)
  }
  return woven
}
