/** @import {MarkdownIt, StateBlock} from 'markdown-it' */

const START = '<!--'
const END = '-->'
const INDENT = 4

/**
 * `<!-- … -->` is not shown; without an end it is text.
 * @param {MarkdownIt} markdownIt
 */
export function comments (markdownIt) {
  /** Otherwise each start would search the whole text. @type {WeakMap<object, number>} */
  const lastEnds = new WeakMap()
  const lastEnd = (/** @type {{src: string}} */ state) => {
    const known = lastEnds.get(state)
    if (known !== undefined) return known
    const last = state.src.lastIndexOf(END)
    lastEnds.set(state, last)
    return last
  }

  markdownIt.inline.ruler.before('autolink', 'comment', (state) => {
    if (!state.src.startsWith(START, state.pos)) return false
    // `<!-->` and `<!--->` are comments (CommonMark 0.31).
    const from = state.pos + '<!'.length
    if (lastEnd(state) < from) return false
    const end = state.src.indexOf(END, from) + END.length
    if (end > state.posMax) return false
    state.pos = end
    return true
  })

  /** Lines without an end of a comment. @type {WeakMap<StateBlock, {from: number, to: number}>} */
  const endless = new WeakMap()
  markdownIt.block.ruler.before('html_block', 'comment', (state, startLine, endLine, silent) => {
    const start = state.bMarks[startLine] + state.tShift[startLine]
    if (state.sCount[startLine] - state.blkIndent >= INDENT || !state.src.startsWith(START, start)) return false
    const known = endless.get(state)
    if (lastEnd(state) < start || (known && startLine >= known.from && startLine < known.to)) return false
    const { line, rest } = endOf(state, startLine, endLine)
    if (rest === null) {
      endless.set(state, { from: startLine, to: line })
      return false
    }
    if (silent) return true
    state.line = line + 1
    if (rest.trim() === '') return true
    state.push('paragraph_open', 'p', 1)
    const inline = state.push('inline', '', 0)
    inline.content = rest.trim()
    inline.children = []
    state.push('paragraph_close', 'p', -1)
    return true
  }, { alt: ['paragraph', 'reference', 'blockquote'] })
}

/**
 * @param {StateBlock} state @param {number} startLine @param {number} endLine
 * @returns {{line: number, rest: string | null}} `rest`: what follows the end, on its line; null: no end before `line`
 */
function endOf (state, startLine, endLine) {
  let line = startLine
  for (; line < endLine; line++) {
    if (line > startLine && state.sCount[line] < state.blkIndent && !state.isEmpty(line)) break
    const from = state.bMarks[line] + state.tShift[line] + (line === startLine ? '<!'.length : 0)
    const text = state.src.slice(from, state.eMarks[line])
    const at = text.indexOf(END)
    if (at !== -1) return { line, rest: text.slice(at + END.length) }
  }
  return { line, rest: null }
}
