import createError from '@fastify/error'
import { t } from '../language.js'
import { changeItem, whatChanged } from '../history/change-item.js'
import { absoluteRoot } from '../http/absolute-root.js'
import { hashOf } from '../http/hash.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { renderFor } from '../views.js'
import { FEED_ROUTE, feedUrl, WATCHING_URL } from './addresses.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {History} from '../history/history.js' */
/** @import {Watching} from './watching.js' */

const ATOM = 'application/atom+xml; charset=utf-8'
const ITEMS = 30
const SCHEMA = {
  params: { type: 'object', properties: { secret: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' } } }
}

const FeedMissing = createError(
  'WIKI_FEED_MISSING', 'There is no such feed. Its owner can make a new address on the page “Watching”.', 404
)

/**
 * For programs that read feeds (RFC 4287): they sign in nowhere, so the address itself is the secret. No shared cache
 * may keep it, and no log shows it (observe/request-log.js, nginx/conf).
 * @type {FastifyPluginAsync<{watching: Watching, history: History, publicUrl?: string}>}
 */
export async function feedRoute (app, { watching, history, publicUrl }) {
  app.get(FEED_ROUTE, { config: { costly: 'list', forStrangers: true }, schema: SCHEMA }, async (request, reply) => {
    const { secret } = /** @type {{secret: string}} */ (request.params)
    const found = await watching.feed(secret, ITEMS)
    if (found === null) throw Object.assign(new FeedMissing(), { headers: { 'cache-control': 'private, no-store' } })
    const { items, user } = found
    const bytesBefore = await history.bytesBefore(items)
    const body = renderFor(request, 'feed', {
      title: t('What {{user}} watches', { user }),
      // The same after the address has changed.
      id: `watched/${hashOf(user)}`,
      updated: (items[0]?.created_at ?? new Date(0)).toISOString(),
      root: absoluteRoot(request, publicUrl),
      feedUrl: feedUrl(secret),
      listUrl: WATCHING_URL,
      items: items.map((item) => ({ ...changeItem(item), whatChanged: whatChanged(item, bytesBefore(item)) }))
    })
    return sendRevalidated(request, reply, { cacheControl: 'private, no-cache', type: ATOM, body })
  })
}
