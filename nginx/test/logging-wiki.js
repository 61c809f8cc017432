import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

/** Far longer than a slow machine takes between two answers of the log. */
export const BOUND_MS = 30_000
const FOLLOWERS = 'max-age=3600'

/** @typedef {{position: string, certified_ms: number, bound_ms: number, everything?: true, tags?: string[]}} Said */

/** @param {number} number */
export const at = (number) => number.toString(16).padStart(16, '0')

/**
 * A wiki with pages of one tag each, and its log. `log`: what it answers; null: nothing, for ever.
 * @param {{bound_ms?: number, position?: (after: string | undefined) => string}} [options]
 */
export function createWiki ({ bound_ms: boundMs = BOUND_MS, position = (after) => after ?? at(10) } = {}) {
  const wiki = {
    revision: 1,
    followers: FOLLOWERS,
    /** For all other caches. */
    cacheControl: 'public, no-cache',
    /** @type {(after: string | null) => Said | number | null} */
    log: (after) => after === null
      ? { position: at(10), certified_ms: 0, bound_ms: boundMs, everything: true }
      : { position: after, certified_ms: 0, bound_ms: boundMs, tags: [] },
    asked: /** @type {(string | null)[]} */ ([]),
    position,
    /** @type {import('./edge-helper.js').Script} */
    script (request, response) {
      const url = new URL(String(request.url), 'http://wiki')
      if (url.pathname === '/purge-log') {
        const after = url.searchParams.get('after')
        wiki.asked.push(after)
        const said = wiki.log(after)
        if (said === null) return
        // The wiki waits for news, too.
        setTimeout(() => {
          if (typeof said === 'number') response.writeHead(said).end()
          else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(said))
        }, 20)
        return
      }
      const etag = `"${wiki.revision}"`
      const after = /** @type {string | undefined} */ (request.headers['purge-log-after'])
      response.setHeader('Cache-Control', wiki.cacheControl)
        .setHeader('Stevec-Cache-Control', wiki.followers)
        .setHeader('Purge-Log-Position', wiki.position(after))
        .setHeader('Cache-Tag', `page-${url.pathname.slice(1)}`)
        .setHeader('Page-Revision', String(wiki.revision))
        .setHeader('ETag', etag)
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.end(`revision ${wiki.revision}`)
    }
  }
  return wiki
}

/** @param {import('node:test').TestContext} t @param {ReturnType<typeof createWiki>} wiki */
export async function start (t, wiki, options = {}) {
  const edge = await startEdge(t, wiki.script, { profile: 'rfc9111', follow: '/purge-log', ...options })
  const isFollowing = () => waitUntil(() => wiki.asked.some((after) => after !== null), WAIT_MAX_MS)
  return { edge, isFollowing }
}

/** @param {ReturnType<typeof createWiki>['log']} log @param {string | null} after */
export const saidBy = (log, after) => /** @type {Said} */ (log(after))
