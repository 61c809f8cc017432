import createError from '@fastify/error'
import fresh from 'fresh'
import { t } from '../language.js'
import { readableTime } from '../readable.js'
import { HTML, readerOf, renderFor } from '../views.js'
import { isMisspelt, nameIn, queryOf, REVISION } from '../reading/address.js'
import { sendAuthors } from './authors-page.js'
import { changeItem } from './change-item.js'
import { eraseUrl } from './erase-address.js'
import { pageDocument } from '../reading/document.js'
import { PAST_CONTROL, refuseErased, RevisionIsDeletion, RevisionMissing } from './history.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import {
  authorsUrl, canonicalName, differenceUrl, historyUrl, rawUrl, revertUrl, revisionUrl, shortLinkFormUrl, viewUrl
} from '../pages/name.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { currentRevision } from '../pages/head.js'
import { PageMissing } from '../pages/page-errors.js'
import { toolUrls } from '../reading/tools.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */

const NoRevision = createError(
  'WIKI_NO_REVISION', 'The address of a revision ends with its number: /revision/{name}/{number}.', 400
)

const BadComparison = createError(
  'WIKI_BAD_COMPARISON',
  'The address of a comparison ends with the numbers of two revisions, such as ?from=1&to=2. ' +
    'The history of the page has a form to choose them.',
  400
)

const ITEMS_PER_PART = 50

const NUMBER = { type: 'string', pattern: '^[1-9]\\d{0,8}$' }
const SCHEMAS = {
  history: { querystring: { type: 'object', properties: { before: NUMBER } } },
  // Checked by revisionsIn, whose sentence helps.
  compare: { querystring: { type: 'object', properties: { from: {}, to: {} } } }
}

/** @type {FastifyPluginAsync<Pick<Services, 'store' | 'history' | 'oldRevisions' | 'policy'>>} */
export async function historyRoutes (app, { store, history, oldRevisions, policy }) {
  const cacheControl = policy.listControl
  const context = { store, history, oldRevisions, cacheControl, redirects: createRedirects(store, cacheControl) }
  app.addHook('onRequest', redirectUnknownQuery)
  addHistory(app, context)
  addRevisions(app, context)
  addDifference(app, context)
}

