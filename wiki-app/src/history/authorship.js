import { changesOf, linesOf } from './difference.js'
import { markWords } from './marked-words.js'

/** @import {DifferenceLine} from './difference.js' */

/** @typedef {{text: string, revision: number}} Run  words that a revision brought */
/** @typedef {{text: string, runs: Run[]}} Line  `text` with its line break, `runs` without */
/** @typedef {Extract<DifferenceLine, {text: string}>} Changed  without line break */
/**
 * Lines that stay, and then those that go and those that come: `removed` are of the lines `gone`, `added` of `texts`.
 * @typedef {{same: Line[], gone: Line[], removed: Changed[], texts: string[], added: Changed[]}} Part
 */

/**
 * Which revision brought which words of the last text. Words that moved to another line are new there. A text that was
 * there before, such as after a revert, is that of before.
 * @param {{revision: number, text: string}[]} versions  of one page, the oldest first
 * @returns {Run[][]} of each line
 */
export function authorship (versions) {
  /** @type {Map<string, Line[]>} */
  const known = new Map()
  /** @type {Line[]} */
  let lines = []
  for (const { revision, text } of versions) {
    lines = known.get(text) ?? linesAfter(lines, linesOf(text), revision)
    known.set(text, lines)
  }
  return lines.map(({ runs }) => runs)
}

/** @param {Line[]} lines @param {string[]} texts  of the lines of the next version @param {number} revision */
function linesAfter (lines, texts, revision) {
  const parts = partsOf(lines, texts)
  // All at once: what marking may take is bounded for both texts, not for each part.
  markWords(parts.flatMap(({ removed, added }) => [...removed, ...added, SAME]), new Set())
  return parts.flatMap((part) => [...part.same, ...linesOfPart(part, revision)])
}

/** @type {Changed} */
const SAME = { kind: 'same', text: '' }

/** @param {Line[]} lines @param {string[]} texts */
function partsOf (lines, texts) {
  /** @type {Part[]} */
  const parts = []
  let [oldAt, newAt] = [0, 0]
  for (const { kind, count } of changesOf(lines.map(({ text }) => text), texts)) {
    if (kind === 'same' || parts.length === 0) parts.push({ same: [], gone: [], removed: [], texts: [], added: [] })
    const part = parts[parts.length - 1]
    const [olds, news] = [lines.slice(oldAt, oldAt + count), texts.slice(newAt, newAt + count)]
    if (kind === 'same') part.same = olds
    else if (kind === 'added') [part.texts, part.added] = [news, news.map((text) => changed(kind, text))]
    else [part.gone, part.removed] = [olds, olds.map(({ text }) => changed(kind, text))]
    if (kind !== 'added') oldAt += count
    if (kind !== 'removed') newAt += count
  }
  return parts
}

/** @param {'added' | 'removed'} kind @param {string} text @returns {Changed} */
const changed = (kind, text) => ({ kind, text: withoutBreak(text) })

/** @param {string} text */
const withoutBreak = (text) => text.replace(/\n$/, '')

/** @param {Part} part @param {number} revision @returns {Line[]} the new ones */
function linesOfPart ({ gone, removed, texts, added }, revision) {
  const kept = createKept(gone.flatMap(({ runs }, index) => keptOf(runs, removed[index].words ?? [])))
  // Of two lines that differ in their line break alone, no words are marked.
  const whole = new Map(gone.filter((_, index) => removed[index].words === undefined)
    .map(({ text, runs }) => [withoutBreak(text), runs]))
  return added.map(({ text, words }, index) => ({
    text: texts[index],
    runs: words === undefined
      ? whole.get(text) ?? [{ text, revision }]
      : joined(words.flatMap((word) => word.changed ? [{ text: word.text, revision }] : kept(word.text.length)))
  }))
}

/** What stays of a line. @param {Run[]} runs @param {import('./difference.js').Word[]} words @returns {Run[]} */
function keptOf (runs, words) {
  const take = createKept(runs)
  return words.flatMap(({ text, changed }) => {
    const taken = take(text.length)
    return changed ? [] : taken
  })
}

/** Takes characters from runs, one after the other. @param {Run[]} runs */
function createKept (runs) {
  let [index, at] = [0, 0]
  return (/** @type {number} */ length) => {
    /** @type {Run[]} */
    const taken = []
    for (let left = length; left > 0 && index < runs.length;) {
      const { text, revision } = runs[index]
      const piece = text.slice(at, at + left)
      if (piece !== '') taken.push({ text: piece, revision })
      left -= piece.length
      at += piece.length
      if (at === text.length) [index, at] = [index + 1, 0]
    }
    return taken
  }
}

/** White space alone is no contribution. @param {Run[]} runs @returns {Run[]} */
function joined (runs) {
  /** @type {Run[]} */
  const all = []
  for (const run of runs) {
    const last = all.at(-1)
    if (last !== undefined && (last.revision === run.revision || !/\S/.test(run.text))) last.text += run.text
    else all.push({ ...run })
  }
  return all
}
