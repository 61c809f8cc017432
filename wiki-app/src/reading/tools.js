import {
  deleteUrl, editUrl, historyUrl, linksUrl, rawUrl, renameUrl, shortLinkFormUrl, viewUrl
} from '../pages/name.js'
import { pageOfTalk, talkOf } from '../pages/talk.js'
import { escapeHtml } from '../views.js'
import { watchUrl } from '../watching/addresses.js'

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

/** Between a page and its talk page. @param {string} name @returns {string} HTML */
export function talkHtml (name) {
  const [page, talk] = [pageOfTalk(name), talkOf(name)]
  if (page !== null) return `<a href="${escapeHtml(viewUrl(page))}">Its page</a>\n`
  return talk === null ? '' : `<a href="${escapeHtml(viewUrl(talk))}" rel="nofollow">Talk</a>\n`
}

/** As headings.js writes it. */
const SECTION = /<button form="_edit" name="section" value="(\d+)" aria-label="Edit section ([^"]*)">Edit<\/button>/g

/**
 * Of a talk page: each of its sections gets a button of the form `_reply` (views/page.eta), before “Edit” as shown.
 * @param {Buffer} html  of the renderer
 */
export const withReplies = (html) => Buffer.from(html.toString().replace(SECTION,
  '<button form="_reply" name="section" value="$1" aria-label="Reply to $2">Reply</button>$&'))
