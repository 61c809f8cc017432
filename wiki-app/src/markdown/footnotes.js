import { t } from '../language.js'

/** @import {MarkdownIt} from 'markdown-it' */
/** @import {PageEnv} from './html.js' */

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{tokens: Token[], number: number, references: number}} Note  `number` is 0 until there is a reference */

/** Bounded, against long searches at many brackets. */
const LABEL = /\[\^([^\s[\]]{1,64})\]/y
const INDENT = 4

/**
 * `[^label]` refers to `[^label]: text`, defined outside of lists, quotes and other notes. The ids of notes have a
 * colon, which no section's id has.
 * @param {MarkdownIt} markdownIt
 */
export function footnotes (markdownIt) {
  addDefinitions(markdownIt)
  addReferences(markdownIt)
  addSection(markdownIt)
  addHtml(markdownIt)
}

/** @param {MarkdownIt} markdownIt */
function addDefinitions (markdownIt) {
  markdownIt.block.ruler.before('reference', 'footnote', (state, startLine, endLine, silent) => {
    if (state.sCount[startLine] - state.blkIndent >= INDENT) return false
    const label = labelAt(state.src, state.bMarks[startLine] + state.tShift[startLine])
    const labelEnd = LABEL.lastIndex
    if (label === null || state.src[labelEnd] !== ':') return false
    if (silent) return true
    if (state.level > 0) return false

    const { blkIndent } = state
    const [start, shift, indent] = [state.bMarks[startLine], state.tShift[startLine], state.sCount[startLine]]
    // The rest of this line is parsed like the indented lines that follow.
    state.blkIndent += INDENT
    state.bMarks[startLine] = Math.min(state.skipSpaces(labelEnd + 1), state.eMarks[startLine])
    state.tShift[startLine] = 0
    state.sCount[startLine] = state.blkIndent
    state.push('footnote_open', '', 1).meta = { label }
    state.md.block.tokenize(state, startLine, endLine)
    state.push('footnote_close', '', -1)
    state.blkIndent = blkIndent
    state.bMarks[startLine] = start
    state.tShift[startLine] = shift
    state.sCount[startLine] = indent
    labels(state).add(label)
    return true
  }, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
}

/** @param {MarkdownIt} markdownIt */
function addReferences (markdownIt) {
  markdownIt.inline.ruler.before('link', 'footnote_reference', (state, silent) => {
    const label = labelAt(state.src, state.pos)
    if (label === null || LABEL.lastIndex > state.posMax || !labels(state).has(label)) return false
    if (!silent) state.push('footnote_reference', '', 0).meta = { label }
    state.pos = LABEL.lastIndex
    return true
  })
}

/** @param {MarkdownIt} markdownIt */
function addSection (markdownIt) {
  markdownIt.core.ruler.push('footnotes', (state) => {
    if (labels(state).size === 0) return
    const { text, notes } = separated(state.tokens)
    const order = numbered(text, notes)
    state.tokens = text
    if (order.length === 0) return
    text.push(new state.Token('footnotes_open', 'section', 1))
    for (const note of order) {
      const [open, back, close] = ['note_open', 'note_back', 'note_close'].map((type) => new state.Token(type, '', 0))
      open.meta = back.meta = /** @type {any} */ (note)
      text.push(open)
      for (const token of note.tokens) text.push(token)
      const last = note.tokens[note.tokens.length - 2]
      if (last?.type === 'inline' && note.tokens[note.tokens.length - 1].type === 'paragraph_close') {
        last.children?.push(back)
      } else text.push(back)
      text.push(close)
    }
    text.push(new state.Token('footnotes_close', 'section', -1))
  })
}

/** @param {MarkdownIt} markdownIt */
function addHtml (markdownIt) {
  const { rules } = markdownIt.renderer
  rules.footnote_reference = (tokens, index) => {
    const { number, reference } = /** @type {any} */ (tokens[index].meta)
    const label = t('Note {{number}}', { number })
    const id = referenceId(number, reference)
    return `<sup><a id="${id}" href="#fn:${number}" aria-label="${label}">[${number}]</a></sup>`
  }
  rules.footnotes_open = () => `<section class="footnotes" aria-label="${t('Notes')}">\n<ol>\n`
  rules.footnotes_close = () => '</ol>\n</section>\n'
  rules.note_open = (tokens, index) => `<li id="fn:${/** @type {any} */ (tokens[index].meta).number}">\n`
  rules.note_close = () => '</li>\n'
  rules.note_back = (tokens, index) => {
    const { number, references } = /** @type {Note} */ (/** @type {any} */ (tokens[index].meta))
    return Array.from({ length: references }, (_, i) =>
      ` <a href="#${referenceId(number, i + 1)}" aria-label="${
        t('Back to reference {{reference}} to note {{number}}', { reference: i + 1, number })}">↩</a>`)
      .join('')
  }
}

/** @param {{env: object}} state @returns {Set<string>} labels of the notes that are defined */
const labels = ({ env }) => /** @type {PageEnv} */ (env).footnotes

/** @param {string} src @param {number} at @returns {string | null} the label; LABEL.lastIndex is then its end */
function labelAt (src, at) {
  LABEL.lastIndex = at
  return LABEL.exec(src)?.[1] ?? null
}

/** @param {number} number  of the note @param {number} reference  1 for the first to this note */
const referenceId = (number, reference) => reference === 1 ? `fnref:${number}` : `fnref:${number}:${reference}`

/** Of notes with one label, the first counts. @param {Token[]} tokens */
function separated (tokens) {
  /** @type {Token[]} */
  const text = []
  /** @type {Map<string, Note>} */
  const notes = new Map()
  let into = text
  for (const token of tokens) {
    if (token.type === 'footnote_open') {
      const { label } = /** @type {any} */ (token.meta)
      into = []
      if (!notes.has(label)) notes.set(label, { tokens: into, number: 0, references: 0 })
    } else if (token.type === 'footnote_close') into = text
    else into.push(token)
  }
  return { text, notes }
}

/**
 * Numbers references in the text before those in notes.
 * @param {Token[]} text @param {Map<string, Note>} notes @returns {Note[]} the notes that have references
 */
function numbered (text, notes) {
  /** @type {Note[]} */
  const order = []
  const visit = (/** @type {Token[]} */ tokens) => {
    for (const { children } of tokens) {
      for (const child of children ?? []) {
        if (child.type !== 'footnote_reference') continue
        const note = /** @type {Note} */ (notes.get(/** @type {any} */ (child.meta).label))
        if (note.number === 0) note.number = order.push(note)
        child.meta = /** @type {any} */ ({ number: note.number, reference: ++note.references })
      }
    }
  }
  visit(text)
  // `order` grows during this loop.
  for (const { tokens } of order) visit(tokens)
  return order
}
