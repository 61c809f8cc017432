import { hashOf } from '../http/hash.js'
import { historyUrl, linksUrl, namesAbove, rawUrl, tagUrl, treeUrl, viewUrl } from '../pages/name.js'
import { LINKING_MAX } from '../pages/link-targets.js'
import { subpagesUrl } from '../pages/subpage-names.js'
import { shortLinkUrl } from '../short-links/ids.js'

/** @import {Commit, Recounted} from '../pages/commit.js' */

/**
 * `urls`: with query, without scheme and host.
 * @typedef {{everything: false, urls: string[], tags: string[]} | {everything: true}} Stale
 */

const LISTS_OF_LINKS = ['/care', '/wanted', '/orphaned', '/dead-ends']

/**
 * Caches revalidate the rest: later parts of lists, searches, the API, and `/overdue`, which changes with the day.
 * @param {Commit} commit @param {string} [home]  name of the page at `/` @returns {Stale}
 */
export function urlsFor ({ name, authors, tags, linking, links, listed, above, shortLinks = [] }, home) {
  if (linking.length + shortLinks.length > LINKING_MAX) return { everything: true }
  const pages = [name, ...linking, ...above]
  const changes = ['', ...authors.map((author) => `?${new URLSearchParams({ author })}`)]
  return {
    everything: false,
    tags: [],
    urls: [...new Set([
      ...pages.map(viewUrl), ...(home !== undefined && pages.includes(home) ? ['/'] : []),
      rawUrl(name), historyUrl(name),
      '/pages', ...namesAbove(name).map(subpagesUrl),
      ...changes.flatMap((query) => [`/changes${query}`, `/changes.atom${query}`]),
      ...tags.map(tagUrl),
      ...shortLinks.map(shortLinkUrl),
      ...links.map(linksUrl), ...(listed ? [...LISTS_OF_LINKS, ...namesAbove(name).map(treeUrl)] : [])
    ])]
  }
}

/** @param {Recounted} recounted @param {string} [home]  as above @returns {Stale | null} null: nothing */
export function urlsForCounts ({ links, tags, pages }, home) {
  const urls = [
    ...pages.map(viewUrl), ...(home !== undefined && pages.includes(home) ? ['/'] : []),
    ...links ? LISTS_OF_LINKS : [], ...tags ? ['/tags'] : []
  ]
  return urls.length === 0 ? null : { everything: false, urls, tags: [] }
}

/** @param {Recounted} recounted @returns {Stale | null} null: nothing */
export const tagsForCounts = ({ pages }) =>
  pages.length === 0 ? null : { everything: false, urls: [], tags: pages.map(tagOf) }

/** Only pages and trees can be stored. @param {Commit} commit @returns {Stale} */
export function tagsFor ({ name, linking, listed, above, shortLinks = [] }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  const moved = shortLinks.length > 0 ? [shortLinkTag(name)] : []
  const trees = listed ? namesAbove(name).map(treeTag) : []
  return {
    everything: false, urls: [], tags: [...new Set([...[name, ...linking, ...above].map(tagOf), ...trees, ...moved])]
  }
}

/** @param {string[]} names */
export const purgeKeysOf = (names) => ({ urls: names.map(viewUrl), tags: names.map(tagOf) })

/** Cloudflare's tags ignore case and have no spaces. @param {string} name */
export const tagOf = (name) => `page-${hashOf(name)}`

/** Of the list of the pages right below: only pages that come or go change it. @param {string} name */
export const treeTag = (name) => `tree-${hashOf(name)}`

/** Of the page's short addresses: an edit changes none of them, a renaming all. @param {string} name */
export const shortLinkTag = (name) => `short-${hashOf(name)}`
