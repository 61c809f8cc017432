import { hashOf } from '../http/hash.js'
import { historyUrl, linksUrl, rawUrl, tagUrl, viewUrl } from '../pages/name.js'
import { LINKING_MAX } from '../pages/link-targets.js'

/**
 * What caches are told to forget: these paths (with query, without scheme and host) and what has one of these tags, or everything.
 * @typedef {{everything: false, urls: string[], tags: string[]} | {everything: true}} Stale
 */

/**
 * Every URL that an edit makes stale and that can be named: the page and what is said of it, the lists that it is in, and the pages
 * whose links to it look different now. Further parts of lists and searches cannot be named, and the API says the same in other words; those answers are never used without asking.
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
 * The same by tag: of what can be stored, which is pages alone.
 * @param {import('../pages/commit.js').Commit} commit
 * @returns {Stale}
 */
export function tagsFor ({ name, linking }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  return { everything: false, urls: [], tags: [...new Set([name, ...linking].map(tagOf))] }
}

/**
 * What an entry for an edit of one of these pages has among its addresses or tags.
 * @param {string[]} names
 */
export const markedBy = (names) => ({ urls: names.map(viewUrl), tags: names.map(tagOf) })

/**
 * What a page is tagged with for caches (Cache-Tag, as Cloudflare has it: no capitals are told apart, no spaces, 1024 characters). A hash fits any name.
 * @param {string} name
 */
export const tagOf = (name) => `page-${hashOf(name)}`
