import { HTML, renderView } from '../views.js'
import { readableTime } from './document.js'
import { viewUrl } from './name.js'

const PAGES_PER_LIST = 50

const TEXT = { type: 'string', maxLength: 200, pattern: '^\\P{Cc}*$' }
const QUERY_SCHEMA = { type: 'object', properties: { q: TEXT, after: TEXT } }

/**
 * `GET /`: the pages in the order of their titles, all or those that `q` finds, in parts that begin `after` a name.
 * @type {import('fastify').FastifyPluginAsync<{store: import('./store.js').PageStore}>}
 */
export async function listRoute (app, { store }) {
  app.get('/', { schema: { querystring: QUERY_SCHEMA } }, async (request, reply) => {
    const { q: asked = '', after } = /** @type {{q?: string, after?: string}} */ (request.query)
    const q = asked.trim()
    const { pages, more } = await store.list({ q, after, limit: PAGES_PER_LIST })
    // Any page's edit can change the list, and nobody purges it: a copy must be checked with us every time.
    reply.header('cache-control', 'no-cache').type(HTML)
    return renderView('list', {
      title: q === '' ? 'Pages' : `Titles with “${q}”`,
      q,
      pages: pages.map(({ _id: name, modified_at: modifiedAt }) => ({
        name,
        url: viewUrl(name),
        modifiedAt: modifiedAt.toISOString(),
        modified: readableTime(modifiedAt.toISOString())
      })),
      first: after === undefined,
      firstUrl: listUrl({ q }),
      nextUrl: more ? listUrl({ q, after: pages[pages.length - 1]._id }) : null
    })
  })
}

/** @param {{q: string, after?: string}} query */
function listUrl ({ q, after }) {
  const query = new URLSearchParams({ ...(q && { q }), ...(after && { after }) })
  return query.size > 0 ? `/?${query}` : '/'
}
