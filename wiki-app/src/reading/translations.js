import { t } from '../language.js'
import { perSite } from '../site/site.js'
import { escapeHtml } from '../views.js'
import { viewUrl } from '../pages/name.js'

/** @import {Subpages} from '../pages/subpages.js' */

/** `de`, `pt-BR`, `zh-Hant`. No longer ones: `new` and `min` are codes, too, and more often other subpages. */
const CODE = /^[a-z]{2}(?:-(?:[A-Z]{2}|[A-Z][a-z]{3}))?$/
/** Names of pages choose what is kept. */
const KEPT_MAX = 1_000

/** Of a language, in itself if that is known. @typedef {{name: string, lang: string}} Named */

/** @type {Map<string, Named | null>} */
const kept = new Map()

/** @param {string} code  as CODE @returns {Named | null} */
function read (code) {
  const [inItself] = Intl.DisplayNames.supportedLocalesOf(code)
  const names = new Intl.DisplayNames([inItself ?? 'en'], { type: 'language', fallback: 'none' })
  const name = names.of(code)
  return name === undefined ? null : { name, lang: inItself ?? 'en' }
}

/** @param {string} part  of a page's name @returns {Named | null} null: it is no code of a language */
function languageOf (part) {
  if (!CODE.test(part)) return null
  const known = kept.get(part)
  if (known !== undefined) return known
  if (kept.size >= KEPT_MAX) kept.clear()
  const named = read(part)
  kept.set(part, named)
  return named
}

/**
 * A subpage that is called as a language is the page in that language. With it goes the code.
 * @param {Subpages | null} [subpages]
 * @returns {(Named & {code: string})[]}
 */
const translationsIn = (subpages) => (subpages?.names ?? []).flatMap((code) => {
  const named = subpages?.missing.includes(code) ? null : languageOf(code)
  return named === null ? [] : { code, ...named }
})

const label = perSite(() => escapeHtml(t('In other languages:')))

/** @param {string} name @param {Subpages | null} [subpages]  of it @returns {string} '' for none */
export function translationsHtml (name, subpages) {
  const links = translationsIn(subpages).map(({ code, name: language, lang }) =>
    `<a href="${escapeHtml(viewUrl(`${name}/${code}`))}" hreflang="${code}" lang="${lang}" dir="auto">${
      escapeHtml(language)}</a>`)
  return links.length === 0 ? '' : `<p class="soft">${label()} ${links.join(', ')}</p>\n`
}
