import { diffArrays } from 'diff'
import { markWords } from './marked-words.js'

/** Work and memory grow with the square of the edits. */
const EDITS_MAX = 1_000
const CONTEXT_LINES = 3
/** Leaves room for later changes. */
const CHANGE_LINES_MAX = 500
const LINES_MAX = 2_000
const LINE_MAX_CHARS = 10_000
const CHARS_MAX = 100_000

/** @typedef {{text: string, changed: boolean}} Word  a piece of a line, with or without what is new or gone */

/**
 * `words`: the same text in pieces, where the line replaces a similar one or is replaced by it.
 * `gap`: unchanged lines left out; `cut`: too many to show.
 * @typedef {{kind: 'same' | 'added' | 'removed', text: string, words?: Word[]} |
 *   {kind: 'gap' | 'cut', lines: number}} DifferenceLine
 */

/** @typedef {{lines: DifferenceLine[], truncated: boolean}} Difference */

/**
 * 1 MiB of short lines takes half a second. Of texts with little in common, everything between the first and the last
 * change is replaced.
 * @param {{before: string, after: string}} texts
 */
export default function difference ({ before, after }) {
  const output = createOutput()
  if (before === after) return output.done()
  const [oldLines, newLines] = [linesOf(before), linesOf(after)]
  let [oldAt, newAt] = [0, 0]
  const changes = changesOf(oldLines, newLines)
  for (const [index, { kind, count }] of changes.entries()) {
    const lines = kind === 'added' ? newLines.slice(newAt, newAt + count) : oldLines.slice(oldAt, oldAt + count)
    if (kind !== 'added') oldAt += count
    if (kind !== 'removed') newAt += count
    if (kind === 'same') output.addSame(lines, { first: index === 0, last: index === changes.length - 1 })
    else output.addChange(kind, lines)
  }
  return output.done()
}

/** @typedef {{kind: 'same' | 'added' | 'removed', count: number}} Part  a run of lines */

/** @param {string} text @returns {string[]} each with its line break, so that `a` differs from `a\n` */
export const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? []

/** Removals precede additions. @param {string[]} oldLines @param {string[]} newLines */
export function changesOf (oldLines, newLines) {
  const shorter = Math.min(oldLines.length, newLines.length)
  let head = 0
  while (head < shorter && oldLines[head] === newLines[head]) head++
  let tail = 0
  while (tail < shorter - head && oldLines[oldLines.length - 1 - tail] === newLines[newLines.length - 1 - tail]) tail++
  const [removed, added] = [oldLines.slice(head, oldLines.length - tail), newLines.slice(head, newLines.length - tail)]
  /** @type {Part[]} */
  const parts = [{ kind: 'same', count: head }, ...finest(removed, added), { kind: 'same', count: tail }]
  return parts.filter(({ count }) => count > 0)
}

/**
 * Numbers compare as fast for long lines as for short ones, and copy no line.
 * @param {string[]} removed @param {string[]} added @returns {Part[]}
 */
function finest (removed, added) {
  /** @type {Map<string, number>} */
  const numbers = new Map()
  const numbered = (/** @type {string[]} */ lines) => lines.map((line) => {
    const number = numbers.get(line) ?? numbers.size
    numbers.set(line, number)
    return number
  })
  const found = diffArrays(numbered(removed), numbered(added), { maxEditLength: EDITS_MAX })
  if (found === undefined) return [{ kind: 'removed', count: removed.length }, { kind: 'added', count: added.length }]
  return found.map((part) => ({ kind: part.added ? 'added' : part.removed ? 'removed' : 'same', count: part.count }))
}

function createOutput () {
  /** @type {DifferenceLine[]} */
  const lines = []
  /** @type {Set<DifferenceLine>} */
  const shortened = new Set()
  let charsLeft = CHARS_MAX
  let hidden = 0
  let truncated = false

  /** @param {'same' | 'added' | 'removed'} kind @param {string[]} texts */
  function add (kind, texts) {
    const room = Math.max(0, Math.min(texts.length, LINES_MAX - lines.length))
    let shown = 0
    for (; shown < room && charsLeft > 0; shown++) {
      const whole = texts[shown].replace(/\n$/, '')
      const text = beginningOf(whole, Math.min(LINE_MAX_CHARS, charsLeft))
      charsLeft -= Math.max(1, text.length)
      const line = { kind, text }
      if (text !== whole) shortened.add(line)
      lines.push(line)
    }
    hidden += texts.length - shown
  }

  /** @param {'gap' | 'cut'} kind @param {number} count */
  function skip (kind, count) {
    if (hidden > 0) hidden += count
    else if (count > 0) lines.push({ kind, lines: count })
  }

  return {
    /**
     * @param {string[]} texts
     * @param {{first: boolean, last: boolean}} position  before the first, after the last change
     */
    addSame (texts, { first, last }) {
      const [head, tail] = [first ? 0 : CONTEXT_LINES, last ? 0 : CONTEXT_LINES]
      if (texts.length <= head + tail + 1) return add('same', texts)
      add('same', texts.slice(0, head))
      skip('gap', texts.length - head - tail)
      add('same', texts.slice(texts.length - tail))
    },

    /** @param {'added' | 'removed'} kind @param {string[]} texts */
    addChange (kind, texts) {
      add(kind, texts.slice(0, CHANGE_LINES_MAX))
      truncated ||= texts.length > CHANGE_LINES_MAX
      skip('cut', Math.max(0, texts.length - CHANGE_LINES_MAX))
    },

    /** @returns {Difference} */
    done () {
      if (hidden > 0) lines.push({ kind: 'cut', lines: hidden })
      markWords(lines, shortened)
      return { lines, truncated: truncated || hidden > 0 || shortened.size > 0 }
    }
  }
}

/** No surrogate pair is split. @param {string} text @param {number} charsMax */
function beginningOf (text, charsMax) {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, '')} …`
}
