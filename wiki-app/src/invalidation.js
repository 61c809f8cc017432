import { historyUrl, linksUrl, rawUrl, tagUrl, viewUrl } from './pages/name.js'
import { LINKING_MAX } from './pages/targets.js'

/**
 * What caches are told to forget: these paths (with query, without scheme and host), or everything.
 * @typedef {{everything: false, urls: string[]} | {everything: true}} Stale
 */

/**
 * Every URL that an edit makes stale and that can be named: the page and what is said of it, the lists that it is in, and the pages
 * whose links to it look different now. Further parts of lists and searches cannot be named, and the API says the same in other words; those answers are never used without asking.
 * @param {import('./pages/store.js').Commit} commit
 * @returns {Stale}
 */
export function urlsFor ({ name, authors, tags, linking, links, listed }) {
  if (linking.length > LINKING_MAX) return { everything: true }
  const changes = ['', ...authors.map((author) => `?${new URLSearchParams({ author })}`)]
  return {
    everything: false,
    urls: [...new Set([
      viewUrl(name), rawUrl(name), historyUrl(name),
      '/', ...changes.flatMap((query) => [`/changes${query}`, `/changes.atom${query}`]),
      ...tags.map(tagUrl), ...(tags.length > 0 ? ['/tags'] : []),
      ...linking.map(viewUrl),
      ...links.map(linksUrl), ...(links.length > 0 || listed ? ['/wanted', '/orphaned'] : [])
    ])]
  }
}
