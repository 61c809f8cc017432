import { inlineText } from './inline-text.js'
import { resolveAddress } from './page-address.js'

/** @import {MarkdownIt, StateCore} from 'markdown-it' */
/** @import {PageEnv} from './html.js' */

/** @typedef {import('markdown-it').Token} Token */

const LINKS_MAX = 500
const SCHEMES = new Set(['http', 'https', 'mailto'])
/**
 * Search engines take a link to another site for an author's, not for the wiki's, so it is of no use to spammers:
 * https://developers.google.com/search/docs/crawling-indexing/qualify-outbound-links
 */
const OTHER_SITE = /^https?:/i
/** @type {[string, string][]} */
const NO_RECOMMENDATION = [['rel', 'nofollow ugc']]
const UPLOAD = /^\/files\/[0-9a-f]{32}\.(?:png|jpg|webp|gif)$/
/** Browsers take `.` and `..` out of a path, also as `%2e`. */
const OF_SPACE = /^\/edit\/in\/files(?:\/(?!(?:\.|%2[eE]){1,2}\/)[^/?#]+)+\/[0-9a-f]{32}\.(?:png|jpg|webp|gif)$/

/**
 * Images only of the wiki's own uploads: one with the counter's URL would reset the counter at each view. Those of
 * private spaces only on private pages: no cache has them, so a public page with many would cost the wiki as many
 * requests at each view.
 * @param {MarkdownIt} markdownIt
 */
export function links (markdownIt) {
  markdownIt.validateLink = (href) => {
    const scheme = /^\s*([^/?#:]*):/.exec(href)?.[1]
    return scheme === undefined ? !href.startsWith('//') : SCHEMES.has(scheme.toLowerCase())
  }

  markdownIt.core.ruler.push('links', (state) => {
    for (const token of state.tokens) {
      if (token.children?.some(({ type }) => type === 'link_open' || type === 'image')) {
        token.children = rewrite(token.children, state)
      }
    }
  })

  markdownIt.renderer.rules.image = (tokens, index, _options, _env, self) => {
    const { attrs, children } = tokens[index]
    const kept = (attrs ?? []).filter(([name]) => name !== 'alt')
    tokens[index].attrs = [...kept, ['alt', inlineText(children ?? [])], ['loading', 'lazy'], ['decoding', 'async']]
    return `<img${self.renderAttrs(tokens[index])}>`
  }
}

/** @param {Token[]} tokens @param {StateCore} state */
function rewrite (tokens, state) {
  /** @type {Token[]} */
  const kept = []
  let depth = 0
  for (const token of tokens) {
    // HTML allows no link within a link.
    if (token.type === 'link_open' && depth++ > 0) continue
    if (token.type === 'link_close' && --depth > 0) continue
    if (token.type === 'link_open') setAddress(token, String(token.attrGet('href')), state)
    if (token.type === 'image' && !isUpload(String(token.attrGet('src')), state)) {
      kept.push(...asLink(token, depth === 0, state))
    } else kept.push(token)
  }
  return kept
}

/** @param {string} src @param {StateCore} state */
const isUpload = (src, { env }) =>
  UPLOAD.test(src) || (/** @type {PageEnv} */ (env).isPrivate && OF_SPACE.test(src))

/** @param {Token} open @param {string} given @param {StateCore} state */
function setAddress (open, given, state) {
  const href = recordLink(given, state)
  const others = (open.attrs ?? []).filter(([name]) => name !== 'href')
  open.attrs = [['href', href], ...OTHER_SITE.test(href) ? NO_RECOMMENDATION : [], ...others]
}

/** @param {string} given @param {StateCore} state  records the page that the address links to */
function recordLink (given, { env }) {
  const { links } = /** @type {PageEnv} */ (env)
  const { href, name } = resolveAddress(given)
  if (name !== null && links.size < LINKS_MAX) links.add(name)
  return href
}

/** @param {Token} image @param {boolean} linked  false within another link @param {StateCore} state */
function asLink (image, linked, state) {
  const src = String(image.attrGet('src'))
  const text = new state.Token('text', '', 0)
  text.content = inlineText(image.children ?? []) || src
  if (!linked) return [text]
  const open = new state.Token('link_open', 'a', 1)
  setAddress(open, src, state)
  const title = image.attrGet('title')
  if (title !== null) open.attrSet('title', title)
  return [open, text, new state.Token('link_close', 'a', -1)]
}
