import { request } from '@stevec/harness/request'
import { countOf } from '../count-of.js'
import { checkedCount, sumOf } from './counter.js'

/** @typedef {import('./counter.js').Counter} Counter */
/** @typedef {{epoch: string, count: Counter}} Total  since the epoch began */

/**
 * `count`: between two readings; null if the epoch changed, as totals of two epochs cannot be subtracted.
 * @typedef {{epoch: string, epoch_after: string | null, count: Counter | null}} WikiCount
 * @typedef {{each: (WikiCount | null)[], sum: Counter | null}} WikiTotals  `each`: null for a wiki without totals;
 *   `sum`: null unless each wiki has a count
 */

/**
 * Reads the totals of each wiki, which no reading resets. Asks the wikis directly, and they do not count it.
 * @param {string[]} wikiUrls
 * @returns {Promise<(Total | null)[]>} null: the wiki has no such route, and may have counted the question
 * @throws {Error} when a wiki does not answer, or answers something else
 */
export const readTotals = (wikiUrls) => Promise.all(wikiUrls.map(readTotal))

/** @param {string} wikiUrl @returns {Promise<Total | null>} */
async function readTotal (wikiUrl) {
  const { status, body } = await request(`${wikiUrl}/api/v1/counter`)
  if (status === 404) return null
  if (status !== 200) throw new Error(`the totals of the counter answered ${status}: ${body}`)
  const { epoch, count } = JSON.parse(body)
  if (typeof epoch !== 'string') throw new Error(`the totals of the counter answered ${body}`)
  return { epoch, count: checkedCount(count, body) }
}

/**
 * Subtracts two readings of the same wikis.
 * @param {(Total | null)[]} before
 * @param {(Total | null)[]} after
 * @returns {WikiTotals | null} null if no wiki has totals
 */
export function totalsBetween (before, after) {
  const each = before.map((first, index) => {
    if (first === null) return null
    const last = after[index]
    const count = last?.epoch === first.epoch ? difference(last.count, first.count) : null
    return { epoch: first.epoch, epoch_after: last?.epoch ?? null, count }
  })
  if (each.every((one) => one === null)) return null
  const counts = each.flatMap((one) => one?.count ?? [])
  return { each, sum: counts.length === each.length ? sumOf(counts) : null }
}

/** @param {Counter} one @param {Counter} other @returns {Counter} */
const difference = (one, other) => ({
  requests: one.requests - other.requests,
  reads: one.reads - other.reads,
  writes: one.writes - other.writes
})

/**
 * Compares the totals with the counter that each reading resets. Both count the same requests, so they are equal.
 * @param {WikiTotals | null} totals
 * @param {Counter} counter
 * @returns {string[]} what is wrong, in sentences
 */
export function problemsOfTotals (totals, counter) {
  if (totals === null) return []
  const { each, sum } = totals
  const problems = each.flatMap((one, index) => one === null || one.count !== null
    ? []
    : [`${each.length === 1 ? 'the wiki' : `wiki ${index + 1}`} lost its count: it, or one of its processes, was ` +
      'started again during the trial'])
  if (sum !== null && ['requests', 'reads', 'writes'].some((name) =>
    sum[/** @type {keyof Counter} */ (name)] !== counter[/** @type {keyof Counter} */ (name)])) {
    problems.push(`the totals of ${countOf(each.length, 'wiki')} grew by ${inWords(sum)}, but the counter says ` +
      inWords(counter))
  }
  return problems
}

/** @param {Counter} counter */
const inWords = ({ requests, reads, writes }) =>
  `${countOf(requests, 'request')} (${countOf(reads, 'read')}, ${countOf(writes, 'write')})`
