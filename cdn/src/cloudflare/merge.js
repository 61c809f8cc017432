import { isDeepStrictEqual } from 'node:util'

/** @typedef {import('./state.js').Rule} Rule */

/**
 * Returns a rule without the fields that Cloudflare sets on each write.
 * @param {Rule} rule
 * @returns {Rule}
 */
export function contentOf ({ id: _id, version: _version, last_updated: _lastUpdated, ...content }) {
  return content
}

/**
 * Returns a rule's identity. A ref is unique in its ruleset. It is the rule's first id unless somebody chose it, and it
 * survives when a rule is removed and written again, unlike the id.
 * @param {Rule} rule
 */
export const keyOf = (rule) => rule.ref ?? JSON.stringify(contentOf(rule))

/**
 * Merges three-way: applies the changes from `before` to `after` to `current`. A rule that `after` removed is dropped.
 * A rule that `after` added or changed is as in `after`; any other rule is as in `current`. The order is that of
 * `current`, unless `after` moved rules. A rule that is missing in that order stands before its successor in the other.
 * @param {Rule[]} current
 * @param {Rule[]} before
 * @param {Rule[]} after
 * @returns {Rule[]} contents, without ids
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
 * Inserts the items that only the second list has into the first: before their successor there, or at the end.
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
