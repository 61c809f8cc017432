import { t } from '../language.js'
import { inlineText } from './inline-text.js'
import { createSlugs, slugOf } from './slug.js'

/** @import {MarkdownIt} from 'markdown-it' */

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{depth: number, id: string, text: string}} Heading  with `depth` from 2 to 6 */

const DEEPEST = 6
const CONTENTS_MIN = 3
/** A longer one is folded, so that the text begins on the first screen. */
const CONTENTS_OPEN_MAX = 12
/** Start, text, end. */
const HEADING_TOKENS = 3

/**
 * The page's name is the h1. Levels follow the outline: none is left out, whatever numbers of signs the author wrote.
 * Headings in lists, quotes and notes are not in the contents; nor is the text's title, which title.js may hide.
 * Those that begin a section have a button of the form `_edit`, which views/page.eta has where the reader may write: so
 * the HTML is the same under each name of a page, and for everybody.
 * @param {MarkdownIt} markdownIt
 */
export function headings (markdownIt) {
  const { escapeHtml } = markdownIt.utils
  const { rules } = markdownIt.renderer

  markdownIt.core.ruler.push('headings', ({ tokens, Token }) => {
    const unique = createSlugs()
    const depthOf = createOutline()
    const titled = startsWithTitle(tokens)
    /** @type {Heading[]} */
    const listed = []
    let sections = 0
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'heading_open') continue
      const isTitle = titled && index === 0
      const signs = Number(token.tag.slice(1))
      const depth = isTitle ? 2 : depthOf(signs)
      const text = inlineText(tokens[index + 1].children ?? [])
      const id = unique(slugOf(text))
      token.tag = tokens[index + 2].tag = `h${depth}`
      token.attrs = [['id', id]]
      token.meta = { isTitle, signs, id, text }
      tokens[index + 2].meta = { id, text, section: token.level === 0 ? ++sections : 0 }
      if (token.level === 0 && text !== '' && !isTitle) listed.push({ depth, id, text })
    }
    if (listed.length < CONTENTS_MIN) return
    const contents = new Token('contents', '', 0)
    contents.meta = { listed }
    tokens.splice(titled ? HEADING_TOKENS : 0, 0, contents)
  })

  rules.heading_open = (tokens, index, options, _env, self) => {
    const { isTitle } = /** @type {{isTitle: boolean}} */ (/** @type {unknown} */ (tokens[index].meta))
    return `<div class="heading${isTitle ? ' text-title' : ''}">${self.renderToken(tokens, index, options)}`
  }

  // Beside the heading: within it, the link would be part of its accessible name.
  rules.heading_close = (tokens, index) => {
    const { tag, meta } = tokens[index]
    const { id, text, section } = /** @type {Heading & {section: number}} */ (/** @type {unknown} */ (meta))
    const edit = section === 0
      ? ''
      : `<button form="_edit" name="section" value="${section}" aria-label="${
        escapeHtml(t('Edit section “{{title}}”', { title: text }))}">${escapeHtml(t('Edit'))}</button>`
    return `</${tag}><a class="anchor" href="#${id}" aria-label="${
      escapeHtml(t('Link to “{{title}}”', { title: text }))}">#</a>${edit}</div>\n`
  }

  rules.contents = (tokens, index) => {
    const { listed } = /** @type {{listed: Heading[]}} */ (/** @type {unknown} */ (tokens[index].meta))
    const open = listed.length > CONTENTS_OPEN_MAX ? '' : ' open=""'
    const contents = escapeHtml(t('Contents'))
    return `<nav class="contents" aria-label="${contents}">` +
      `<details${open}><summary>${contents}</summary>\n${nestedList(listed, escapeHtml)}\n</details></nav>\n`
  }
}

/** @param {Heading[]} listed @param {(text: string) => string} escapeHtml */
function nestedList (listed, escapeHtml) {
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

/** A first heading `# …` of text alone, which may repeat the page's name. @param {Token[]} tokens */
const startsWithTitle = ([first, inline]) => first?.type === 'heading_open' && first.tag === 'h1' &&
  (inline.children ?? []).length > 0 && (inline.children ?? []).every(({ type }) => type === 'text')

/** @returns {(signs: number) => number} the level of the next heading, from 2 */
function createOutline () {
  /** Signs of the headings above. @type {number[]} */
  const open = []
  return function depthOf (signs) {
    while (open.length > 0 && open[open.length - 1] >= signs) open.pop()
    return Math.min(open.push(signs) + 1, DEEPEST)
  }
}
