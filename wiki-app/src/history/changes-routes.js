import { t } from '../language.js'
import { absoluteRoot } from '../http/absolute-root.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { HTML, renderFor } from '../views.js'
import { watchAuthorUrl } from '../watching/addresses.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { changeItem, changesUrl, whatChanged } from './change-item.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {Services} from '../services.js' */

const ATOM = 'application/atom+xml; charset=utf-8'
const ITEMS_PER_PART = 50
const FEED_ITEMS = 30

const BEFORE = { type: 'string', pattern: '^[0-9a-f]{24}$' }
const SCHEMAS = {
  changes: { querystring: { type: 'object', properties: { author: AUTHOR_SCHEMA, before: BEFORE } } },
  feed: { querystring: { type: 'object', properties: { author: AUTHOR_SCHEMA } } }
}

/** @type {FastifyPluginAsync<Pick<Services, 'history' | 'policy'> & {publicUrl?: string}>} */
export async function changesRoutes (app, { history, policy: { listControl: cacheControl }, publicUrl }) {
  app.addHook('onRequest', redirectUnknownQuery)

  app.get('/changes', { config: { costly: 'list' }, schema: SCHEMAS.changes }, async (request, reply) => {
    const { author, before } = /** @type {{author?: string, before?: string}} */ (request.query)
    const { items, more } = await history.changes({ author, before, limit: ITEMS_PER_PART })
    const body = renderFor(request, 'changes', {
      title: titleOf(author, t('Recent changes')),
      author,
      named: true,
      first: before === undefined,
      items: items.map(changeItem),
      feedUrl: changesUrl('/changes.atom', { author }),
      watchUrl: author === undefined ? null : watchAuthorUrl(author),
      nextUrl: more ? changesUrl('/changes', { author, before: String(items[items.length - 1]._id) }) : null
    })
    return sendRevalidated(request, reply, { cacheControl, type: HTML, body })
  })

  app.get('/changes.atom', { config: { costly: 'list' }, schema: SCHEMAS.feed }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    const { items } = await history.changes({ author, limit: FEED_ITEMS })
    const bytesBefore = await history.bytesBefore(items)
    const body = renderFor(request, 'feed', {
      title: titleOf(author, t('Changes of the wiki')),
      // Feeds of two authors are two feeds.
      id: `changes${author === undefined ? '' : `/${encodeURIComponent(author)}`}`,
      updated: (items[0]?.created_at ?? new Date(0)).toISOString(),
      // Readers of feeds need absolute addresses. Caches ask each time, so none keeps those of another host.
      root: absoluteRoot(request, publicUrl),
      feedUrl: changesUrl('/changes.atom', { author }),
      listUrl: changesUrl('/changes', { author }),
      items: items.map((item) => ({ ...changeItem(item), whatChanged: whatChanged(item, bytesBefore(item)) }))
    })
    return sendRevalidated(request, reply, { cacheControl, type: ATOM, body })
  })
}

/** @param {string | undefined} author @param {string} everybodys */
function titleOf (author, everybodys) {
  if (author === undefined) return everybodys
  return author === '' ? t('Changes without a name') : t('Changes by {{author}}', { author })
}
