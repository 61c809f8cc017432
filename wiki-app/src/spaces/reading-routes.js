import { personIn, spaceIn } from '../access/access.js'
import { keepFromCaches } from '../access/private-answers.js'
import { suffices } from '../access/roles.js'
import { changeItem } from '../history/change-item.js'
import { historyRoutes } from '../history/history-routes.js'
import { t } from '../language.js'
import { linksUrl, viewUrl } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { proposalsUrl } from '../proposals/addresses.js'
import { protectionListUrl } from '../protection/addresses.js'
import { IN, nameIn, queryOf } from '../reading/address.js'
import { sendMissing } from '../reading/missing-page.js'
import { treeRoute } from '../reading/tree-route.js'
import { createCachingOf, View } from '../reading/view.js'
import { parts, shown } from '../search/search-routes.js'
import { HTML, readerOf, renderFor, wantsHtml } from '../views.js'
import {
  SPACE_CHANGES_URL, SPACE_PAGES_URL, SPACE_SEARCH_URL, spaceChangesUrl, spaceExportUrl, spaceFilesListUrl,
  spacePagesUrl, spaceSearchUrl, SPACES_URL
} from './addresses.js'
import { addSpaceExport } from './export-route.js'
import { withConfig } from './placed.js'
import { addSpaceSearch } from './search-route.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {CachePolicy} from '../caching/cache-policy.js' */
/** @import {Exports} from './export-route.js' */
/** @import {Space} from './model.js' */
/** @import {SpaceLists} from './lists.js' */
/** @import {Inside} from './stores.js' */

const TEXT = { type: 'string', maxLength: 200 }
const LIST = { type: 'object', properties: { after: TEXT } }
const PAGES = { type: 'object', required: ['space'], properties: { space: TEXT, q: TEXT, after: TEXT } }
const CHANGES = {
  type: 'object',
  required: ['space'],
  properties: { space: TEXT, before: { type: 'string', pattern: '^[0-9a-f]{24}$' } }
}

/** @param {string} [costly] */
const configOf = (costly) => ({ role: 'reader', placed: true, ...costly && { costly } })

/**
 * What members of a private space read: pages as at the public addresses, with another store. A name that is in no
 * space is sent to its public address.
 * @type {FastifyPluginAsync<Exports & {inside: Inside, lists: SpaceLists, policy: CachePolicy}>}
 */
export async function spaceReadingRoutes (app, { inside, lists, policy, ...exports }) {
  app.addHook('onRequest', async (request, reply) => {
    if (spaceIn(request) === null) return reply.redirect(publicUrl(request), 303)
  })
  app.addHook('onSend', keepFromCaches)
  addView(app, inside, policy)
  addLists(app, lists)
  addSpaceSearch(app, lists)
  addSpaceExport(app, exports)
  await app.register(async (scope) => {
    const within = withConfig(scope, configOf())
    await historyRoutes(within, { ...inside, policy })
    await treeRoute(within, { store: inside.store, policy })
  }, { prefix: IN })
}

/** @param {FastifyRequest} request */
function publicUrl (request) {
  const { '*': rest } = /** @type {{'*'?: string}} */ (request.params)
  const path = request.url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]
  return rest === undefined ? SPACES_URL : `/${path.slice(IN.length).replace(/^\/+/, '')}${queryOf(request)}`
}

/** @param {FastifyInstance} app @param {Inside} inside @param {CachePolicy} policy */
function addView (app, { store }, policy) {
  const cachingOf = createCachingOf(policy)

  app.get(`${IN}/wiki/*`, { config: configOf() }, async (request, reply) => {
    const name = nameIn(request)
    const page = await store.findView(name)
    if (page?.redirect_to) return reply.header('page-revision', page.revision).redirect(viewUrl(page.redirect_to), 302)
    if (page === null || page.deleted_at != null) {
      if (!wantsHtml(request)) throw new PageMissing(name)
      return sendMissing(request, reply, { store, name, hasHistory: page !== null })
    }
    const reader = readerOf(request)
    const { _id: space } = /** @type {Space} */ (spaceIn(request))
    const urls = { pagesUrl: spacePagesUrl(space), searchUrl: spaceSearchUrl(space) }
    const notice = renderFor(request, 'in-space', { ...urls, space })
    reply.headers({ 'page-revision': page.revision }).type(HTML)
    return new View(page, cachingOf, reader.mode).documentFor(reader, notice)
  })
}

/** @param {FastifyInstance} app @param {SpaceLists} lists */
function addLists (app, lists) {
  app.get(`${IN}/links/*`, { config: configOf('list'), schema: { querystring: LIST } }, async (request, reply) => {
    const name = nameIn(request)
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { _id: root } = /** @type {Space} */ (spaceIn(request))
    const { items, more } = await lists.linkingTo({ root, name, after })
    return send(request, reply, 'list', {
      title: t('Pages with a link to “{{name}}”', { name }),
      here: null,
      of: { name, url: viewUrl(name) },
      pages: items.map(shown),
      nothing: t('No page links here. Write [[{{name}}]] in another page’s text to make a link.', { name }),
      ...parts(linksUrl(name), {}, after, more ? items[items.length - 1]._id : null)
    })
  })

  app.get(SPACE_PAGES_URL, { config: configOf('list'), schema: { querystring: PAGES } }, async (request, reply) => {
    const { q: asked = '', after } = /** @type {{q?: string, after?: string}} */ (request.query)
    const { _id: root } = /** @type {Space} */ (spaceIn(request))
    const q = asked.trim()
    const { items, more } = await lists.pages({ root, q, after })
    return send(request, reply, 'space-pages', {
      title: t('Pages of the private space “{{name}}”', { name: root }),
      root,
      q,
      url: SPACE_PAGES_URL,
      textsUrl: SPACE_SEARCH_URL,
      ...urlsOf(root, /** @type {Person} */ (personIn(request)).role),
      homeUrl: viewUrl(root),
      changesUrl: spaceChangesUrl(root),
      filesUrl: spaceFilesListUrl(root),
      spacesUrl: SPACES_URL,
      pages: items.map(shown),
      ...parts(SPACE_PAGES_URL, { space: root, ...q && { q } }, after, more ? items[items.length - 1]._id : null)
    })
  })

  app.get(SPACE_CHANGES_URL, { config: configOf('list'), schema: { querystring: CHANGES } }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { _id: root } = /** @type {Space} */ (spaceIn(request))
    const { items, more } = await lists.changes({ root, before })
    return send(request, reply, 'space-changes', {
      title: t('Recent changes of the private space “{{name}}”', { name: root }),
      named: true,
      first: before === undefined,
      items: items.map(changeItem),
      pagesUrl: spacePagesUrl(root),
      nextUrl: more ? spaceChangesUrl(root, String(items[items.length - 1]._id)) : null
    })
  })
}

/** @param {string} root @param {Role} role  in the space */
const urlsOf = (root, role) => ({
  proposalsUrl: suffices(role, 'editor') ? proposalsUrl(root) : null,
  protectionUrl: role === 'admin' ? protectionListUrl(root) : null,
  exportUrl: role === 'admin' ? spaceExportUrl(root) : null
})

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {import('../views.js').View} view
 * @param {object} data
 */
const send = (request, reply, view, data) => reply.type(HTML).send(renderFor(request, view, data))
