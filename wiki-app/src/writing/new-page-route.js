import { modeOf, personIn } from '../access/access.js'
import { mayWrite } from '../access/roles.js'
import { NEW_PAGES } from '../markdown/missing.js'
import { isMisspelt, nameIn } from '../reading/address.js'
import { editUrl, encodeName, viewUrl, writableName } from '../pages/name.js'

/** Of a name that is not written yet. @param {string} name */
export const newPageUrl = (name) => `${NEW_PAGES}${encodeName(name)}`

/**
 * Where links to missing pages lead. A cached page cannot know whether its reader may write, nor whether the page has
 * been written since.
 * @type {import('fastify').FastifyPluginAsync<Pick<import('../services.js').Services, 'store'>>}
 */
export async function newPageRoute (app, { store }) {
  const mode = modeOf(app)

  app.get(`${NEW_PAGES}*`, { config: { role: 'anyone', identifies: mode === 'users' } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    reply.header('cache-control', 'private, no-store')
    if (isMisspelt(request, newPageUrl(name))) return reply.redirect(newPageUrl(name), 303)
    const person = personIn(request)
    const writes = mayWrite(mode, person) && (mode !== 'users' || person !== null)
    const leadsToEditor = writes && await store.findKind(name) === null
    return reply.redirect(leadsToEditor ? editUrl(name) : viewUrl(name), 303)
  })
}
