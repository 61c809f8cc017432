import { decodedEntities } from './entities.js'
import { linkTo } from './link-to.js'

/** @import {AboutTexts} from '../content.js' */
/** @import {Answer} from './converter.js' */

/** https://www.mediawiki.org/wiki/Manual:Namespace#Built-in_namespaces */
const ENGLISH = /** @type {Record<number, string[]>} */ ({
  '-2': ['Media'],
  '-1': ['Special'],
  1: ['Talk'],
  2: ['User'],
  3: ['User talk'],
  4: ['Project'],
  5: ['Project talk'],
  6: ['File', 'Image'],
  7: ['File talk', 'Image talk'],
  8: ['MediaWiki'],
  9: ['MediaWiki talk'],
  10: ['Template'],
  11: ['Template talk'],
  12: ['Help'],
  13: ['Help talk'],
  14: ['Category'],
  15: ['Category talk']
})
const [MEDIA, SPECIAL, FILE, CATEGORY] = [-2, -1, 6, 14]

/** Prefixes that MediaWiki knows from its installation, of sites that are there still. `maintenance/interwiki.list` */
const SITES = new Map(Object.entries({
  wikipedia: 'https://en.wikipedia.org/wiki/',
  w: 'https://en.wikipedia.org/wiki/',
  wikt: 'https://en.wiktionary.org/wiki/',
  wiktionary: 'https://en.wiktionary.org/wiki/',
  wikibooks: 'https://en.wikibooks.org/wiki/',
  wikiquote: 'https://en.wikiquote.org/wiki/',
  wikisource: 'https://en.wikisource.org/wiki/',
  wikidata: 'https://www.wikidata.org/wiki/',
  d: 'https://www.wikidata.org/wiki/',
  commons: 'https://commons.wikimedia.org/wiki/',
  c: 'https://commons.wikimedia.org/wiki/',
  meta: 'https://meta.wikimedia.org/wiki/',
  metawikimedia: 'https://meta.wikimedia.org/wiki/',
  mw: 'https://www.mediawiki.org/wiki/',
  mediawikiwiki: 'https://www.mediawiki.org/wiki/',
  phab: 'https://phabricator.wikimedia.org/',
  doi: 'https://doi.org/',
  rfc: 'https://www.rfc-editor.org/rfc/rfc'
}))
const LANGUAGE = /^[a-z]{2}$/
const LANGUAGES = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** @param {AboutTexts} about */
const namesOf = ({ namespaces = {} }) => {
  /** By lower-case name. @type {Map<string, {number: number, name: string}>} */
  const known = new Map()
  const numbers = new Set([...Object.keys(ENGLISH), ...Object.keys(namespaces)].map(Number))
  for (const number of numbers) {
    const names = [...namespaces[number] ?? [], ...ENGLISH[number] ?? []].filter((name) => name !== '')
    for (const name of names) {
      const key = name.replaceAll('_', ' ').toLowerCase()
      if (!known.has(key)) known.set(key, { number, name: names[0] })
    }
  }
  return known
}

/**
 * @param {AboutTexts} about
 * @returns {object} for mediawiki.lua
 */
export function mediaWikiSettings (about) {
  const known = [...namesOf(about)]
  const keysOf = (/** @type {number} */ wanted) => Object.fromEntries(
    known.filter(([, { number }]) => number === wanted).map(([key]) => [key, true])
  )
  return { language: 'wikitext', file: keysOf(FILE), category: keysOf(CATEGORY) }
}

/**
 * What a link of wikitext leads to. https://www.mediawiki.org/wiki/Help:Links
 * @param {AboutTexts} about
 * @returns {(target: string) => Answer} takes what stands before `|`
 */
export function mediaWikiLinks (about) {
  const known = namesOf(about)
  const upperFirst = (/** @type {string} */ text) => about.caseSensitive ? text : withUpperFirst(text)

  return function answer (target) {
    const [, title, section] = /** @type {RegExpExecArray} */ (/^([^#]*)#?(.*)$/s.exec(decoded(target)))
    const written = title.trim().replace(/^:\s*/, '')
    if (written === '') return linkTo('', section)
    const whole = written.startsWith('/') || written.startsWith('../') ? besidePage(written, about.page ?? '') : written
    const [, prefix, rest] = /^([^:]+):\s*(.*)$/s.exec(whole) ?? []
    if (prefix === undefined) return linkTo(nameHere(upperFirst(whole)), section)
    const namespace = known.get(prefix.trim().toLowerCase())
    if (namespace === undefined) return siteOf(prefix, rest, section) ?? linkTo(nameHere(upperFirst(whole)), section)
    const { number, name } = namespace
    if (number === SPECIAL) return {}
    if (number === MEDIA || number === FILE) return fileLink(rest)
    return linkTo(nameHere(`${name}:${upperFirst(rest)}`), section)
  }

  /** @param {string} title */
  function nameHere (title) {
    return about.pageName?.(title) ?? title
  }

  /** @param {string} name @returns {Answer} */
  function fileLink (name) {
    const href = about.pictureUrl?.(withUpperFirst(name))
    return href === undefined ? {} : { href }
  }
}

/** @param {string} prefix @param {string} rest @param {string} section @returns {Answer | undefined} */
function siteOf (prefix, rest, section) {
  const key = prefix.trim().toLowerCase()
  const isLanguage = LANGUAGE.test(key) && LANGUAGES.of(key) !== undefined
  const site = SITES.get(key) ?? (isLanguage ? `https://${key}.wikipedia.org/wiki/` : undefined)
  if (site === undefined) return undefined
  const place = rest.trim().replace(/\s+/g, '_')
  return { href: encodeURI(`${site}${place}${section === '' ? '' : `#${section.replaceAll(' ', '_')}`}`) }
}

/** @param {string} written  `/Sub` or `../Other` @param {string} page */
function besidePage (written, page) {
  if (page === '') return written.replace(/^(?:\.\.)?\/+/, '')
  if (written.startsWith('/')) return `${page}/${written.slice(1).replace(/(?<!\/)\/+$/, '')}`
  const parts = page.split('/')
  let rest = written
  while (rest.startsWith('../')) {
    parts.pop()
    rest = rest.slice('../'.length)
  }
  return [...parts, ...rest === '' ? [] : [rest.replace(/(?<!\/)\/+$/, '')]].join('/')
}

/** @param {string} text  a title or the name of a file */
export function withUpperFirst (text) {
  const trimmed = text.trim()
  const [first = ''] = trimmed
  const upper = first.toUpperCase()
  return [...upper].length === 1 ? upper + trimmed.slice(first.length) : trimmed
}

/** @param {string} target  as MediaWiki reads titles: `_` is a space, and `%20` and `&amp;` count */
function decoded (target) {
  const text = decodedEntities(target).replace(/[_\s]+/g, ' ')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
