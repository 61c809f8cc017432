/** @import {MarkdownIt, StateCore, StateInline} from 'markdown-it' */

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{start: number, end: number, scheme: string}} Address  `scheme`: to be put before it */

const HOST = /[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*/uy
const REST = /[^\s<]*/y
const TRAILING = new Set('?!.,:*_~\'"')
const ENTITY = /&[a-z\d]+;$/i
/** `&CounterClockwiseContourIntegral;` is the longest. */
const ENTITY_MAX_CHARS = 33
/** Only the `@`: a pattern that starts before it would take quadratic time. */
const WEB_OR_MAIL = /(?<![^\s*_~(])www\.|@/g
const MAIL_USER = /[\w.+-]/
const MAIL_HOST = /[\w-]+(?:\.[\w-]+)+/y
const MAILTO = 'mailto:'
const SCHEME_MAX_CHARS = 'https'.length

/**
 * Bare `https://…`, `www.…` and e-mail addresses: https://github.github.com/gfm/#autolinks-extension-
 * The rules of markdown-it's linkify are others (docs/decisions/0035).
 * @param {MarkdownIt} markdownIt
 */
export function autolinks (markdownIt) {
  // Before emphasis sees marks in the address.
  markdownIt.inline.ruler.before('link', 'bare_url', (state, silent) => {
    if (silent || state.linkLevel > 0 || !state.src.startsWith('://', state.pos)) return false
    const scheme = schemeBefore(state)
    const end = scheme === '' ? -1 : webEnd(state.src, state.pos + '://'.length, 1)
    if (end === -1) return false
    const url = state.src.slice(state.pos - scheme.length, end)
    const href = markdownIt.normalizeLink(url)
    if (!markdownIt.validateLink(href)) return false
    state.pending = state.pending.slice(0, -scheme.length)
    state.push('link_open', 'a', 1).attrs = [['href', href]]
    state.push('text', '', 0).content = url
    state.push('link_close', 'a', -1)
    state.pos = end
    return true
  })

  // Escaped characters are tokens of their own until then.
  markdownIt.core.ruler.before('text_join', 'bare_addresses', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'inline' && mayHave(token.content)) token.children = linked(token.children ?? [], state)
    }
  })
}

/** @param {StateInline} state  at a colon @returns {string} as written; '' for none */
function schemeBefore ({ src, pos, pending }) {
  const [scheme] = /https?$/i.exec(src.slice(Math.max(0, pos - SCHEME_MAX_CHARS), pos)) ?? ['']
  return pending.endsWith(scheme) && !/[a-z\d]/i.test(src[pos - scheme.length - 1] ?? '') ? scheme : ''
}

/**
 * @param {string} text @param {number} start  of the host @param {number} segmentsMin  of the host
 * @returns {number} -1 when there is no host
 */
function webEnd (text, start, segmentsMin) {
  const segments = segmentsOf(text, start)
  if (segments.length < segmentsMin || segments.slice(-2).some((each) => each.includes('_'))) return -1
  REST.lastIndex = HOST.lastIndex
  return start + withoutTrailing(text.slice(start, REST.lastIndex + (REST.exec(text)?.[0].length ?? 0))).length
}

/** @param {string} text @param {number} start  of a host */
function segmentsOf (text, start) {
  HOST.lastIndex = start
  return HOST.exec(text)?.[0].split('.') ?? []
}

/** Punctuation after an address belongs to the sentence. @param {string} address  starts with a host */
function withoutTrailing (address) {
  let unopened = address.split(')').length - address.split('(').length
  for (let end = address.length; ; end--) {
    const last = address[end - 1]
    if (last === ';') {
      const entity = ENTITY.exec(address.slice(Math.max(0, end - ENTITY_MAX_CHARS), end))
      if (entity !== null) end -= entity[0].length - 1
    } else if (last === ')' && unopened > 0) unopened--
    else if (!TRAILING.has(last)) return address.slice(0, end)
  }
}

/** @param {Token[]} tokens @param {StateCore} state @returns {Token[]} */
function linked (tokens, { md, Token }) {
  /** @type {Token[]} */
  const result = []
  let links = 0
  for (const token of tokens) {
    if (token.type === 'link_open') links++
    if (token.type === 'link_close') links--
    const addresses = token.type === 'text' && links === 0 ? addressesIn(token.content) : []
    let at = 0
    for (const { start, end, scheme } of addresses) {
      const href = md.normalizeLink(scheme + token.content.slice(start, end))
      if (!md.validateLink(href)) continue
      const open = new Token('link_open', 'a', 1)
      open.attrSet('href', href)
      result.push(text(at, start), open, text(start, end), new Token('link_close', 'a', -1))
      at = end
    }
    if (at === 0) result.push(token)
    else result.push(text(at, token.content.length))

    /** @param {number} from @param {number} to */
    function text (from, to) {
      const part = new Token('text', '', 0)
      part.content = token.content.slice(from, to)
      return part
    }
  }
  return result
}

/** @param {string} text */
const mayHave = (text) => text.includes('@') || text.includes('www.')

/** @param {string} text @returns {Address[]} in their order, without overlap */
function addressesIn (text) {
  if (!mayHave(text)) return []
  /** @type {Address[]} */
  const found = []
  let [free, refusedTo] = [0, 0]
  for (const { 0: what, index } of text.matchAll(WEB_OR_MAIL)) {
    if (index < free || (what !== '@' && index < refusedTo)) continue
    const address = what === '@' ? mailAround(text, index, free) : webFrom(text, index)
    if (address !== null) {
      found.push(address)
      free = address.end
    } else if (what !== '@') {
      // For its last two parts, which hosts that start before them share.
      refusedTo = index + segmentsOf(text, index).slice(0, -2).join('.').length
    }
  }
  return found
}

/** @param {string} text @param {number} start @returns {Address | null} */
function webFrom (text, start) {
  const end = webEnd(text, start, 2)
  return end === -1 ? null : { start, end, scheme: 'http://' }
}

/**
 * @param {string} text @param {number} at  of the `@` @param {number} free  where it may start
 * @returns {Address | null}
 */
function mailAround (text, at, free) {
  MAIL_HOST.lastIndex = at + 1
  const host = MAIL_HOST.exec(text)?.[0]
  let start = at
  while (start > free && MAIL_USER.test(text[start - 1])) start--
  if (host === undefined || /[-_]$/.test(host) || start === at) return null
  const end = at + 1 + host.length
  const schemeAt = start - MAILTO.length
  return schemeAt >= free && text.startsWith(MAILTO, schemeAt) && !/[a-z\d]/i.test(text[schemeAt - 1] ?? '')
    ? { start: schemeAt, end, scheme: '' }
    : { start, end, scheme: MAILTO }
}
