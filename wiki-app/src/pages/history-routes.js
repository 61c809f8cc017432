import createError from '@fastify/error'
import fresh from 'fresh'
import { HTML, renderFor } from '../views.js'
import { isMisspelt, nameIn, queryOf } from './address.js'
import { AUTHOR_SCHEMA } from './change.js'
import { pageDocument, readableSize, readableTime } from './document.js'
import { RevisionIsDeletion, RevisionMissing } from './history.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { canonicalName, differenceUrl, historyUrl, rawUrl, revertUrl, revisionUrl, viewUrl } from './name.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { currentRevision } from './head.js'
import { PageMissing } from './page-errors.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */

const NoRevision = createError(
  'WIKI_NO_REVISION', 'The address of a revision ends with its number: /revision/{name}/{number}.', 400
)

const ITEMS_PER_PART = 50
const FEED_ITEMS = 30

/** Old revisions never change (RFC 8246). */
const FOR_EVER = 'public, max-age=31536000, immutable'

const NUMBER = { type: 'string', pattern: '^[1-9]\\d{0,8}$' }
const SCHEMAS = {
  history: { querystring: { type: 'object', properties: { before: NUMBER } } },
  compare: { querystring: { type: 'object', required: ['from', 'to'], properties: { from: NUMBER, to: NUMBER } } },
  changes: {
    querystring: {
      type: 'object',
      properties: { author: AUTHOR_SCHEMA, before: { type: 'string', pattern: '^[0-9a-f]{24}$' } }
    }
  }
}

/** @type {FastifyPluginAsync<Pick<Services, 'store' | 'history' | 'oldRevisions' | 'policy'>>} */
export async function historyRoutes (app, { store, history, oldRevisions, policy }) {
  const cacheControl = policy.listControl
  const context = { store, history, oldRevisions, cacheControl, redirects: createRedirects(store, cacheControl) }
  app.addHook('onRequest', redirectUnknownQuery)
  addHistory(app, context)
  addRevisions(app, context)
  addDifference(app, context)
  addChanges(app, context)
}

/** @param {import('./store.js').PageStore} store @param {string} cacheControl */
function createRedirects (store, cacheControl) {
  /**
   * A renaming moves the history to the new name.
   * @param {FastifyReply} reply @param {string} name @param {(name: string) => string} url
   * @param {Error} error  thrown when the page was not renamed
   */
  const followRename = async (reply, name, url, error) => {
    const target = await store.findRedirect(name)
    if (target === null) throw error
    return reply.header('cache-control', cacheControl).redirect(url(target), 302)
  }

  /** @param {FastifyRequest} request @param {FastifyReply} reply @param {string} url  in canonical spelling */
  const respell = (request, reply, url) =>
    reply.header('cache-control', cacheControl).redirect(url + queryOf(request), 301)

  return { followRename, respell }
}

/**
 * @typedef {{cacheControl: string, redirects: ReturnType<typeof createRedirects>}} Responses
 * @typedef {Pick<Services, 'store' | 'history' | 'oldRevisions'> & Responses} Context
 */

