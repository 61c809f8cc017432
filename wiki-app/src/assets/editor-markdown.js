import * as codemirror from './codemirror.js'

const {
  deleteMarkupBackward, insertNewlineContinueMarkupCommand, keymap, markdownLanguage, syntaxHighlighting,
  tagHighlighter, tags
} = codemirror

/** @typedef {import('@codemirror/view').Command} Command */

const SIBLING_MAX_LINES = 200

/** Styled in editor.css. */
const highlighter = tagHighlighter([
  { tag: tags.heading, class: 'md-heading' },
  { tag: tags.strong, class: 'md-strong' },
  { tag: tags.emphasis, class: 'md-emphasis' },
  { tag: tags.strikethrough, class: 'md-deleted' },
  { tag: [tags.link, tags.url], class: 'md-link' },
  { tag: [tags.monospace, tags.labelName], class: 'md-code' },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.comment, tags.quote], class: 'md-mark' }
])

/** @param {string} line @returns {{indent: number, width: number} | null}  `width`: of the mark with its space */
function itemOf (line) {
  const [, indent, mark] = /^(\s*)((?:[-+*]|\d{1,9}[.)])\s+)/.exec(line) ?? []
  return mark === undefined ? null : { indent: indent.length, width: mark.length }
}

/**
 * How far an item is moved to be a part of the one before it: below that one's first character.
 * @param {import('@codemirror/state').Text} doc @param {number} number  of its line
 */
function stepOf (doc, number) {
  const own = itemOf(doc.line(number).text)
  if (own === null) return null
  for (let at = number - 1; at >= Math.max(1, number - SIBLING_MAX_LINES); at--) {
    const other = itemOf(doc.line(at).text)
    if (other !== null && other.indent <= own.indent) return other.width
  }
  return own.width
}

/**
 * Of the lines of a selection that begins in an item of a list. Elsewhere Tab goes on to the next field.
 * @param {boolean} back @returns {Command}
 */
const indentItems = (back) => ({ state, dispatch }) => {
  const { from, to } = state.selection.main
  const [first, last] = [from, to].map((at) => state.doc.lineAt(at).number)
  const step = stepOf(state.doc, first)
  if (step === null) return false
  const changes = []
  for (let number = first; number <= last; number++) {
    const line = state.doc.line(number)
    if (!back && line.text !== '') changes.push({ from: line.from, insert: ' '.repeat(step) })
    const spaces = Math.min(step, /^ */.exec(line.text)?.[0].length ?? 0)
    if (back && spaces > 0) changes.push({ from: line.from, to: line.from + spaces })
  }
  if (changes.length === 0) return false
  dispatch(state.update({ changes, userEvent: 'input.indent', scrollIntoView: true }))
  return true
}

/** Colours, and the keys that go on with lists and quotations. */
export const markdown = [
  markdownLanguage,
  syntaxHighlighting(highlighter),
  keymap.of([
    { key: 'Enter', run: insertNewlineContinueMarkupCommand({ nonTightLists: false }) },
    { key: 'Backspace', run: deleteMarkupBackward },
    { key: 'Tab', run: indentItems(false), shift: indentItems(true) }
  ])
]
