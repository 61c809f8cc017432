/** @import {MarkdownIt, StateBlock} from 'markdown-it' */

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{whole: string, name: string, isClosing: boolean}} Tag  `whole`: as written */

/** Why these: docs/decisions/0035. */
const INLINE = ['b', 'br', 'del', 'i', 'ins', 'kbd', 'mark', 'small', 'sub', 'sup', 'u']
const INLINE_TAG = new RegExp(`<(/?)(${INLINE.join('|')})( ?/)?>`, 'iy')
const BLOCK_TAG = /(<\/?(?:details|summary)>)/i
const BLOCK_TAG_FIRST = /^<\/?(?:details|summary)>/i
const INDENT = 4
/** Deeper nesting only slows down rendering. */
const OPEN_MAX = 40
/** An element of Markdown: tags do not pair across its borders. */
const BORDER = -1

/**
 * Tags of a short list, without attributes. A tag without a partner at its level of nesting stays text. None of the
 * author's characters become part of a tag.
 * @param {MarkdownIt} markdownIt
 */
export function htmlTags (markdownIt) {
  markdownIt.inline.ruler.before('autolink', 'html_tag', (state, silent) => {
    INLINE_TAG.lastIndex = state.pos
    const [whole, slash, name, selfClosing] = INLINE_TAG.exec(state.src) ?? []
    const isBreak = name?.toLowerCase() === 'br'
    if (whole === undefined || INLINE_TAG.lastIndex > state.posMax || (isBreak ? slash : selfClosing)) return false
    if (!silent && isBreak) state.push('hardbreak', 'br', 0)
    else if (!silent) state.push('html_tag', '', 0).meta = metaOf(whole)
    state.pos += whole.length
    return true
  })

  markdownIt.block.ruler.before('html_block', 'html_block_tags', blockTags, {
    alt: ['paragraph', 'reference', 'blockquote']
  })

  // Before other rules move or read tokens.
  markdownIt.core.ruler.after('inline', 'html_tags', (state) => {
    state.tokens = paired(state.tokens, state.Token)
    for (const token of state.tokens) {
      if (token.type === 'inline') token.children = paired(token.children ?? [], state.Token)
    }
  })
}

/**
 * A line that starts with one of these tags. Markdown may stand between lines, and between the tags of a line.
 * @param {StateBlock} state @param {number} startLine @param {number} _endLine @param {boolean} silent
 */
function blockTags (state, startLine, _endLine, silent) {
  if (state.sCount[startLine] - state.blkIndent >= INDENT) return false
  const line = state.src.slice(state.bMarks[startLine] + state.tShift[startLine], state.eMarks[startLine])
  if (!BLOCK_TAG_FIRST.test(line)) return false
  if (silent) return true
  // Texts and tags alternate.
  const pieces = line.split(BLOCK_TAG)
  let inSummary = false
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 1) {
      state.push('html_tag', '', 0).meta = metaOf(piece)
      inSummary = /^<summary>$/i.test(piece) && /^<\/summary>$/i.test(pieces[index + 2])
    } else if (piece.trim() !== '') {
      const open = state.push('paragraph_open', 'p', 1)
      const inline = state.push('inline', '', 0)
      const close = state.push('paragraph_close', 'p', -1)
      inline.content = piece.trim()
      inline.children = []
      open.map = inline.map = [startLine, startLine + 1]
      open.hidden = close.hidden = inSummary
    }
  }
  state.line = startLine + 1
  return true
}

/** @param {string} whole @returns {any} */
const metaOf = (whole) => /** @satisfies {Tag} */ ({
  whole,
  name: whole.replace(/[</>]/g, '').toLowerCase(),
  isClosing: whole.startsWith('</')
})

/** @param {Token} token */
const tagIn = ({ meta }) => /** @type {Tag} */ (/** @type {unknown} */ (meta))

/** @param {Token[]} tokens @param {new (type: string, tag: string, nesting: -1 | 0 | 1) => Token} Token */
function paired (tokens, Token) {
  if (!tokens.some(({ type }) => type === 'html_tag')) return tokens
  const partners = withPartner(tokens)
  return tokens.flatMap((token, index) => {
    if (token.type !== 'html_tag') return token
    const { whole, name, isClosing } = tagIn(token)
    if (partners.has(index)) {
      const element = new Token(isClosing ? 'tag_close' : 'tag_open', name, isClosing ? -1 : 1)
      element.block = token.block
      return element
    }
    const text = new Token('text', '', 0)
    text.content = whole
    return token.block ? paragraphOf(text, Token) : text
  })
}

/** @param {Token[]} tokens @returns {Set<number>} indexes of the tags that have a partner */
function withPartner (tokens) {
  /** @type {Set<number>} */
  const partners = new Set()
  /** Indexes of open tags, and borders. @type {number[]} */
  const open = []
  for (const [index, { type, nesting }] of tokens.entries()) {
    const bottom = open.lastIndexOf(BORDER) + 1
    if (nesting === 1) open.push(BORDER)
    else if (nesting === -1) open.length = Math.max(0, bottom - 1)
    if (type !== 'html_tag') continue
    const { name, isClosing } = tagIn(tokens[index])
    if (!isClosing) {
      if (open.length - bottom < OPEN_MAX) open.push(index)
      continue
    }
    let partner = open.length - 1
    while (partner >= bottom && tagIn(tokens[open[partner]]).name !== name) partner--
    if (partner < bottom) continue
    partners.add(open[partner]).add(index)
    open.length = partner
  }
  return partners
}

/** @param {Token} text @param {new (type: string, tag: string, nesting: -1 | 0 | 1) => Token} Token */
function paragraphOf (text, Token) {
  const [open, inline, close] = [
    new Token('paragraph_open', 'p', 1), new Token('inline', '', 0), new Token('paragraph_close', 'p', -1)
  ]
  inline.content = text.content
  inline.children = [text]
  open.block = inline.block = close.block = true
  return [open, inline, close]
}
