/** Of two lines, the part of their characters that both have; below it they are two lines, not one that changed. */
export const ALIKE_MIN = 1 / 3
/** The table of pairs. */
const PAIRS_MAX = 10_000

/** @typedef {{chars: number, byToken: [string, number][], count: Map<string, number>}} Bag  without white space */

/**
 * Pairs lines that resemble each other, in their order, so that the pairs have as much as possible in common. More
 * lines than can be compared with each other are paired one by one, alike or not.
 * @param {string[][]} removed @param {string[][]} added  tokens of each line
 * @param {{steps: number}} left  that may still be taken, see marked-words.js
 * @returns {[number, number][]} indexes
 */
export function pairsOf (removed, added, left) {
  const cost = removed.length * added.reduce((sum, { length }) => sum + length + 1, 0)
  if (removed.length * added.length > PAIRS_MAX || cost > left.steps) {
    return Array.from({ length: Math.min(removed.length, added.length) }, (_, index) => [index, index])
  }
  left.steps -= cost
  const [olds, news] = [removed, added].map((lines) => lines.map(bagOf))
  const width = news.length + 1
  const alike = new Float64Array((olds.length + 1) * width)
  /** What the lines from there on have in common at best. */
  const best = new Float64Array(alike.length)
  for (let i = olds.length - 1; i >= 0; i--) {
    for (let j = news.length - 1; j >= 0; j--) {
      const at = i * width + j
      alike[at] = alikeness(olds[i], news[j])
      best[at] = Math.max(best[at + width], best[at + 1], paired(at))
    }
  }
  /** @param {number} at */
  function paired (at) { return alike[at] < ALIKE_MIN ? 0 : alike[at] + best[at + width + 1] }

  /** @type {[number, number][]} */
  const pairs = []
  for (let i = 0, j = 0; i < olds.length && j < news.length;) {
    const at = i * width + j
    if (alike[at] >= ALIKE_MIN && best[at] === paired(at)) pairs.push([i++, j++])
    else if (best[at] === best[at + width]) i++
    else j++
  }
  return pairs
}

/** @param {string[]} tokens @returns {Bag} */
function bagOf (tokens) {
  /** @type {Map<string, number>} */
  const count = new Map()
  let chars = 0
  for (const token of tokens) {
    if (!/\S/.test(token)) continue
    count.set(token, (count.get(token) ?? 0) + 1)
    chars += token.length
  }
  return { chars, byToken: [...count], count }
}

/** @param {Bag} one @param {Bag} other */
function alikeness (one, other) {
  if (one.chars + other.chars === 0) return ALIKE_MIN
  let shared = 0
  for (const [token, times] of other.byToken) shared += token.length * Math.min(times, one.count.get(token) ?? 0)
  return 2 * shared / (one.chars + other.chars)
}
