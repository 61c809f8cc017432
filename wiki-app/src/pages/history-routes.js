import createError from '@fastify/error'
import fresh from 'fresh'
import { HTML, renderView, wantsHtml } from '../views.js'
import { AUTHOR_SCHEMA, CHANGE_PROPERTIES, changeIn, preconditionOf, REVISION_SCHEMA } from './change.js'
import { difference } from './difference.js'
import { entityTag, pageDocument, readableSize, readableTime } from './document.js'
import { RevisionMissing } from './history.js'
import { canonicalName, historyUrl, revisionUrl, viewUrl, writableName } from './name.js'
import { currentRevision, PageMissing } from './store.js'

const NotAText = createError('WIKI_REVISION_IS_DELETION', 'Revision %s of “%s” is its deletion; it has no text.', 404)

const ITEMS_PER_PART = 50
const FEED_ITEMS = 30

/** What is said of a past state cannot change any more (RFC 8246). */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** Any edit adds to these, and nobody purges them: a copy must be checked with us every time. */
const ALWAYS_ASK = 'no-cache'

const NUMBER = { type: 'string', pattern: '^[1-9]\\d{0,8}$' }
const SCHEMAS = {
  history: { querystring: { type: 'object', properties: { before: NUMBER } } },
  revision: { params: { type: 'object', properties: { name: { type: 'string' }, revision: NUMBER } } },
  compare: { querystring: { type: 'object', required: ['from', 'to'], properties: { from: NUMBER, to: NUMBER } } },
  revert: {
    body: {
      type: 'object',
      required: ['revision'],
      additionalProperties: false,
      properties: { revision: REVISION_SCHEMA, ...CHANGE_PROPERTIES }
    }
  },
  changes: { querystring: { type: 'object', properties: { author: AUTHOR_SCHEMA, before: { type: 'string', pattern: '^[0-9a-f]{24}$' } } } }
}

/**
 * What was: the history of a page, any revision of it, the difference of two, and the way back; changes of the whole wiki, also as a feed.
 * @type {import('fastify').FastifyPluginAsync<{store: import('./store.js').PageStore, history: import('./history.js').History}>}
 */
