import createError from '@fastify/error'
import { isPrivate } from '../access/access.js'
import { absoluteRoot } from '../http/absolute-root.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { viewUrl } from '../pages/name.js'
import { renderFor } from '../views.js'
import { robotsText, ROBOTS_OUT } from './robots.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {Sitemap} from './sitemap.js' */

const XML = 'application/xml; charset=utf-8'
/** Crawlers come again after hours or days, see RFC 9309 §2.4. */
const FOR_AN_HOUR = 'public, max-age=3600'
const PART_SCHEMA = {
  params: { type: 'object', properties: { part: { type: 'string', pattern: '^[1-9]\\d{0,4}\\.xml$' } } }
}

const PartMissing = createError('WIKI_SITEMAP_PART_MISSING', 'There is no such part: /sitemap.xml has all of them.', 404)

/**
 * For programs that read the whole wiki: what they may read, and where it is.
 * @type {FastifyPluginAsync<{sitemap: Sitemap, publicUrl?: string}>}
 */
export async function crawlerRoutes (app, { sitemap, publicUrl }) {
  const closed = isPrivate(app)
  app.addHook('onRequest', redirectUnknownQuery)

  app.get('/robots.txt', { config: { database: false, forStrangers: true } }, async (request, reply) =>
    sendRevalidated(request, reply, {
      cacheControl: FOR_AN_HOUR,
      type: 'text/plain; charset=utf-8',
      body: closed ? ROBOTS_OUT : robotsText(absoluteRoot(request, publicUrl))
    }))
  // It would be a list of all titles, for programs that sign in nowhere.
  if (closed) return

  app.get('/sitemap.xml', { config: { costly: 'list' } }, async (request, reply) => {
    const root = absoluteRoot(request, publicUrl)
    const parts = await sitemap.parts()
    const urls = Array.from({ length: parts }, (_, index) => `${root}/sitemap/${index + 1}.xml`)
    const body = renderFor(request, 'sitemap-index', { urls })
    return sendRevalidated(request, reply, { cacheControl: FOR_AN_HOUR, type: XML, body })
  })

  app.get('/sitemap/:part', { config: { costly: 'list' }, schema: PART_SCHEMA }, async (request, reply) => {
    const { part } = /** @type {{part: string}} */ (request.params)
    const root = absoluteRoot(request, publicUrl)
    const pages = await sitemap.pages(Number.parseInt(part, 10))
    if (pages === null) throw new PartMissing()
    const body = renderFor(request, 'sitemap', {
      pages: pages.map(({ name, modifiedAt }) => ({ url: root + viewUrl(name), modifiedAt: modifiedAt.toISOString() }))
    })
    return sendRevalidated(request, reply, { cacheControl: FOR_AN_HOUR, type: XML, body })
  })
}
