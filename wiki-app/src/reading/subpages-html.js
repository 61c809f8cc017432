import { escapeHtml } from '../views.js'
import { viewUrl } from '../pages/name.js'
import { subpagesUrl } from '../pages/subpage-names.js'

/** @import {Subpages} from '../pages/subpages.js' */

/** @param {string} name @param {Subpages | null} [subpages] @returns {string} '' for none */
export function subpagesHtml (name, subpages) {
  if (subpages == null) return ''
  const items = subpages.names.map((part) => subpages.missing.includes(part)
    ? link(subpagesUrl(`${name}/${part}`), `${part}/`)
    : link(viewUrl(`${name}/${part}`), part))
  const more = subpages.more ? `<p><a href="${escapeHtml(subpagesUrl(name))}">All subpages</a></p>\n` : ''
  return '<nav class="subpages" aria-labelledby="_subpages">\n<h2 id="_subpages">Subpages</h2>\n' +
    `<ul class="pages">\n${items.join('')}</ul>\n${more}</nav>\n`
}

/** @param {string} url @param {string} text */
const link = (url, text) => `<li><a href="${escapeHtml(url)}" dir="auto">${escapeHtml(text)}</a></li>\n`
