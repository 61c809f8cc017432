import { t } from '../language.js'
import { HTML, renderFor } from '../views.js'
import { isMisspelt, nameIn } from '../reading/address.js'
import { LINE } from '../writing/change.js'
import { readableTime } from '../readable.js'
import { excerpt } from './excerpt.js'
import { SEARCH_MAX_MS } from './search.js'
import { freshnessNotice, noTexts } from './freshness.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { canonicalName, linksUrl, tagUrl, viewUrl } from '../pages/name.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { canonicalTag } from '../pages/tags.js'
import { SPACES_URL } from '../spaces/addresses.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Search} from './search.js' */

export const PAGES_PER_PART = 50
const TITLES_PER_SEARCH = 10
const TEXTS_PER_PART = 20
/** For titles, beside a text search. */
const TITLES_SCAN_MAX_MS = 200
/** For each part the database reads all parts before it. */
const TEXT_PARTS_MAX = 50

/** A name, or words. */
const TEXT = { type: 'string', maxLength: 200, pattern: LINE }
export const LIST_SCHEMA = { querystring: { type: 'object', properties: { after: TEXT } } }
const PAGES_SCHEMA = { querystring: { type: 'object', properties: { q: TEXT, under: TEXT, after: TEXT } } }
const SEARCH_SCHEMA = {
  querystring: { type: 'object', properties: { q: TEXT, part: { type: 'string', pattern: '^[1-9]\\d{0,2}$' } } }
}

/** @type {FastifyPluginAsync<Pick<import('../services.js').Services, 'search' | 'policy'>>} */
export async function searchRoutes (app, { search, policy }) {
  app.addHook('onRequest', redirectUnknownQuery)
  const answer = createAnswer(policy)
  addSearches(app, search, answer)
  addTags(app, search, answer)
  addBacklinks(app, search, answer)
}

/** @typedef {ReturnType<typeof createAnswer>} Answer */

/** @param {import('../caching/cache-policy.js').CachePolicy} policy */
export function createAnswer ({ listControl }) {
  /**
   * @param {FastifyRequest} request @param {FastifyReply} reply @param {import('../views.js').View} view
   * @param {object} data
   */
  const send = (request, reply, view, data) => sendRevalidated(request, reply, {
    cacheControl: listControl,
    type: HTML,
    body: renderFor(request, view, data)
  })
  /** @param {FastifyReply} reply @param {string} url */
  const redirect = (reply, url) => reply.header('cache-control', listControl).redirect(url, 301)
  return { send, redirect }
}

/** @param {FastifyInstance} app @param {Search} search @param {Answer} answer */
function addSearches (app, search, answer) {
  app.get('/pages', { config: { costly: 'list' }, schema: PAGES_SCHEMA }, async (request, reply) => {
    const { q: asked = '', under, after } = /** @type {{q?: string, under?: string, after?: string}} */ (request.query)
    if (under !== undefined) return answer.send(request, reply, 'list', await subpagesOf(search, under, after))
    const q = asked.trim()
    const { items, more, complete } = await search.byTitle({
      q,
      after,
      limit: PAGES_PER_PART,
      scanMaxMs: SEARCH_MAX_MS
    })
    return answer.send(request, reply, 'list', {
      title: q === '' ? t('Pages') : t('Titles with “{{words}}”', { words: q }),
      q,
      here: q === '' ? '/pages' : null,
      pages: items.map(shown),
      nothing: q === ''
        ? t('There are no pages yet.')
        : complete
          ? t('No title has “{{words}}” in it.', { words: q })
          : t('No title begins with “{{words}}”.', { words: q }),
      textsUrl: complete ? null : withQuery('/search', { q }),
      newName: items.length > 0 ? '' : q,
      ...parts('/pages', { ...(q && { q }) }, after, more ? items[items.length - 1]._id : null)
    })
  })

  app.get('/search', { config: { costly: 'search' }, schema: SEARCH_SCHEMA }, async (request, reply) => {
    const { q: asked = '', part: askedPart = '1' } = /** @type {{q?: string, part?: string}} */ (request.query)
    const [q, part] = [asked.trim(), Math.min(Number(askedPart), TEXT_PARTS_MAX)]
    const [titles, texts] = q === ''
      ? [null, null]
      : await Promise.all([
        part === 1 ? search.byTitle({ q, limit: TITLES_PER_SEARCH, scanMaxMs: TITLES_SCAN_MAX_MS }) : null,
        search.byText({ q, skip: (part - 1) * TEXTS_PER_PART, limit: TEXTS_PER_PART }).catch(noTexts)
      ])
    return answer.send(request, reply, 'search', {
      title: q === '' ? t('Search') : t('Search for “{{words}}”', { words: q }),
      q,
      spacesUrl: SPACES_URL,
      titles: titles?.items.map(shown) ?? [],
      allTitles: titles?.complete ?? true,
      moreTitlesUrl: titles !== null && (titles.more || !titles.complete) ? withQuery('/pages', { q }) : null,
      texts: texts?.items.map(({ name, modifiedAt, content }) => ({
        ...shown({ _id: name, modified_at: modifiedAt }),
        excerpt: excerpt(content, q, texts.forms)
      })) ?? [],
      suggestion: part === 1 && texts?.suggestion ? texts.suggestion : '',
      suggestionUrl: texts?.suggestion ? withQuery('/search', { q: texts.suggestion }) : null,
      unranked: texts !== null && !texts.ranked,
      notice: texts === null ? '' : 'freshness' in texts ? freshnessNotice(texts.freshness) : '',
      unavailable: texts !== null && 'unavailable' in texts ? texts.unavailable : '',
      part,
      firstUrl: withQuery('/search', { q }),
      nextUrl: texts?.more && part < TEXT_PARTS_MAX ? withQuery('/search', { q, part: String(part + 1) }) : null
    })
  })
}

