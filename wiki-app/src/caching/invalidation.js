import { hashOf } from '../http/hash.js'
import { historyUrl, linksUrl, rawUrl, tagUrl, viewUrl } from '../pages/name.js'
import { LINKING_MAX } from '../pages/link-targets.js'

/** @import {Commit} from '../pages/commit.js' */

/**
 * What to purge: these paths (with query, without scheme and host) and all responses with one of these tags.
 * @typedef {{everything: false, urls: string[], tags: string[]} | {everything: true}} Stale
 */

/**
 * Every URL that an edit makes stale and that can be named. Later parts of lists, searches and the API cannot be named:
 * caches revalidate these each time.
 * @param {Commit} commit @returns {Stale}
 */
export function urlsFor ({ name, authors, tags, linking, links, listed }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  const changes = ['', ...authors.map((author) => `?${new URLSearchParams({ author })}`)]
  return {
    everything: false,
    tags: [],
    urls: [...new Set([
      viewUrl(name), rawUrl(name), historyUrl(name),
      '/', ...changes.flatMap((query) => [`/changes${query}`, `/changes.atom${query}`]),
      ...tags.map(tagUrl), ...(tags.length > 0 ? ['/tags'] : []),
      ...linking.map(viewUrl),
      ...links.map(linksUrl), ...(links.length > 0 || listed ? ['/wanted', '/orphaned'] : [])
    ])]
  }
}

/** The same as tags. Only pages have them, because only pages can be stored. @param {Commit} commit @returns {Stale} */
export function tagsFor ({ name, linking }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  return { everything: false, urls: [], tags: [...new Set([name, ...linking].map(tagOf))] }
}

/** The URLs and tags that find a purge entry of an edit of one of these pages. @param {string[]} names */
export const purgeKeysOf = (names) => ({ urls: names.map(viewUrl), tags: names.map(tagOf) })

/** Cloudflare's tags ignore case, and have no spaces: a hash fits any name. @param {string} name */
export const tagOf = (name) => `page-${hashOf(name)}`
