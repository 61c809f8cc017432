import { queryOf as queryIn } from '../reading/address.js'
import { changeIn, preconditionOf } from '../writing/change.js'
import { createBringBack } from '../history/bring-back.js'
import { PAST_CONTROL, refuseErased, RevisionMissing } from '../history/history.js'
import { writableName } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { askedName, nameIn, pageUrl } from './address.js'
import { pageTag, sendPart } from './answers.js'
import { limitIn, readCursor } from './cursor.js'
import {
  answer, AUTHOR, bodyOf, CHANGE_FIELDS, list, named, otherwise, partQuery, queryOf, refusals, revisionParameter,
  SECURITY
} from './schemas.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */

const NUMBER = /^[1-9]\d{0,8}$/
export const CHANGE_ID = /^[0-9a-f]{24}$/

const tags = ['history']
const NAME = 'Handbook/Writing'
const FIRST = {
  name: NAME,
  revision: 1,
  follows: null,
  content_bytes: 10,
  tags: ['guide'],
  author: 'Ana',
  summary: '',
  deleted: false,
  erased: false,
  created_at: '2026-01-01T09:00:00.000Z'
}
export const CHANGE_EXAMPLE = {
  ...FIRST,
  revision: 2,
  follows: 1,
  content_bytes: 17,
  tags: ['guide', 'style'],
  summary: 'plainer',
  created_at: '2026-01-01T10:00:00.000Z'
}

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  ofPage: {
    tags,
    summary: 'List the revisions of a page',
    description: 'The newest first, also of a deleted page.',
    params: named(NAME),
    querystring: partQuery(),
    response: { 200: list('Revisions without their texts', 'Change', [CHANGE_EXAMPLE, FIRST]), ...otherwise(302, 304, 404) }
  },
  revision: {
    tags,
    summary: 'Read a revision',
    description: 'A past text of a page. It never changes, but an administrator may erase it: then the answer is 410.',
    params: { ...named(NAME), properties: { ...named(NAME).properties, revision: revisionParameter(1) } },
    response: {
      200: answer('The revision', 'Revision', { ...FIRST, content: 'Use words.' }), ...otherwise(302, 404, 410)
    }
  },
  difference: {
    tags,
    summary: 'Compare two revisions of a page',
    description: 'Line by line, and only as much of it as can be read: `truncated` says whether there is more. ' +
      'Of a line that changed in part, `words` says in which.',
    params: named(NAME),
    querystring: queryOf({ from: revisionParameter(1), to: revisionParameter(2) }, ['from', 'to']),
    response: {
      200: answer('How one became the other', 'Difference', {
        name: NAME,
        from: 1,
        to: 2,
        lines: [
          { kind: 'removed', text: 'Use words.', words: [{ text: 'Use words.', changed: false }] },
          {
            kind: 'added',
            text: 'Use plain words.',
            words: [
              { text: 'Use ', changed: false }, { text: 'plain ', changed: true }, { text: 'words.', changed: false }
            ]
          }
        ],
        truncated: false
      }),
      ...otherwise(302, 404, 410, 422)
    }
  },
  revert: {
    tags,
    security: SECURITY,
    summary: 'Bring back a revision',
    description: 'Its text and tags become the newest revision, also where the page was deleted.',
    params: named('Restored'),
    body: bodyOf(
      {
        revision: { type: 'integer', minimum: 1, maximum: 999_999_999, description: 'The one to bring back.' },
        ...CHANGE_FIELDS
      },
      ['revision'],
      { revision: 1, author: 'Ana', base_revision: 2 }
    ),
    response: {
      200: answer('It is the newest one', 'Saved', { name: 'Restored', revision: 3, created: false }),
      201: answer('It is the newest one, and the page was deleted before', 'Saved', {
        name: 'Restored',
        revision: 4,
        created: true
      }),
      ...refusals(404, 410, 412, 422)
    }
  },
  changes: {
    tags,
    summary: 'List the changes of all pages',
    description: 'The newest first, of everybody or of one author.',
    querystring: partQuery({ author: AUTHOR }),
    response: { 200: list('Revisions without their texts', 'Change', [CHANGE_EXAMPLE, FIRST]), ...otherwise(304) }
  }
}

