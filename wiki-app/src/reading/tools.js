import {
  deleteUrl, editUrl, historyUrl, linksUrl, rawUrl, renameUrl, shortLinkFormUrl, viewUrl
} from '../pages/name.js'
import { watchUrl } from '../watching/addresses.js'

/** What the row beside a page's title leads to (views/tools.eta). @param {string} name */
export const toolUrls = (name) => ({
  viewUrl: viewUrl(name),
  editUrl: editUrl(name),
  historyUrl: historyUrl(name),
  renameUrl: renameUrl(name),
  deleteUrl: deleteUrl(name),
  shortLinkUrl: shortLinkFormUrl(name),
  watchUrl: watchUrl(name),
  rawUrl: rawUrl(name),
  linksUrl: linksUrl(name)
})