/** @param {import('../pages/store.js').PageStore} store @param {string} cacheControl */
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
  app.get('/history/*', { config: { costly: 'history' }, schema: SCHEMAS.history }, async (request, reply) => {
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
      ...toolUrls(name),
      here: 'history',
      title: t('History of “{{name}}”', { name }),
      deleted: head === null,
      named: false,
      items: items.map(changeItem),
      authorsUrl: head === null ? null : authorsUrl(name, head.revision),
      compare: comparisonOf(name, items, head, { isPart: more || before !== undefined }),
      revert: { url: revertUrl(name), baseRevision: currentRevision(head) },
      nextUrl: more ? `${url}?before=${items[items.length - 1].revision}` : null
    })
    return sendRevalidated(request, reply, { cacheControl, type: HTML, body })
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addRevisions (app, { store, history, oldRevisions, redirects, cacheControl }) {
  app.get('/revision/*', { config: { costly: 'history' } }, async (request, reply) => {
    const [, asked, digits, authors] = REVISION.exec(/** @type {{'*': string}} */ (request.params)['*']) ?? []
    if (asked === undefined) throw new NoRevision()
    const [name, number] = [canonicalName(asked), Number(digits)]
    const urlOf = (/** @type {string} */ of) => authors ? authorsUrl(of, number) : revisionUrl(of, number)
    if (isMisspelt(request, urlOf(name))) return redirects.respell(request, reply, urlOf(name))
    const found = await history.findItem(name, number)
    if (found === null) return redirects.followRename(reply, name, urlOf, new RevisionMissing(number, name))
    refuseErased(found)
    const { revision, content_bytes: contentBytes, tags, created_at: createdAt, deleted } = found
    if (deleted) throw new RevisionIsDeletion(number, name)
    if (authors) return sendAuthors(request, reply, { history, oldRevisions }, found)
    const html = await oldRevisions.html(found)
    const page = { _id: name, revision, tags, content_bytes: contentBytes, html, modified_at: createdAt }
    reply
      .headers({ 'cache-control': PAST_CONTROL, 'page-revision': revision, 'last-modified': createdAt.toUTCString() })
      .type(HTML)
    return pageDocument(page, readerOf(request), renderFor(request, 'past', {
      revision,
      time: readableTime(createdAt.toISOString()),
      viewUrl: viewUrl(name),
      historyUrl: historyUrl(name),
      authorsUrl: authorsUrl(name, revision),
      shortLinkUrl: shortLinkFormUrl(name),
      eraseUrl: eraseUrl(name, revision, revision)
    }))
  })

  app.get('/raw/*', { config: { costly: 'text' } }, async (request, reply) => {
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

/**
 * What the form for a comparison offers: the revisions of this part, and the newest.
 * @param {string} name @param {import('./history.js').RevisionItem[]} items @param {{revision: number} | null} head
 * @param {{isPart: boolean}} list  whether there are other revisions
 */
function comparisonOf (name, items, head, { isPart }) {
  const revisions = items.filter(({ erased_at: erasedAt }) => !erasedAt)
    .map(({ revision, created_at: createdAt, deleted }) =>
      ({
        revision,
        label: [revision, readableTime(createdAt.toISOString()), ...deleted ? [t('deleted')] : []].join(', ')
      }))
  if (head !== null && !items.some(({ revision }) => revision === head.revision)) {
    revisions.unshift({ revision: head.revision, label: `${head.revision}, ${t('the newest')}` })
  }
  return revisions.length < 2 ? null : { url: differencesUrl(name), revisions, isPart }
}

/** @param {FastifyInstance} app @param {Context} context */
function addDifference (app, { history, oldRevisions, redirects, cacheControl }) {
  app.get('/difference/*', { config: { costly: 'difference' }, schema: SCHEMAS.compare }, async (request, reply) => {
    const name = nameIn(request)
    const url = differencesUrl(name)
    if (isMisspelt(request, url)) return redirects.respell(request, reply, url)
    const { from, to } = revisionsIn(request, name)
    if (from === undefined || to === undefined) {
      const { items: [newest] } = await history.ofPage({ page: name, before: to === undefined ? to : to + 1, limit: 1 })
      if (newest === undefined) return redirects.followRename(reply, name, differencesUrl, new PageMissing(name))
      const before = from ?? newest.follows
      const newestUrl = before === null ? historyUrl(name) : differenceUrl(name, before, newest.revision)
      return reply.header('cache-control', cacheControl).redirect(newestUrl, 302)
    }
    const [before, after] = await Promise.all([history.findItem(name, from), history.findItem(name, to)])
    if (before === null || after === null) {
      const missing = new RevisionMissing(before === null ? from : to, name)
      Object.assign(missing, { historyUrl: historyUrl(name) })
      return redirects.followRename(reply, name, (target) => differenceUrl(target, from, to), missing)
    }
    refuseErased(before)
    refuseErased(after)
    const difference = await oldRevisions.difference(before, after)
    return reply.header('cache-control', PAST_CONTROL).type(HTML).send(renderFor(request, 'compare', {
      title: t('Changes of “{{name}}”', { name }),
      from,
      to,
      fromUrl: revisionUrl(name, from),
      toUrl: revisionUrl(name, to),
      previousUrl: from < to && before.follows !== null ? differenceUrl(name, before.follows, from) : null,
      ...toolUrls(name),
      change: changeItem(after),
      difference
    }))
  })
}

/** @param {string} name */
const differencesUrl = (name) => differenceUrl(name, 0, 0).split('?', 1)[0]

/**
 * @param {FastifyRequest} request @param {string} name
 * @returns {{from?: number, to?: number}} @throws {Error} 400 with the way to the page's history
 */
function revisionsIn ({ query }, name) {
  const { from, to } = /** @type {Record<string, unknown>} */ (query)
  const [first, last] = [from, to].map((given) => {
    if (given === undefined || given === '') return undefined
    if (typeof given === 'string' && /^[1-9]\d{0,8}$/.test(given)) return Number(given)
    throw Object.assign(new BadComparison(), { historyUrl: historyUrl(name) })
  })
  return { from: first, to: last }
}
