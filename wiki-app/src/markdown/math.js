import { formulaAt, nextDollar } from './dollars.js'

/** @import {MarkdownIt, StateBlock} from 'markdown-it' */
/** @import {PageEnv} from './html.js' */

const DOLLAR = '$'
const MARK = '$$'
const INDENT = 4
const FENCE = /^math(?:\s|$)/

/**
 * `$…$` in a line, `$$…$$` in a line or as lines of their own, and fenced code of the language `math`.
 * @param {MarkdownIt} markdownIt
 */
export function maths (markdownIt) {
  markdownIt.inline.ruler.after('backticks', 'math_inline', (state, silent) => {
    const { src, pos, posMax } = state
    if (src[pos] !== DOLLAR) return false
    const { mark, end } = formulaAt(src, pos)
    const after = end + mark.length
    if (end === -1 || after > posMax) {
      // None of them begins another formula.
      if (!silent) state.pending += mark
      state.pos += mark.length
      return true
    }
    if (!silent) {
      const token = state.push('math_inline', '', 0)
      token.content = src.slice(pos + mark.length, end)
      token.markup = mark
    }
    state.pos = after
    return true
  })

  markdownIt.block.ruler.before('fence', 'math_block', mathLines, {
    alt: ['paragraph', 'reference', 'blockquote', 'list']
  })

  markdownIt.core.ruler.after('block', 'math_fences', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type !== 'fence' || !FENCE.test(token.info.trim())) continue
      Object.assign(token, { type: 'math_block', markup: '' })
    }
  })

  const { rules } = markdownIt.renderer
  rules.math_inline = (tokens, index, _options, env) => formulasOf(env).inline(tokens[index])
  rules.math_block = (tokens, index, _options, env) => formulasOf(env).block(tokens[index])
}

/** @param {object | undefined} env */
const formulasOf = (env) => /** @type {PageEnv} */ (env).formulas

/**
 * From `$$` at the start of a line to `$$` at the end of one, without an empty line between.
 * @param {StateBlock} state @param {number} startLine @param {number} endLine @param {boolean} silent
 */
function mathLines (state, startLine, endLine, silent) {
  if (state.sCount[startLine] - state.blkIndent >= INDENT) return false
  const start = state.bMarks[startLine] + state.tShift[startLine]
  if (!state.src.startsWith(MARK, start)) return false
  const lines = []
  for (let line = startLine; line < endLine; line++) {
    if (line > startLine && (state.isEmpty(line) || state.sCount[line] < state.blkIndent)) return false
    const from = line === startLine ? start + MARK.length : state.bMarks[line] + state.tShift[line]
    const text = state.src.slice(from, state.eMarks[line])
    const end = nextDollar(text, 0)
    lines.push(end === -1 ? text : text.slice(0, end))
    if (end === -1) continue
    const content = lines.join('\n').trim()
    if (text.slice(end).trim() !== MARK || content === '') return false
    if (silent) return true
    const token = state.push('math_block', 'math', 0)
    Object.assign(token, { content, markup: MARK, map: [startLine, line + 1] })
    state.line = line + 1
    return true
  }
  return false
}
