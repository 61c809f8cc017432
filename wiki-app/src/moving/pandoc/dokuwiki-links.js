import { linkTo } from './link-to.js'

/** @import {AboutTexts} from '../content.js' */
/** @import {Answer} from './converter.js' */

/** What DokuWiki knows from its installation, of sites that are there still: `conf/interwiki.conf`. */
const SITES = new Map(Object.entries({
  wp: 'https://en.wikipedia.org/wiki/{NAME}',
  wpde: 'https://de.wikipedia.org/wiki/{NAME}',
  wpes: 'https://es.wikipedia.org/wiki/{NAME}',
  wpfr: 'https://fr.wikipedia.org/wiki/{NAME}',
  wpjp: 'https://ja.wikipedia.org/wiki/{NAME}',
  wpmeta: 'https://meta.wikipedia.org/wiki/{NAME}',
  wppl: 'https://pl.wikipedia.org/wiki/{NAME}',
  doku: 'https://www.dokuwiki.org/{NAME}',
  rfc: 'https://datatracker.ietf.org/doc/html/rfc{NAME}',
  man: 'https://man.cx/{NAME}',
  amazon: 'https://www.amazon.com/dp/{NAME}',
  paypal: 'https://www.paypal.com/cgi-bin/webscr?cmd=_xclick&business={NAME}',
  phpfn: 'https://secure.php.net/{NAME}',
  google: 'https://www.google.com/search?q={NAME}'
}))
const OUTER = /^(?:https?:\/\/|mailto:)/i
const MAIL = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/
/** The page of a namespace. */
export const START = 'start'

export const dokuWikiSettings = () => ({ language: 'dokuwiki' })

/**
 * What a link of DokuWiki leads to. https://www.dokuwiki.org/link
 * @param {AboutTexts} about
 * @returns {(target: string) => Answer} takes what stands before `|`
 */
export function dokuWikiLinks (about) {
  return function answer (target) {
    if (OUTER.test(target)) return { href: target }
    if (MAIL.test(target)) return { href: `mailto:${target}` }
    const [, site, place] = /^(\w+)>(.*)$/s.exec(target) ?? []
    if (site !== undefined) return siteOf(site, place)
    // Shares of Windows, other schemes.
    if (target.includes('\\') || target.includes('://')) return {}
    const [, page, section] = /** @type {RegExpExecArray} */ (/^([^#?]*)(?:\?[^#]*)?#?(.*)$/s.exec(target))
    if (page.trim() === '') return linkTo('', section)
    const id = resolvedId(page, about.page ?? '')
    return linkTo(about.pageName?.(id) ?? nameOfId(id), section)
  }
}

/** @param {string} site @param {string} place @returns {Answer} */
function siteOf (site, place) {
  const [name, ...sections] = place.split('#')
  const form = SITES.get(site.toLowerCase())
  if (form === undefined) return {}
  const section = sections.length === 0 ? '' : `#${encodeURIComponent(sections.join('#'))}`
  const encoded = encodeURIComponent(name).replace(/%(?:2F|3A)/g, decodeURIComponent)
  return { href: form.replace('{NAME}', () => encoded) + section }
}

/** @param {string} name  as in `{{…}}` @param {AboutTexts} about @returns {string} with its namespace */
export const mediaName = (name, about) => resolvedId(name, about.page ?? '')

/**
 * @param {string} written @param {string} from  the id of the page
 * @returns {string} the id, with its namespace. Letters keep their accents, which most wikis leave out
 */
export function resolvedId (written, from) {
  const here = from.split(':').slice(0, -1)
  let text = written.trim().replaceAll('/', ':').replaceAll(';', ':')
  /** @type {string[]} */
  let above = []
  const isRelative = /^(?:\.|~)/.test(text)
  if (text.startsWith('~')) {
    above = from.split(':')
    text = text.slice(1)
  } else if (isRelative) {
    above = here
    for (text = text.replace(/^\.(?!\.)/, ''); /^:?\.\./.test(text); text = text.replace(/^:?\.\./, '')) {
      above = above.slice(0, -1)
    }
  } else if (!text.includes(':')) above = here
  const id = [...above, ...text.split(':')].map(cleanPart).filter((part) => part !== '').join(':')
  return /:\s*$/.test(text) ? `${id}${id === '' ? '' : ':'}${START}` : id
}

/** As DokuWiki's cleanID. @param {string} part */
const cleanPart = (part) => part
  .toLowerCase()
  .normalize('NFC')
  .replace(/[^\p{L}\p{N}\p{M}._-]+/gu, '_')
  .replace(/_{2,}/g, '_')
  .replace(/^[._-]+|(?<![._-])[._-]+$/g, '')

/** @param {string} id @returns {string} a namespace's page `start` has the name of the namespace */
export function nameOfId (id) {
  const parts = id.split(':').map((part) => part.replaceAll('_', ' '))
  return (parts.length > 1 && parts[parts.length - 1] === START ? parts.slice(0, -1) : parts).join('/')
}
