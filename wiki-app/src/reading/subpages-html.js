import { t } from '../language.js'
import { perSite } from '../site/site.js'
import { escapeHtml } from '../views.js'
import { viewUrl } from '../pages/name.js'
import { subpagesUrl } from '../pages/subpage-names.js'

/** @import {Subpages} from '../pages/subpages.js' */

const texts = perSite(() => ({ all: escapeHtml(t('All subpages')), heading: escapeHtml(t('Subpages')) }))

/** @param {string} name @param {Subpages | null} [subpages] @returns {string} '' for none */
export function subpagesHtml (name, subpages) {
  if (subpages == null) return ''
  const items = subpages.names.map((part) => subpages.missing.includes(part)
    ? link(subpagesUrl(`${name}/${part}`), `${part}/`)
    : link(viewUrl(`${name}/${part}`), part))
  const more = subpages.more ? `<p><a href="${escapeHtml(subpagesUrl(name))}">${texts().all}</a></p>\n` : ''
  return '<nav class="subpages" aria-labelledby="_subpages">\n' + `<h2 id="_subpages">${texts().heading}</h2>\n` +
    `<ul class="pages">\n${items.join('')}</ul>\n${more}</nav>\n`
}

/** @param {string} url @param {string} text */
const link = (url, text) => `<li><a href="${escapeHtml(url)}" dir="auto">${escapeHtml(text)}</a></li>\n`
