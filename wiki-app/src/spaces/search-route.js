import { spaceIn } from '../access/access.js'
import { t } from '../language.js'
import { viewUrl } from '../pages/name.js'
import { excerpt } from '../search/excerpt.js'
import { shown } from '../search/search-routes.js'
import { HTML, renderFor } from '../views.js'
import { SPACE_PAGES_URL, SPACE_SEARCH_URL, spaceChangesUrl, spacePagesUrl, spaceSearchUrl, SPACES_URL }
  from './addresses.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {SpaceLists} from './lists.js' */
/** @import {Space} from './model.js' */

const TEXT = { type: 'string', maxLength: 200 }
const SEARCH = { type: 'object', required: ['space'], properties: { space: TEXT, q: TEXT, after: TEXT } }
const config = { role: 'reader', placed: true, costly: 'search' }

/** @param {FastifyInstance} app @param {Pick<SpaceLists, 'texts'>} lists */
export function addSpaceSearch (app, { texts }) {
  app.get(SPACE_SEARCH_URL, { config, schema: { querystring: SEARCH } }, async (request, reply) => {
    const { q: asked = '', after } = /** @type {{q?: string, after?: string}} */ (request.query)
    const { _id: root } = /** @type {Space} */ (spaceIn(request))
    const q = asked.trim()
    const found = await texts({ root, q, after })
    return reply.type(HTML).send(renderFor(request, 'space-search', {
      title: t('Search in the private space “{{name}}”', { name: root }),
      root,
      q,
      url: SPACE_SEARCH_URL,
      titlesUrl: SPACE_PAGES_URL,
      homeUrl: viewUrl(root),
      pagesUrl: spacePagesUrl(root),
      changesUrl: spaceChangesUrl(root),
      spacesUrl: SPACES_URL,
      texts: found?.hits.map((hit) => ({ ...shown(hit), excerpt: excerpt(hit.content, q) })) ?? null,
      last: found?.next,
      first: after === undefined,
      firstUrl: spaceSearchUrl(root, { q }),
      nextUrl: found?.next == null ? null : spaceSearchUrl(root, { q, after: found.next })
    }))
  })
}