export async function historyRoutes (app, { store, history }) {
  /**
   * An address of what was stays good when the page gets another name: its history went along.
   * @param {import('fastify').FastifyReply} reply
   * @param {string} name
   * @param {(name: string) => string} url
   * @param {Error} error  thrown when the page was not renamed
   */
  const followRename = async (reply, name, url, error) => {
    const target = await store.findRedirect(name)
    if (target === null) throw error
    return reply.header('cache-control', ALWAYS_ASK).redirect(url(target), 302)
  }

  /** @param {import('fastify').FastifyRequest} request */
  const nameIn = ({ params }) => canonicalName(/** @type {{name: string}} */ (params).name)

  app.get('/history/:name', { schema: SCHEMAS.history }, async (request, reply) => {
    const name = nameIn(request)
    const { before } = /** @type {{before?: string}} */ (request.query)
    const [head, { items, more }] = await Promise.all([store.findSource(name), history.ofPage({ page: name, before: before === undefined ? undefined : Number(before), limit: ITEMS_PER_PART })])
    if (items.length === 0) return followRename(reply, name, historyUrl, new PageMissing(name))
    const url = historyUrl(name)
    return reply.header('cache-control', ALWAYS_ASK).type(HTML).send(renderView('history', {
      title: `History of “${name}”`,
      viewUrl: viewUrl(name),
      deleted: head === null,
      named: false,
      items: items.map(shown),
      revert: { url: `/revert/${encodeURIComponent(name)}`, baseRevision: currentRevision(head) },
      nextUrl: more ? `${url}?before=${items[items.length - 1].revision}` : null
    }))
  })

  app.get('/revision/:name/:revision', { schema: SCHEMAS.revision }, async (request, reply) => {
    const name = nameIn(request)
    const number = Number(/** @type {{revision: string}} */ (request.params).revision)
    const found = await history.find(name, number)
    if (found === null) return followRename(reply, name, (target) => revisionUrl(target, number), new RevisionMissing(number, name))
    const { revision, content, created_at: createdAt, deleted } = found
    if (deleted) throw new NotAText(number, name)
    const page = { _id: name, revision, ...await store.render(content), modified_at: createdAt }
    reply.headers({ 'cache-control': FOR_EVER, 'page-revision': revision, 'last-modified': createdAt.toUTCString() }).type(HTML)
    return pageDocument(page, renderView('past', { revision, time: readableTime(createdAt.toISOString()), viewUrl: viewUrl(name), historyUrl: historyUrl(name) }))
  })

  app.get('/raw/:name', async (request, reply) => {
    const name = nameIn(request)
    const page = await store.findSource(name)
    if (page === null) return followRename(reply, name, rawUrl, new PageMissing(name))
    const validators = { etag: entityTag(page).replace('"', '"raw-') }
    reply.headers({ ...validators, 'cache-control': ALWAYS_ASK, 'page-revision': page.revision }).type('text/markdown; charset=utf-8')
    return fresh(request.headers, validators) ? reply.code(304).send() : page.content
  })

  app.get('/difference/:name', { schema: SCHEMAS.compare }, async (request, reply) => {
    const name = nameIn(request)
    const [from, to] = ['from', 'to'].map((key) => Number(/** @type {Record<string, string>} */ (request.query)[key]))
    const [before, after] = await Promise.all([history.find(name, from), history.find(name, to)])
    if (before === null || after === null) return followRename(reply, name, (target) => differenceUrl(target, from, to), new RevisionMissing(before === null ? from : to, name))
    return reply.header('cache-control', FOR_EVER).type(HTML).send(renderView('compare', {
      title: `Changes of “${name}”`,
      from,
      to,
      fromUrl: revisionUrl(name, from),
      toUrl: revisionUrl(name, to),
      historyUrl: historyUrl(name),
      viewUrl: viewUrl(name),
      lines: difference(before.content, after.content)
    }))
  })

  app.post('/revert/:name', { schema: SCHEMAS.revert }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const number = Number(/** @type {{revision: string | number}} */ (request.body).revision)
    const past = await history.find(name, number)
    if (past === null) throw new RevisionMissing(number, name)
    if (past.deleted) throw new NotAText(number, name)
    const { author, summary } = changeIn(request.body)
    const { revision, created } = await store.save(name, past.content, { author, summary: summary || `Back to revision ${number}` }, preconditionOf(request))
    reply.header('cache-control', 'private, no-store').header('page-revision', revision)
    if (wantsHtml(request)) return reply.redirect(`${viewUrl(name)}?saved=${revision}`, 303)
    return { name, revision, created }
  })

  app.get('/changes', { schema: SCHEMAS.changes }, async (request, reply) => {
    const { author, before } = /** @type {{author?: string, before?: string}} */ (request.query)
    const { items, more } = await history.changes({ author, before, limit: ITEMS_PER_PART })
    return reply.header('cache-control', ALWAYS_ASK).type(HTML).send(renderView('changes', {
      title: author === undefined ? 'Recent changes' : author === '' ? 'Changes without a name' : `Changes by ${author}`,
      author,
      named: true,
      items: items.map(shown),
      feedUrl: changesUrl('/changes.atom', { author }),
      nextUrl: more ? changesUrl('/changes', { author, before: String(items[items.length - 1]._id) }) : null
    }))
  })

  app.get('/changes.atom', { schema: SCHEMAS.changes }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    const { items } = await history.changes({ author, limit: FEED_ITEMS })
    return reply.header('cache-control', ALWAYS_ASK).type('application/atom+xml; charset=utf-8').send(renderView('feed', {
      title: author === undefined ? 'Changes of the wiki' : `Changes by ${author}`,
      updated: (items[0]?.created_at ?? new Date(0)).toISOString(),
      feedUrl: changesUrl('/changes.atom', { author }),
      items: items.map(shown)
    }))
  })
}

/** @param {string} name */
const rawUrl = (name) => `/raw/${encodeURIComponent(name)}`

/**
 * @param {string} name
 * @param {number} from
 * @param {number} to
 */
const differenceUrl = (name, from, to) => `/difference/${encodeURIComponent(name)}?from=${from}&to=${to}`

/**
 * A change as the templates show it.
 * @param {import('./history.js').RevisionItem} item
 */
function shown ({ _id: id, page, revision, follows, content_bytes: bytes, author, summary, deleted, created_at: createdAt }) {
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

/**
 * @param {string} path
 * @param {Record<string, string | undefined>} query
 */
function changesUrl (path, query) {
  const given = new URLSearchParams(Object.entries(query).flatMap(([key, value]) => value === undefined ? [] : [[key, value]]))
  return given.size > 0 ? `${path}?${given}` : path
}
