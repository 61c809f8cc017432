import { viewUrl } from '../pages/name.js'
import { pageName } from './page-address.js'
import { slugOf } from './slug.js'

/** @import {MarkdownIt} from 'markdown-it' */

/** Bounded, against long searches at many brackets. */
const WIKI_LINK = /\[\[([^[\]|#\n]{0,500})(?:#([^[\]|\n]{1,500}))?(?:\|([^[\]\n]{1,500}))?\]\]/y

/**
 * `[[Name]]`, `[[Name#section]]`, `[[#section]]`, each also with `|label`.
 * @param {MarkdownIt} markdownIt
 */
export function wikiLinks (markdownIt) {
  markdownIt.inline.ruler.before('link', 'wiki_link', (state, silent) => {
    if (!state.src.startsWith('[[', state.pos)) return false
    WIKI_LINK.lastIndex = state.pos
    const match = WIKI_LINK.exec(state.src)
    if (match === null || WIKI_LINK.lastIndex > state.posMax) return false
    const [whole, page, section, label] = match
    const name = page.trim() === '' ? null : pageName(page)
    if (name === null && (page.trim() !== '' || section === undefined)) return false

    if (!silent) {
      const open = state.push('link_open', 'a', 1)
      open.attrs = [[
        'href',
        `${name === null ? '' : viewUrl(name)}${section === undefined ? '' : `#${slugOf(section)}`}`
      ]]
      state.push('text', '', 0).content = (label ?? whole.slice(2, -2)).trim()
      state.push('link_close', 'a', -1)
    }
    state.pos += whole.length
    return true
  })
}
