import { diffLines } from 'diff'

/** Beyond this the two texts are shown whole: a reader of such a difference learns nothing from the finest one. */
const DIFF_MAX_MS = 300
/** Unchanged lines around a change. */
const CONTEXT_LINES = 3

/**
 * @typedef {{kind: 'same' | 'added' | 'removed', text: string} | {kind: 'gap', lines: number}} DifferenceLine
 */

/**
 * How one text became another, line by line; long unchanged parts are left out.
 * @param {string} before
 * @param {string} after
 * @returns {DifferenceLine[]} empty when the texts are equal
 */
export function difference (before, after) {
  if (before === after) return []
  /** @type {{value: string, added?: boolean, removed?: boolean}[]} */
  const parts = diffLines(before, after, { timeout: DIFF_MAX_MS }) ?? [{ value: before, removed: true }, { value: after, added: true }]
  return parts.flatMap((part, index) => {
    const kind = part.added ? 'added' : part.removed ? 'removed' : 'same'
    /** @type {DifferenceLine[]} */
    const lines = part.value.replace(/\n$/, '').split('\n').map((text) => ({ kind, text }))
    const head = index === 0 ? 0 : CONTEXT_LINES
    const tail = index === parts.length - 1 ? 0 : CONTEXT_LINES
    if (kind !== 'same' || lines.length <= head + tail + 1) return lines
    return [...lines.slice(0, head), { kind: 'gap', lines: lines.length - head - tail }, ...lines.slice(lines.length - tail)]
  })
}
