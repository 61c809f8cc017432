import { t } from '../language.js'

/** @typedef {import('markdown-it').Token} Token */

export const CALLOUTS = ['note', 'tip', 'important', 'warning', 'caution']
const FIRST_LINE = new RegExp(`^\\[!(${CALLOUTS.join('|')})\\][ \\t]*(?:\\n|$)`, 'i')
/** Start, text, end. */
const PARAGRAPH_TOKENS = 3

/**
 * `> [!NOTE]`, as on GitHub: alone on the first line of a quote that has more.
 * @param {import('markdown-it').MarkdownIt} markdownIt
 */
export function callouts (markdownIt) {
  // Before `[!NOTE]` could be a link.
  markdownIt.core.ruler.after('block', 'callouts', (state) => {
    const { tokens } = state
    if (!tokens.some(({ type }) => type === 'blockquote_open')) return
    /** @type {Token[]} */
    const result = []
    /** Of open quotes: are they callouts? @type {boolean[]} */
    const open = []
    for (let index = 0; index < tokens.length; index++) {
      const token = tokens[index]
      result.push(token)
      if (token.type === 'blockquote_close' && open.pop()) token.tag = 'div'
      if (token.type !== 'blockquote_open') continue
      const kind = takeKind(tokens, index)
      open.push(kind !== null)
      if (kind === null) continue
      token.tag = 'div'
      token.attrs = [['class', `callout callout-${kind}`]]
      result.push(...titleOf(kind, state))
      if (tokens[index + 2].content === '') index += PARAGRAPH_TOKENS
    }
    state.tokens = result
  })
}

/**
 * Removes the first line of a callout.
 * @param {Token[]} tokens @param {number} index  of a quote's start
 * @returns {string | null} null: a quote
 */
function takeKind (tokens, index) {
  const [start, text, , next] = tokens.slice(index + 1, index + 5)
  const [line, kind] = (start.type === 'paragraph_open' && FIRST_LINE.exec(text.content)) || []
  if (line === undefined || (line.length === text.content.length && next.type === 'blockquote_close')) return null
  text.content = text.content.slice(line.length)
  return kind.toLowerCase()
}

/** @returns {Record<string, string>} */
const titles = () => ({
  note: t('Note'), tip: t('Tip'), important: t('Important'), warning: t('Warning'), caution: t('Caution')
})

/** @param {string} kind @param {import('markdown-it').StateCore} state */
function titleOf (kind, { Token }) {
  const [open, text, close] = [
    new Token('paragraph_open', 'p', 1), new Token('inline', '', 0), new Token('paragraph_close', 'p', -1)
  ]
  open.block = text.block = close.block = true
  open.attrs = [['class', 'callout-title']]
  text.content = titles()[kind]
  text.children = []
  return [open, text, close]
}
