import { diffArrays } from 'diff'
import { ALIKE_MIN, pairsOf } from './line-pairs.js'
import { tokensOf } from './tokens.js'

/** @import {DifferenceLine, Word} from './difference.js' */

/** A longer line stays whole. */
const LINE_MAX_CHARS = 4_000
const EDITS_MAX = 100
/** Of all lines: what the page grows by is bounded. */
const MARKS_MAX = 1_000
/** Each takes some 50 ns, a character to segment a microsecond. No time: all machines show the same (decision 19). */
const STEPS_MAX = 400_000
const SEGMENTED_MAX_CHARS = 20_000

/** @typedef {{steps: number, chars: number, marks: number}} Left  what may still be done */
/** @typedef {{same: string} | {removed: string, added: string}} Part */

/**
 * Gives lines that replace similar ones their `words`. What takes too many steps stays whole.
 * @param {DifferenceLine[]} lines @param {Set<DifferenceLine>} shortened  lines whose end is not there
 */
export function markWords (lines, shortened) {
  const left = { steps: STEPS_MAX, chars: SEGMENTED_MAX_CHARS, marks: MARKS_MAX }
  for (let at = 0; at < lines.length && left.steps > 0 && left.marks > 0;) {
    const removed = runOf('removed', lines, at)
    const added = runOf('added', lines, at + removed.length)
    const [olds, news] = [removed, added].map((run) => run.filter((line) => !shortened.has(line) && isShort(line)))
    if (olds.length > 0 && news.length > 0) markRun(olds, news, left)
    at += Math.max(1, removed.length + added.length)
  }
}

/** @typedef {Extract<DifferenceLine, {text: string}>} Line */

/** @param {'removed' | 'added'} kind @param {DifferenceLine[]} lines @param {number} start @returns {Line[]} */
function runOf (kind, lines, start) {
  let end = start
  while (end < lines.length && lines[end].kind === kind) end++
  return /** @type {Line[]} */ (lines.slice(start, end))
}

/** @param {Line} line */
const isShort = ({ text }) => text.length <= LINE_MAX_CHARS

/** @param {Line[]} removed @param {Line[]} added @param {Left} left */
function markRun (removed, added, left) {
  /** @type {[string[][], string[][]]} */
  const [olds, news] = [[], []]
  // In turns, so that what may be segmented is enough for as many of both.
  for (let at = 0; at < Math.max(removed.length, added.length); at++) {
    if (at < removed.length) olds.push(tokensOf(removed[at].text, left))
    if (at < added.length) news.push(tokensOf(added[at].text, left))
  }
  for (const [from, to] of pairsOf(olds, news, left)) {
    if (left.steps <= 0 || left.marks <= 0) return
    if (removed[from].text === added[to].text) continue
    const parts = partsOf(olds[from], news[to], left)
    if (parts === null || !areAlike(parts)) continue
    const joined = joinReplaced(parts)
    left.marks -= joined.length
    removed[from].words = wordsOf(joined, 'removed')
    added[to].words = wordsOf(joined, 'added')
  }
}

/**
 * @param {string[]} removed @param {string[]} added  tokens @param {Left} left
 * @returns {Part[] | null} null: too many edits
 */
function partsOf (removed, added, left) {
  const comparator = (/** @type {string} */ one, /** @type {string} */ other) => {
    left.steps--
    return one === other
  }
  const found = diffArrays(removed, added, { maxEditLength: EDITS_MAX, comparator })
  if (found === undefined) {
    left.steps -= EDITS_MAX ** 2
    return null
  }
  /** @type {Part[]} */
  const parts = []
  for (const { value, added: isAdded, removed: isRemoved } of found) {
    const text = value.join('')
    const last = parts.at(-1)
    if (!isAdded && !isRemoved) parts.push({ same: text })
    else {
      const change = last !== undefined && 'removed' in last ? last : { removed: '', added: '' }
      change[isAdded ? 'added' : 'removed'] += text
      if (change !== last) parts.push(change)
    }
  }
  return parts
}

/** White space does not count, but where there is nothing else. @param {Part[]} parts */
function areAlike (parts) {
  let [same, all] = [0, 0]
  for (const part of parts) {
    if ('same' in part) same += 2 * inkOf(part.same)
    else all += inkOf(part.removed) + inkOf(part.added)
  }
  return all === 0 || same / (same + all) >= ALIKE_MIN
}

/** @param {string} text */
const inkOf = (text) => text.replace(/\s+/g, '').length

/** Words that are replaced one after the other are one change, which is easier to read. @param {Part[]} parts */
function joinReplaced (parts) {
  const isReplaced = (/** @type {Part | undefined} */ part) =>
    part !== undefined && 'removed' in part && part.removed !== '' && part.added !== ''
  /** @type {Part[]} */
  const joined = []
  for (let at = 0; at < parts.length; at++) {
    const [last, part, next] = [joined.at(-1), parts[at], parts[at + 1]]
    if (last !== undefined && 'removed' in last && 'same' in part && !/\S/.test(part.same) &&
      isReplaced(last) && next !== undefined && 'removed' in next && isReplaced(next)) {
      last.removed += part.same + next.removed
      last.added += part.same + next.added
      at++
    } else joined.push(part)
  }
  return joined
}

/** @param {Part[]} parts @param {'removed' | 'added'} side */
function wordsOf (parts, side) {
  /** @type {Word[]} */
  const words = []
  for (const part of parts) {
    const changed = !('same' in part)
    const text = changed ? part[side] : part.same
    const last = words.at(-1)
    if (last !== undefined && last.changed === changed) last.text += text
    else if (text !== '') words.push({ text, changed })
  }
  return words
}
