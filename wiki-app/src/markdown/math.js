/** @import {MarkdownIt, StateBlock} from 'markdown-it' */
/** @import {PageEnv} from './html.js' */

const DOLLAR = '$'
const MARK = '$$'
const DOLLARS = /\$+/y
const INDENT = 4
const SPACE = /\s/
const DIGIT = /\d/
const FENCE = /^math(?:\s|$)/

/**
 * `$…$` in a line, `$$…$$` in a line or as lines of their own, and fenced code of the language `math`. When a dollar is
 * money: https://pandoc.org/MANUAL.html#math and docs/decisions/0079.
 * @param {MarkdownIt} markdownIt
 */
export function maths (markdownIt) {
  markdownIt.inline.ruler.after('backticks', 'math_inline', (state, silent) => {
    const { src, pos, posMax } = state
    if (src[pos] !== DOLLAR) return false
    DOLLARS.lastIndex = pos
    const mark = String(DOLLARS.exec(src)?.[0])
    const end = endOf(src, pos, mark)
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
      if (token.type === 'fence' && FENCE.test(token.info.trim())) Object.assign(token, { type: 'math_block', markup: '' })
    }
  })

  const { rules } = markdownIt.renderer
  rules.math_inline = (tokens, index, _options, env) => formulasOf(env).inline(tokens[index])
  rules.math_block = (tokens, index, _options, env) => formulasOf(env).block(tokens[index])
}

/** @param {object | undefined} env */
const formulasOf = (env) => /** @type {PageEnv} */ (env).formulas

/** @param {string} src @param {number} from @returns {number} of the next dollar without a backslash; -1 for none */
function nextDollar (src, from) {
  let at = src.indexOf(DOLLAR, from)
  while (at !== -1 && isEscaped(src, from, at)) at = src.indexOf(DOLLAR, at + 1)
  return at
}

/** @param {string} src @param {number} from @param {number} at */
function isEscaped (src, from, at) {
  let start = at
  while (start > from && src[start - 1] === '\\') start--
  return (at - start) % 2 === 1
}

/** @param {string} src @param {number} pos  of the mark @param {string} mark @returns {number} -1: no formula */
function endOf (src, pos, mark) {
  if (mark === DOLLAR) return inlineEnd(src, pos)
  return mark === MARK ? displayEnd(src, pos + mark.length) : -1
}

/**
 * The next dollar ends the formula, or there is none. Code binds closer than dollars.
 * @param {string} src @param {number} start  of the opening dollar
 */
function inlineEnd (src, start) {
  if (SPACE.test(src[start + 1] ?? ' ') || DIGIT.test(src[start - 1] ?? '')) return -1
  const end = nextDollar(src, start + 1)
  const isEnd = end > start + 1 && !SPACE.test(src[end - 1]) && !DIGIT.test(src[end + 1] ?? '')
  return isEnd && !src.slice(start, end).includes('`') ? end : -1
}

/** @param {string} src @param {number} from */
function displayEnd (src, from) {
  const end = nextDollar(src, from)
  const isEnd = end > from && src[end + 1] === DOLLAR && src[end + 2] !== DOLLAR
  return isEnd && src.slice(from, end).trim() !== '' && !src.slice(from, end).includes('`') ? end : -1
}

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
