import { countOf } from '../count-of.js'

/** Beyond these, a list of what is wrong says no more. */
const NAMED_MAX = 3

/**
 * Compares whole lists with the changes that were acknowledged: each list has each of them, once.
 * @param {Iterable<string>} acknowledged
 * @param {{watcher: string, changes: string[]}[]} lists
 * @returns {{missing: string[], twice: string[]}} `watcher: change`
 */
export function compareLists (acknowledged, lists) {
  const expected = [...acknowledged]
  /** @type {string[]} */
  const missing = []
  /** @type {string[]} */
  const twice = []
  for (const { watcher, changes } of lists) {
    const found = new Set()
    for (const change of changes) {
      if (found.has(change)) twice.push(`${watcher}: ${change}`)
      found.add(change)
    }
    missing.push(...expected.filter((change) => !found.has(change)).map((change) => `${watcher}: ${change}`))
  }
  return { missing, twice }
}

/**
 * @param {ReturnType<typeof compareLists>} compared
 * @param {{is_done: boolean, set_aside: number, items_written: number, items_expected: {least: number, most: number}}}
 *   facts
 * @returns {string[]} why the trial is invalid, in sentences
 */
export function problemsOfFeeds ({ missing, twice }, facts) {
  const problems = []
  const some = (/** @type {string[]} */ which) =>
    which.slice(0, NAMED_MAX).join('; ') + (which.length > NAMED_MAX ? '; …' : '')
  if (missing.length > 0) problems.push(`${countOf(missing.length, 'change')} missing in a list: ${some(missing)}`)
  if (twice.length > 0) problems.push(`${countOf(twice.length, 'change')} twice in a list: ${some(twice)}`)
  if (!facts.is_done) problems.push('after two minutes the queue was not empty')
  if (facts.set_aside > 0) problems.push(`the queue gave up ${countOf(facts.set_aside, 'task')}`)
  const { items_expected: least } = facts
  if (facts.items_written < least.least || facts.items_written > least.most) {
    problems.push(`${countOf(facts.items_written, 'item')} written, expected ${least.least} to ${least.most}`)
  }
  return problems
}
