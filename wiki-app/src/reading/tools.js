import { t } from '../language.js'
import {
  deleteUrl, editUrl, historyUrl, linksUrl, rawUrl, renameUrl, shortLinkFormUrl, viewUrl
} from '../pages/name.js'
import { pageOfTalk, talkOf } from '../pages/talk.js'
import { perSite } from '../site/site.js'
import { escapeHtml } from '../views.js'
import { watchUrl } from '../watching/addresses.js'

/** No label contains it. */
const MARK = '\u0000'

/** What the row beside a page's title leads to (views/tools.eta). @param {string} name */
export const toolUrls = (name) => ({
  viewUrl: viewUrl(name),
  talkHtml: talkHtml(name),
  editUrl: editUrl(name),
  historyUrl: historyUrl(name),
  renameUrl: renameUrl(name),
  deleteUrl: deleteUrl(name),
  shortLinkUrl: shortLinkFormUrl(name),
  watchUrl: watchUrl(name),
  rawUrl: rawUrl(name),
  linksUrl: linksUrl(name)
})

/** The views of a talk page look for the titles of sections in its HTML, see headings.js. */
const texts = perSite(() => {
  const [before, after] = escapeHtml(t('Edit section “{{title}}”', { title: MARK })).split(MARK)
  const [start, end] = escapeHtml(t('Reply to “{{title}}”', { title: MARK })).split(MARK)
  return {
    page: escapeHtml(t('Its page')),
    talk: escapeHtml(t('Talk')),
    reply: escapeHtml(t('Reply')),
    replyTo: (/** @type {string} */ label) => label.startsWith(before) && label.endsWith(after)
      ? start + label.slice(before.length, label.length - after.length) + end
      : label
  }
})

/** Between a page and its talk page. @param {string} name @returns {string} HTML */
export function talkHtml (name) {
  const [page, talk] = [pageOfTalk(name), talkOf(name)]
  if (page !== null) return `<a href="${escapeHtml(viewUrl(page))}">${texts().page}</a>\n`
  return talk === null ? '' : `<a href="${escapeHtml(viewUrl(talk))}" rel="nofollow">${texts().talk}</a>\n`
}

/** As headings.js writes it. */
const EDIT = Buffer.from('<button form="_edit" name="section"')
const VALUE_AND_LABEL = /^ value="(\d+)" aria-label="([^"]*)"$/

/**
 * Of a talk page: each of its sections gets a button of the form `_reply` (views/page.eta), before “Edit” as shown.
 * In bytes: a page of 100 topics as one string would take ten times as long as the rest of its view.
 * @param {Buffer} html  of the renderer
 */
export function withReplies (html) {
  const pieces = []
  let done = 0
  for (let at = html.indexOf(EDIT); at !== -1; at = html.indexOf(EDIT, at + EDIT.length)) {
    const attributes = html.toString('utf8', at + EDIT.length, html.indexOf('>', at))
    const [, section, label] = VALUE_AND_LABEL.exec(attributes) ?? []
    if (section === undefined) continue
    pieces.push(html.subarray(done, at), Buffer.from(
      `<button form="_reply" name="section" value="${section}" aria-label="${
        texts().replyTo(label)}">${texts().reply}</button>`))
    done = at
  }
  return pieces.length === 0 ? html : Buffer.concat([...pieces, html.subarray(done)])
}