/** @type {FastifyPluginAsync<Pick<Services, 'store' | 'history' | 'oldRevisions' | 'policy'>>} */
// eslint-disable-next-line max-lines-per-function -- a table of routes
export async function historyApi (app, { store, history, oldRevisions, policy: { listControl: cacheControl } }) {
  const bringBack = createBringBack({ store, history })

  /**
   * A renaming moves the history to the new name.
   * @param {FastifyRequest} request @param {FastifyReply} reply
   * @param {string} rest  of the path, in canonical spelling @param {Error} error  thrown when the page was not renamed
   */
  async function followRename (request, reply, rest, error) {
    const target = await store.findRedirect(nameIn(request))
    if (target === null) throw error
    return reply.header('cache-control', cacheControl).redirect(pageUrl(target) + rest + queryIn(request), 302)
  }

  const ofPage = { config: { costly: 'history' }, schema: SCHEMAS.ofPage }
  app.get('/pages/:name/revisions', ofPage, async (request, reply) => {
    const name = nameIn(request)
    const before = readCursor(request, NUMBER)
    const found = await history.ofPage({
      page: name,
      before: before === undefined ? undefined : Number(before),
      limit: limitIn(request)
    })
    if (found.items.length === 0 && before === undefined) {
      return followRename(request, reply, '/revisions', new PageMissing(name))
    }
    return sendPart(request, reply, { cacheControl, found, shown: change, position: ({ revision }) => revision })
  })

  const wholeText = { config: { costly: 'text' }, schema: SCHEMAS.revision }
  app.get('/pages/:name/revisions/:revision', wholeText, async (request, reply) => {
    const name = nameIn(request)
    const { revision: number } = /** @type {{revision: number}} */ (request.params)
    const found = await history.find(name, number)
    if (found === null) {
      return followRename(request, reply, `/revisions/${number}`, new RevisionMissing(number, name))
    }
    reply.headers({ 'cache-control': PAST_CONTROL, 'last-modified': found.created_at.toUTCString() })
    return { ...change(found), content: found.content }
  })

  const difference = { config: { costly: 'difference' }, schema: SCHEMAS.difference }
  app.get('/pages/:name/difference', difference, async (request, reply) => {
    const name = nameIn(request)
    const { from, to } = /** @type {{from: number, to: number}} */ (request.query)
    const [before, after] = await Promise.all([history.findItem(name, from), history.findItem(name, to)])
    if (before === null || after === null) {
      return followRename(request, reply, '/difference', new RevisionMissing(before === null ? from : to, name))
    }
    refuseErased(before)
    refuseErased(after)
    const difference = await oldRevisions.difference(before, after)
    reply.header('cache-control', PAST_CONTROL)
    return { name, from, to, ...difference }
  })

  app.post('/pages/:name/revert', { schema: SCHEMAS.revert }, async (request, reply) => {
    const name = writableName(askedName(request))
    const { revision: number } = /** @type {{revision: number}} */ (request.body)
    const by = changeIn(request)
    const { revision, created } = await bringBack(
      { name, revision: number },
      { ...by, summary: by.summary || `Back to revision ${number}` },
      preconditionOf(request, pageTag)
    )
    if (created) reply.code(201).header('location', pageUrl(name))
    return { name, revision, created }
  })

  app.get('/changes', { config: { costly: 'list' }, schema: SCHEMAS.changes }, async (request, reply) => {
    const { author } = /** @type {{author?: string}} */ (request.query)
    const found = await history.changes({ author, before: readCursor(request, CHANGE_ID), limit: limitIn(request) })
    return sendPart(request, reply, { cacheControl, found, shown: change, position: ({ _id: id }) => String(id) })
  })
}

/** @param {import('../history/history.js').RevisionItem} item */
export const change = ({
  page: name, revision, follows, content_bytes: contentBytes, tags, author, summary, deleted, created_at: createdAt,
  erased_at: erasedAt
}) => ({
  name,
  revision,
  follows,
  content_bytes: contentBytes,
  tags: tags ?? [],
  author,
  summary,
  deleted,
  erased: erasedAt != null,
  created_at: createdAt
})
