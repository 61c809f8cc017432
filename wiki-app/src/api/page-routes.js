import { sendAccepted } from '../deferred/deferred-saves.js'
import { sendProposed } from '../proposals/answer.js'
import { withoutDatabase } from '../deferred/without-database.js'
import { changeIn, conditionOf, preconditionOf } from '../writing/change.js'
import { writableName } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { hasCurrent } from '../http/conditional-request.js'
import { canonicalTags } from '../pages/tags.js'
import { markdownIn } from '../writing/text.js'
import { refuseHiddenName, refuseNewHiddenName } from '../pages/visible.js'
import { askedName, nameIn, pageUrl } from './address.js'
import { pageTag } from './answers.js'
import {
  answer, bodyOf, CHANGE_FIELDS, CONTENT, named, otherwise, queryOf, refusals, SECURITY, TAGS_FIELD
} from './schemas.js'
import { PROPOSED } from './proposal-routes.js'
import { PENDING } from './save-routes.js'

const tags = ['pages']
const EXAMPLE = { name: 'Handbook/Writing', content: 'Use plain words.\n', tags: ['guide', 'style'] }

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  read: {
    tags,
    summary: 'Read a page',
    description: 'The newest text with what is known about it. A former name leads to the page’s new one.',
    params: named(EXAMPLE.name),
    response: {
      200: answer('The page', 'Page', {
        ...EXAMPLE,
        revision: 2,
        content_bytes: 17,
        modified_at: '2026-01-01T10:00:00.000Z'
      }),
      ...otherwise(302, 304, 404)
    }
  },
  save: {
    tags,
    security: SECURITY,
    summary: 'Create or replace a page',
    description: 'Each call makes a revision. Send `If-None-Match: *` to create only, ' +
      '`If-Match` or `base_revision` to replace only what you have read.',
    params: named('News/January'),
    body: bodyOf(
      { content: CONTENT, tags: TAGS_FIELD, ...CHANGE_FIELDS },
      ['content'],
      { content: 'Snow.', tags: ['news'], author: 'Ana', summary: 'first words', base_revision: 0 }
    ),
    response: {
      200: answer('It was replaced', 'Saved', { name: 'News/January', revision: 2, created: false }),
      201: answer('It was created', 'Saved', { name: 'News/January', revision: 1, created: true }),
      ...refusals(412, 422)
    }
  },
  remove: {
    tags,
    security: SECURITY,
    summary: 'Delete a page',
    description: 'Its revisions stay, and any of them can be brought back.',
    params: named('Old news'),
    querystring: queryOf(CHANGE_FIELDS),
    response: {
      204: { description: 'It was deleted; the header Page-Revision says in which revision.', type: 'null' },
      ...refusals(404, 412)
    }
  },
  rename: {
    tags,
    security: SECURITY,
    summary: 'Rename a page',
    description: 'The page takes its whole history along. ' +
      'The old name leads to the new one until someone writes a page there. ' +
      'With `subpages`, up to 100 pages below it are renamed, too: all or none.',
    params: named('Draft'),
    body: bodyOf(
      {
        to: { type: 'string', description: 'The new name.' },
        subpages: { type: 'boolean', description: 'Whether the pages below it are renamed, too.' },
        ...CHANGE_FIELDS
      },
      ['to'],
      { to: 'Handbook/Reading', author: 'Ana' }
    ),
    response: {
      201: answer('It was renamed', 'Renamed', { name: 'Handbook/Reading', revision: 2, subpages: 0 }),
      ...refusals(404, 409, 412)
    }
  },
  preview: {
    tags,
    security: SECURITY,
    summary: 'Turn Markdown into HTML',
    description: 'What a text would look like as a page. Nothing is saved.',
    body: bodyOf({ content: CONTENT }, ['content'], { content: 'Some *emphasis*.' }),
    response: {
      200: answer('The HTML', 'Preview', { html: '<p>Some <em>emphasis</em>.</p>\n', content_bytes: 16 }),
      ...refusals(422)
    }
  }
}

const ACCEPTED = answer(
  'It was taken, and is not stored yet: the wiki runs with an unsafe WRITE_STRATEGY. Its status is at `url`.',
  'Save', PENDING
)
const API = /** @type {const} */ ('api')

