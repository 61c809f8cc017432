import { t } from '../language.js'
import { absoluteRoot } from '../http/absolute-root.js'
import { isMisspelt, nameIn, queryOf } from '../reading/address.js'
import { shortLinkFormUrl } from '../pages/name.js'
import { toolUrls } from '../reading/tools.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { shortLinkUrl } from './ids.js'
import { addressOf } from './short-link-route.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {ShortLinks, Target} from './store.js' */

const REVISION = { type: 'string', pattern: '^[1-9]\\d{0,8}$' }
const FIELDS = { type: 'object', additionalProperties: false, properties: { revision: REVISION } }

/**
 * For people: a button makes the address, and a page shows it.
 * @type {FastifyPluginAsync<{links: ShortLinks, publicUrl?: string}>}
 */
export async function shortLinkForms (app, { links, publicUrl }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.post('/edit/short-link/*', { schema: { body: FIELDS } }, async (request, reply) => {
    const { link, created } = await links.make(targetOf(nameIn(request), request.body))
    if (wantsHtml(request)) return reply.redirect(formUrl(link), 303)
    if (created) reply.code(201)
    return { id: link.id, url: shortLinkUrl(link.id), page: link.page, revision: link.revision }
  })

  app.get('/edit/short-link/*', { schema: { querystring: FIELDS } }, async (request, reply) => {
    const name = nameIn(request)
    const url = shortLinkFormUrl(name)
    if (isMisspelt(request, url)) return reply.redirect(url + queryOf(request), 303)
    const target = targetOf(name, request.query)
    const link = await links.known(target)
    return reply.type(HTML).send(renderFor(request, 'short-link', {
      ...toolUrls(name),
      title: t('Short link to “{{name}}”', { name }),
      name,
      revision: target.revision,
      targetUrl: addressOf(target),
      path: link && shortLinkUrl(link.id),
      shortUrl: link && absoluteRoot(request, publicUrl) + shortLinkUrl(link.id)
    }))
  })
}

/** @param {string} page @param {unknown} given  checked against FIELDS @returns {Target} */
function targetOf (page, given) {
  const { revision } = /** @type {{revision?: string}} */ (given)
  return { page, revision: revision === undefined ? null : Number(revision) }
}

/** @param {Target} target */
const formUrl = ({ page, revision }) =>
  shortLinkFormUrl(page) + (revision === null ? '' : `?revision=${revision}`)
