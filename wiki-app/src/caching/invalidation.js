import { hashOf } from '../http/hash.js'
import { historyUrl, linksUrl, rawUrl, tagUrl, viewUrl } from '../pages/name.js'
import { LINKING_MAX } from '../pages/link-targets.js'

/**
 * What caches must purge: these paths (with query, without scheme and host) and all responses with one of these tags,
 * or everything.
 * @typedef {{everything: false, urls: string[], tags: string[]} | {everything: true}} Stale
 */

/**
 * Returns every URL that an edit makes stale and that can be named: the page and its other views, the lists that
 * contain it, and the pages whose links to it look different now. Later parts of lists, and searches, cannot be named,
 * and the API repeats the same content: caches revalidate all of these each time.
 * @param {import('../pages/commit.js').Commit} commit
 * @returns {Stale}
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

/**
 * Returns the same as tags. Only pages have them, because only pages can be stored.
 * @param {import('../pages/commit.js').Commit} commit
 * @returns {Stale}
 */
export function tagsFor ({ name, linking }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  return { everything: false, urls: [], tags: [...new Set([name, ...linking].map(tagOf))] }
}

/**
 * Returns the URLs and the tags by which a purge entry for an edit of one of these pages is found.
 * @param {string[]} names
 */
export const markedBy = (names) => ({ urls: names.map(viewUrl), tags: names.map(tagOf) })

/**
 * Returns the Cache-Tag of a page. Cloudflare's tags ignore case, and have no spaces and at most 1024 characters: a
 * hash fits any name.
 * @param {string} name
 */
export const tagOf = (name) => `page-${hashOf(name)}`
