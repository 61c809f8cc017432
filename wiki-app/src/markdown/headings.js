import { inlineText } from './inline-text.js'
import { createSlugs, slugOf } from './slug.js'

/** @import {MarkdownIt} from 'markdown-it' */

/** @typedef {{depth: number, id: string, text: string}} Heading  with `depth` from 2 to 6 */

const DEEPEST = 6
const CONTENTS_MIN = 3

/**
 * The page's title is the h1. Headings in lists, quotes and notes are not in the contents.
 * @param {MarkdownIt} markdownIt
 */
export function headings (markdownIt) {
  const { escapeHtml } = markdownIt.utils
  const { rules } = markdownIt.renderer

  markdownIt.core.ruler.push('headings', ({ tokens, Token }) => {
    const unique = createSlugs()
    /** @type {Heading[]} */
    const listed = []
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'heading_open') continue
      const depth = Math.min(Number(token.tag.slice(1)) + 1, DEEPEST)
      const text = inlineText(tokens[index + 1].children ?? [])
      const id = unique(slugOf(text))
      token.tag = tokens[index + 2].tag = `h${depth}`
      token.attrs = [['id', id]]
      tokens[index + 2].meta = { id, text }
      if (token.level === 0 && text !== '') listed.push({ depth, id, text })
    }
    if (listed.length < CONTENTS_MIN) return
    const contents = new Token('contents', '', 0)
    contents.meta = { listed }
    tokens.unshift(contents)
  })

  rules.heading_open = (tokens, index, options, _env, self) =>
    `<div class="heading">${self.renderToken(tokens, index, options)}`

  // Beside the heading: within it, the link would be part of its accessible name.
  rules.heading_close = (tokens, index) => {
    const { tag, meta } = tokens[index]
    const { id, text } = /** @type {Heading} */ (/** @type {unknown} */ (meta))
    return `</${tag}><a class="anchor" href="#${id}" aria-label="Link to “${escapeHtml(text)}”">#</a></div>\n`
  }

  rules.contents = (tokens, index) => {
    const { listed } = /** @type {{listed: Heading[]}} */ (/** @type {unknown} */ (tokens[index].meta))
    return `<nav class="contents" aria-label="Contents"><details open=""><summary>Contents</summary>\n${nestedList(listed)}\n</details></nav>\n`
  }

  /** @param {Heading[]} listed */
  function nestedList (listed) {
    /** Depths of open lists. @type {number[]} */
    const open = []
    let html = ''
    for (const { depth, id, text } of listed) {
      if (open.length === 0 || depth > open[open.length - 1]) {
        html += '<ol>\n<li>'
        open.push(depth)
      } else {
        // The outermost list stays open, even for a later heading of a higher level.
        while (open.length > 1 && open[open.length - 2] >= depth) {
          html += '</li>\n</ol>\n'
          open.pop()
        }
        open[open.length - 1] = depth
        html += '</li>\n<li>'
      }
      html += `<a href="#${id}">${escapeHtml(text)}</a>`
    }
    return html + '</li>\n</ol>'.repeat(open.length)
  }
}