/** @param {Search} search @param {string} under @param {string} [after] */
async function subpagesOf (search, under, after) {
  const name = canonicalName(under)
  const { items, more } = await search.below({ name, after, limit: PAGES_PER_PART })
  return {
    title: t('Subpages of “{{name}}”', { name }),
    here: null,
    of: { name, url: viewUrl(name) },
    pages: items.map(shown),
    nothing: t('There are none: no page’s name begins with “{{name}}/”.', { name }),
    ...parts('/pages', { under: name }, after, more ? items[items.length - 1]._id : null)
  }
}

/** @param {FastifyInstance} app @param {Search} search @param {Answer} answer */
function addTags (app, search, answer) {
  app.get('/tags', { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, more } = await search.tags({ after, limit: PAGES_PER_PART })
    return answer.send(request, reply, 'tags', {
      title: t('Tags'),
      here: '/tags',
      tags: items.map(({ tag, pages }) => ({ tag, pages, url: tagUrl(tag) })),
      ...parts('/tags', {}, after, more ? items[items.length - 1].tag : null)
    })
  })

  app.get('/tags/:tag', { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const tag = canonicalTag(/** @type {{tag: string}} */ (request.params).tag)
    const url = tagUrl(tag)
    if (isMisspelt(request, url)) return answer.redirect(reply, url)
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, more } = await search.byTag({ tag, after, limit: PAGES_PER_PART })
    return answer.send(request, reply, 'list', {
      title: t('Pages with the tag “{{tag}}”', { tag }),
      here: null,
      pages: items.map(shown),
      nothing: t('No page has this tag. Tags are given where a page is edited.'),
      ...parts(url, {}, after, more ? items[items.length - 1]._id : null)
    })
  })
}

/** @param {FastifyInstance} app @param {Search} search @param {Answer} answer */
function addBacklinks (app, search, answer) {
  app.get('/links/*', { config: { costly: 'list' }, schema: LIST_SCHEMA }, async (request, reply) => {
    const name = nameIn(request)
    const url = linksUrl(name)
    if (isMisspelt(request, url)) return answer.redirect(reply, url)
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, more } = await search.linkingTo({ name, after, limit: PAGES_PER_PART })
    return answer.send(request, reply, 'list', {
      title: t('Pages with a link to “{{name}}”', { name }),
      here: null,
      of: { name, url: viewUrl(name) },
      pages: items.map(shown),
      nothing: t('No page links here. Write [[{{name}}]] in another page’s text to make a link.', { name }),
      ...parts(url, {}, after, more ? items[items.length - 1]._id : null)
    })
  })
}

/**
 * @param {string} path @param {Record<string, string>} query  of the list
 * @param {string | undefined} after @param {string | null} last  the last item of this part; null: there are no more
 */
export const parts = (path, query, after, last) => ({
  first: after === undefined,
  firstUrl: withQuery(path, query),
  nextUrl: last === null ? null : withQuery(path, { ...query, after: last })
})

/** @param {{_id: string, modified_at: Date}} page */
export function shown ({ _id: name, modified_at: modifiedAt }) {
  const at = modifiedAt.toISOString()
  return { name, url: viewUrl(name), modifiedAt: at, modified: readableTime(at) }
}

/** @param {string} path @param {Record<string, string>} query */
function withQuery (path, query) {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}