/** @param {FastifyInstance} app @param {Context} context */
function addHistory (app, { store, history, redirects, cacheControl }) {
  app.get('/history/*', { schema: SCHEMAS.history }, async (request, reply) => {
    const name = nameIn(request)
    const url = historyUrl(name)
    if (isMisspelt(request, url)) return redirects.respell(request, reply, url)
    const { before } = /** @type {{before?: string}} */ (request.query)
    const [head, { items, more }] = await Promise.all([
      store.findSource(name),
      history.ofPage({
        page: name,
        before: before === undefined ? undefined : Number(before),
        limit: ITEMS_PER_PART
      })
    ])
    if (items.length === 0) return redirects.followRename(reply, name, historyUrl, new PageMissing(name))
    const body = renderFor(request, 'history', {
      title: `History of “${name}”`,
      viewUrl: viewUrl(name),
      deleted: head === null,
      named: false,
      items: items.map(shown),
      revert: { url: revertUrl(name), baseRevision: currentRevision(head) },
      nextUrl: more ? `${url}?before=${items[items.length - 1].revision}` : null
    })
    return sendRevalidated(request, reply, { cacheControl, type: HTML, body })
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addRevisions (app, { store, history, oldRevisions, redirects, cacheControl }) {
  app.get('/revision/*', async (request, reply) => {
    const [, asked, digits] = /^(.+)\/([1-9]\d{0,8})$/.exec(/** @type {{'*': string}} */ (request.params)['*']) ?? []
    if (asked === undefined) throw new NoRevision()
    const [name, number] = [canonicalName(asked), Number(digits)]
    const url = revisionUrl(name, number)
    if (isMisspelt(request, url)) return redirects.respell(request, reply, url)
    const found = await history.findItem(name, number)
    if (found === null) {
      const missing = new RevisionMissing(number, name)
      return redirects.followRename(reply, name, (target) => revisionUrl(target, number), missing)
    }
    const { revision, content_bytes: contentBytes, tags, created_at: createdAt, deleted } = found
    if (deleted) throw new RevisionIsDeletion(number, name)
    const html = await oldRevisions.html(found)
    const page = { _id: name, revision, tags, content_bytes: contentBytes, html, modified_at: createdAt }
    reply
      .headers({ 'cache-control': FOR_EVER, 'page-revision': revision, 'last-modified': createdAt.toUTCString() })
      .type(HTML)
    return pageDocument(page, renderFor(request, 'past', {
      revision,
      time: readableTime(createdAt.toISOString()),
      viewUrl: viewUrl(name),
      historyUrl: historyUrl(name)
    }))
  })

  app.get('/raw/*', { config: { isCostly: true } }, async (request, reply) => {
    const name = nameIn(request)
    if (isMisspelt(request, rawUrl(name))) return redirects.respell(request, reply, rawUrl(name))
    const page = await store.findSource(name)
    if (page === null) return redirects.followRename(reply, name, rawUrl, new PageMissing(name))
    const validators = { etag: `"raw-${page.revision}"` }
    reply
      .headers({ ...validators, 'cache-control': cacheControl, 'page-revision': page.revision })
      .type('text/markdown; charset=utf-8')
    return fresh(request.headers, validators) ? reply.code(304).send() : page.content
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addDifference (app, { history, oldRevisions, redirects }) {
  app.get('/difference/*', { schema: SCHEMAS.compare }, async (request, reply) => {
    const name = nameIn(request)
    const [from, to] = ['from', 'to'].map((key) => Number(/** @type {Record<string, string>} */ (request.query)[key]))
    if (isMisspelt(request, differenceUrl(name, from, to).split('?', 1)[0])) {
      return redirects.respell(request, reply, differenceUrl(name, from, to).split('?', 1)[0])
    }
    const [before, after] = await Promise.all([history.findItem(name, from), history.findItem(name, to)])
    if (before === null || after === null) {
      const missing = new RevisionMissing(before === null ? from : to, name)
      return redirects.followRename(reply, name, (target) => differenceUrl(target, from, to), missing)
    }
    const difference = await oldRevisions.difference(before, after)
    return reply.header('cache-control', FOR_EVER).type(HTML).send(renderFor(request, 'compare', {
      title: `Changes of “${name}”`,
      from,
      to,
      fromUrl: revisionUrl(name, from),
      toUrl: revisionUrl(name, to),
      historyUrl: historyUrl(name),
      viewUrl: viewUrl(name),
      difference
    }))
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addChanges (app, { history, cacheControl }) {
  app.get('/changes', { schema: SCHEMAS.changes }, async (request, reply) => {
    const { author, before } = /** @type {{author?: string, before?: string}} */ (request.query)
    const { items, more } = await history.changes({ author, before, limit: ITEMS_PER_PART })
    const body = renderFor(request, 'changes', {
      title: author === undefined
        ? 'Recent changes'
        : author === '' ? 'Changes without a name' : `Changes by ${author}`,
      author,
      named: true,
      items: items.map(shown),
      feedUrl: changesUrl('/changes.atom', { author }),
      nextUrl: more ? changesUrl('/changes', { author, before: String(items[items.length - 1]._id) }) : null
    })
    return sendRevalidated(request, reply, { cacheControl, type: HTML, body })
  })

  app.get('/changes.atom', { schema: SCHEMAS.changes }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    const { items } = await history.changes({ author, limit: FEED_ITEMS })
    const body = renderFor(request, 'feed', {
      title: author === undefined ? 'Changes of the wiki' : `Changes by ${author}`,
      updated: (items[0]?.created_at ?? new Date(0)).toISOString(),
      feedUrl: changesUrl('/changes.atom', { author }),
      items: items.map(shown)
    })
    return sendRevalidated(request, reply, { cacheControl, type: 'application/atom+xml; charset=utf-8', body })
  })
}

/** @param {import('./history.js').RevisionItem} item */
function shown ({
  _id: id, page, revision, follows, content_bytes: bytes, author, summary, deleted, created_at: createdAt
}) {
  const at = createdAt.toISOString()
  return {
    id: String(id),
    page,
    revision,
    deleted,
    author,
    summary,
    at,
    time: readableTime(at),
    size: readableSize(bytes),
    viewUrl: viewUrl(page),
    historyUrl: historyUrl(page),
    revisionUrl: revisionUrl(page, revision),
    differenceUrl: follows === null ? null : differenceUrl(page, follows, revision),
    authorUrl: changesUrl('/changes', { author })
  }
}

/** @param {string} path @param {Record<string, string | undefined>} query */
function changesUrl (path, query) {
  const given = new URLSearchParams(
    Object.entries(query).flatMap(([key, value]) => value === undefined ? [] : [[key, value]])
  )
  return given.size > 0 ? `${path}?${given}` : path
}
