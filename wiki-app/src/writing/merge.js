import { changesOf, linesOf } from '../history/difference.js'
import { withMarkers } from './markers.js'

/** @import {Merged, Texts} from './markers.js' */

/**
 * A three-way merge of lines. A change of one side is taken; changes of both sides to the same or to touching lines are
 * a conflict, unless they are equal. The differences are bounded as in difference.js: what differs too much is one
 * change. (S. Khanna, K. Kunal, B. C. Pierce: A Formal Investigation of Diff3, 2007)
 * @param {Texts} texts @returns {Merged}
 */
export function merge ({ base, mine, theirs, revision }) {
  // A form's text has no CRLF, so a stored one would differ in every line.
  const [baseLines, mineLines, theirLines] = [base, mine, theirs].map((text) => linesOf(text.replaceAll('\r\n', '\n')))
  const sides = [mineLines, theirLines].map((lines) => ({ lines, hunks: hunksOf(baseLines, lines) }))
  /** @type {string[]} */
  const merged = []
  let at = 0
  let conflicts = 0
  for (const { start, end } of regionsOf(sides.flatMap(({ hunks }) => hunks))) {
    append(merged, baseLines.slice(at, start))
    const [own, other] = sides.map((side) => versionOf(side, start, end))
    if (own === null || other === null) append(merged, own ?? other ?? [])
    else if (isSame(own, other)) append(merged, own)
    else {
      conflicts += 1
      append(merged, conflictOf(own, other, revision))
    }
    at = end
  }
  append(merged, baseLines.slice(at))
  return { content: merged.join(''), conflicts }
}

/**
 * Lines `start` to `end` of the base became lines `newStart` to `newEnd`; ends are exclusive.
 * @typedef {{start: number, end: number, newStart: number, newEnd: number}} Hunk
 */

/** @param {string[]} before @param {string[]} after */
function hunksOf (before, after) {
  /** @type {Hunk[]} */
  const hunks = []
  let [at, newAt] = [0, 0]
  for (const { kind, count } of changesOf(before, after)) {
    const [start, newStart] = [at, newAt]
    if (kind !== 'added') at += count
    if (kind !== 'removed') newAt += count
    if (kind === 'same') continue
    const last = hunks.at(-1)
    if (last?.end === start && last.newEnd === newStart) Object.assign(last, { end: at, newEnd: newAt })
    else hunks.push({ start, end: at, newStart, newEnd: newAt })
  }
  return hunks
}

/** Hunks that overlap or touch are one region. @param {Hunk[]} hunks  of both sides */
function regionsOf (hunks) {
  /** @type {{start: number, end: number}[]} */
  const regions = []
  for (const { start, end } of [...hunks].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = regions.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else regions.push({ start, end })
  }
  return regions
}

/**
 * @param {{lines: string[], hunks: Hunk[]}} side @param {number} start @param {number} end
 * @returns {string[] | null} its lines for this region of the base; null: it did not change them
 */
function versionOf ({ lines, hunks }, start, end) {
  const within = hunks.filter((hunk) => hunk.start >= start && hunk.end <= end)
  if (within.length === 0) return null
  const [first, last] = [within[0], within[within.length - 1]]
  return lines.slice(first.newStart - (first.start - start), last.newEnd + (end - last.end))
}

/**
 * Without the lines that both have at its beginning and end.
 * @param {string[]} own @param {string[]} other @param {number} revision  of `other`
 */
function conflictOf (own, other, revision) {
  const shorter = Math.min(own.length, other.length)
  let head = 0
  while (head < shorter && own[head] === other[head]) head++
  let tail = 0
  while (tail < shorter - head && own[own.length - 1 - tail] === other[other.length - 1 - tail]) tail++
  const [mine, theirs] = [own, other].map((lines) => lines.slice(head, lines.length - tail))
  return [...own.slice(0, head), ...withMarkers(mine, theirs, revision), ...own.slice(own.length - tail)]
}

/** Spread arguments have a limit. @param {string[]} lines @param {string[]} more */
function append (lines, more) {
  for (const line of more) lines.push(line)
}

/** @param {string[]} some @param {string[]} others */
const isSame = (some, others) => some.length === others.length && some.every((line, index) => line === others[index])