const WAITS = answer(
  'Changes of this page wait for a review. The text became a proposal, whose state is at `url`.', 'Proposal', PROPOSED
)

/**
 * @param {object | undefined} deferred  undefined: each save is stored before its answer
 * @param {boolean} [isReviewed]  whether administrators may demand a review
 */
function saveSchema (deferred, isReviewed = false) {
  if (deferred) return { ...SCHEMAS.save, response: { 202: ACCEPTED, ...refusals(412, 422) } }
  if (!isReviewed) return SCHEMAS.save
  const response = /** @type {object} */ (SCHEMAS.save.response)
  return { ...SCHEMAS.save, response: { ...response, 202: WAITS, ...refusals(409, 412, 422) } }
}

/**
 * @typedef {Pick<import('../services.js').Services, 'store' | 'policy' | 'deferred' | 'proposals' | 'proposing'>}
 *   Parts
 * @type {import('fastify').FastifyPluginAsync<Parts>}
 */
// eslint-disable-next-line max-lines-per-function -- a table of routes
export async function pageApi (app, { store, policy: { listControl }, deferred, proposals, proposing }) {
  app.get('/pages/:name', { config: { costly: 'text' }, schema: SCHEMAS.read }, async (request, reply) => {
    const name = nameIn(request)
    const page = await store.findSource(name)
    if (page === null) {
      const target = await store.findRedirect(name)
      if (target === null) throw new PageMissing(name)
      return reply.header('cache-control', listControl).redirect(pageUrl(target), 302)
    }
    const { revision, content, tags, modified_at: modifiedAt } = page
    const validators = { etag: pageTag(page), 'last-modified': modifiedAt.toUTCString() }
    reply.headers({ ...validators, 'cache-control': listControl })
    if (hasCurrent(request.headers, validators)) return reply.code(304).send()
    return {
      name,
      revision,
      content,
      content_bytes: Buffer.byteLength(content),
      tags: tags ?? [],
      modified_at: modifiedAt
    }
  })

  const saving = { config: withoutDatabase(deferred), schema: saveSchema(deferred, proposals !== null) }
  app.put('/pages/:name', saving, async (request, reply) => {
    const name = writableName(askedName(request))
    const { content, tags } = /** @type {{content: string, tags?: string[]}} */ (request.body)
    const text = { content: markdownIn(content), tags: canonicalTags(tags) }
    const attribution = changeIn(request)
    await refuseNewHiddenName(store, name)
    if (deferred) {
      const edit = { attribution, condition: conditionOf(request), representation: API }
      return sendAccepted(reply, await deferred.save(name, text, edit))
    }
    const saved = await proposing.save(name, text, attribution, preconditionOf(request, pageTag))
    if ('proposal' in saved) return sendProposed(reply, saved.proposal)
    const { revision, created } = saved
    if (created) reply.code(201).header('location', pageUrl(name))
    return { name, revision, created }
  })

  app.delete('/pages/:name', { schema: SCHEMAS.remove }, async (request, reply) => {
    const { headers, query: body, server } = request
    const revision = await store.remove(
      writableName(askedName(request)),
      changeIn(request, body),
      preconditionOf({ headers, body, server }, pageTag)
    )
    return reply.code(204).header('page-revision', revision).send()
  })

  app.post('/pages/:name/rename', { schema: SCHEMAS.rename }, async (request, reply) => {
    const { to, subpages } = /** @type {{to: string, subpages?: boolean}} */ (request.body)
    const target = writableName(to)
    refuseHiddenName(target)
    const renamed = await store.rename(
      writableName(askedName(request)),
      target,
      changeIn(request),
      preconditionOf(request, pageTag),
      { subpages }
    )
    reply.code(201).header('location', pageUrl(target))
    return { name: target, ...renamed }
  })

  app.post('/preview', { config: { changes: false }, schema: SCHEMAS.preview }, async (request) => {
    const { html, content_bytes: contentBytes } = await store.preview(
      markdownIn(/** @type {{content: string}} */ (request.body).content)
    )
    return { html: html.toString(), content_bytes: contentBytes }
  })
}
