import { t } from '../language.js'
import { treeTag } from '../caching/invalidation.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { treeUrl, viewUrl } from '../pages/name.js'
import { HTML, renderFor } from '../views.js'
import { isMisspelt, nameIn } from './address.js'
import { aboveHtml } from './document.js'
import { subpagesHtml } from './subpages-html.js'

/** @import {FastifyPluginAsync} from 'fastify' */

/**
 * The pages right below a page: one address for all of these, which show it in the margin (docs/decisions/0096). Caches
 * keep it as they keep pages: a page that comes or goes purges it.
 * @type {FastifyPluginAsync<Pick<import('../services.js').Services, 'store' | 'policy'>>}
 */
export async function treeRoute (app, { store, policy }) {
  app.get('/tree/*', { config: { costly: 'list' }, onRequest: redirectUnknownQuery }, async (request, reply) => {
    const name = nameIn(request)
    const url = treeUrl(name)
    if (isMisspelt(request, url)) return reply.header('cache-control', policy.listControl).redirect(url, 301)
    const subpages = await store.findTree(name)
    // Of empty ones there is no end: no cache keeps them.
    const headers = subpages === null ? { 'cache-control': policy.listControl } : policy.headers
    if (policy.purgedBy === 'tags' && subpages !== null) reply.header('cache-tag', treeTag(name))
    return sendRevalidated(request, reply.headers(headers), {
      cacheControl: headers['cache-control'],
      type: HTML,
      body: renderFor(request, 'tree', {
        title: t('Subpages of “{{name}}”', { name }),
        of: { name, url: viewUrl(name) },
        aboveHtml: aboveHtml(name),
        subpagesHtml: subpagesHtml(name, subpages),
        nothing: t('There are none: no page’s name begins with “{{name}}/”.', { name })
      })
    })
  })
}
