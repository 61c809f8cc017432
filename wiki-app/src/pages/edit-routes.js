import { personIn } from '../access/access.js'
import { escapeLong, HTML, renderView, wantsHtml } from '../views.js'
import { isMisspelt, nameIn } from './address.js'
import { CHANGE_PROPERTIES, changeIn, preconditionOf } from './change.js'
import { deleteUrl, editUrl, historyUrl, previewUrl, renameUrl, viewUrl, writableName } from './name.js'
import { StaleEdit } from './preconditions.js'
import { currentRevision } from './head.js'
import { addRemove, addRename } from './move-routes.js'
import { addRevert } from './revert-routes.js'
import { canonicalTags, TAGS_SCHEMA } from './tags.js'
import { markdownIn } from './text.js'
import { refuseHiddenName, refuseNewHiddenName } from './visible.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */
/** @import {Attribution} from './commit.js' */

const FORM = 'application/x-www-form-urlencoded'

const CONTENT_SCHEMA = {
  type: 'object',
  required: ['content'],
  additionalProperties: false,
  properties: { content: { type: 'string', minLength: 1 }, tags: TAGS_SCHEMA, ...CHANGE_PROPERTIES }
}
/** A preview saves no tags, so only their length is checked. */
const PREVIEW_SCHEMA = {
  type: 'object',
  required: ['content'],
  additionalProperties: false,
  properties: { content: { type: 'string' }, tags: { type: 'string', maxLength: 2_000 }, ...CHANGE_PROPERTIES }
}
const NAME_SCHEMA = { type: 'object', properties: { name: { type: 'string' } } }

/**
 * For programs, and browsers without JavaScript.
 * @typedef {(names: string[]) => Promise<void>} WaitUntilPurged  once the caches have purged, or late
 * @type {FastifyPluginAsync<Pick<Services, 'store' | 'history' | 'oldRevisions'> & {waitUntilPurged?:
 *   WaitUntilPurged}>}
 */
export async function editRoutes (app, { store, history, oldRevisions, waitUntilPurged = async () => {} }) {
  /** @type {WeakMap<FastifyReply, string[]>} */
  const changed = new WeakMap()
  // A handler that waits would count as work (docs/decisions/0020).
  app.addHook('onSend', async (_request, reply) => {
    const names = changed.get(reply)
    if (names !== undefined) await waitUntilPurged(names)
  })

  /**
   * After the caches have purged the previous text.
   * @param {FastifyReply} reply @param {string} url @param {...string} names  of changed pages
   */
  function leave (reply, url, ...names) {
    changed.set(reply, names)
    return reply.redirect(url, 303)
  }

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  const context = { store, history, oldRevisions, leave }
  addSave(app, context)
  addPreview(app, context)
  addRemove(app, context)
  addRename(app, context)
  addRevert(app, context)
  addForms(app, context)
}

/**
 * @typedef {(reply: FastifyReply, url: string, ...names: string[]) => FastifyReply} Leave
 * @typedef {Pick<Services, 'store' | 'history' | 'oldRevisions'> & {leave: Leave}} Context
 */

/** @param {FastifyInstance} app @param {Context} context */
function addSave (app, { store, oldRevisions, leave }) {
  /** @param {FastifyRequest} request @param {FastifyReply} reply */
  async function saveText (request, reply) {
    const name = writableName(nameIn(request))
    const content = textIn(request)
    const tags = canonicalTags(/** @type {{tags?: string | string[]}} */ (request.body).tags)
    const change = changeIn(request)
    await refuseNewHiddenName(store, name)
    try {
      const { revision, contentBytes, created } = await store.save(
        name, { content, tags }, change, preconditionOf(request)
      )
      reply.header('page-revision', revision)
      if (wantsHtml(request)) return leave(reply, `${viewUrl(name)}?saved=${revision}`, name)
      if (created) reply.code(201).header('location', viewUrl(name))
      return { name, revision, content_bytes: contentBytes, created }
    } catch (error) {
      if (!(error instanceof StaleEdit) || !wantsHtml(request)) throw error
      const newest = await store.findSource(name)
      const current = newest?.content ?? ''
      return reply.code(409).type(HTML).send(renderView('merge', {
        title: `Two edits of “${name}”`,
        historyUrl: historyUrl(name),
        currentHtml: await escapeLong(current),
        // Shows the text even if the comparison fails.
        difference: await oldRevisions.compare(current, content).catch(() => null),
        ...await editor(name, {
          baseRevision: currentRevision(newest),
          content,
          tags: (tags ?? newest?.tags ?? []).join(', '),
          ...change,
          person: personIn(request)
        }),
        unsaved: true,
        cancelUrl: viewUrl(name),
        cancel: 'Give up my text'
      }))
    }
  }
  // Forms post to /edit/, whose responses are for one person.
  for (const url of ['/wiki/*', '/edit/text/*']) app.post(url, { schema: { body: CONTENT_SCHEMA } }, saveText)
}

/** @param {FastifyInstance} app @param {Context} context */
function addPreview (app, { store }) {
  app.post('/edit/preview/*', {
    config: { changes: false },
    schema: { body: PREVIEW_SCHEMA }
  }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const content = textIn(request)
    const { tags = '', author, summary, base_revision: baseRevision } =
      /** @type {{tags?: string} & import('./change.js').Change} */ (request.body)
    const form = {
      ...await editor(name, { baseRevision, content, tags, author, summary, person: personIn(request) }),
      title: `Preview of “${name}”`,
      unsaved: true
    }
    try {
      const { content_bytes: bytes, html } = await store.preview(content, name)
      if (!wantsHtml(request)) return { content_bytes: bytes, html: html.toString() }
      return reply.type(HTML).send(renderView('preview', { ...form, contentHtml: html.toString() }))
    } catch (error) {
      const { statusCode = 500, message } = /** @type {import('../http/problem.js').AnswerableError} */ (error)
      if (statusCode >= 500 || !wantsHtml(request)) throw error
      return reply.code(statusCode).type(HTML).send(renderView('preview', { ...form, refusal: message }))
    }
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addForms (app, { store }) {
  app.get('/edit/new', { schema: { querystring: NAME_SCHEMA } }, async (request, reply) => {
    const { name } = /** @type {{name?: string}} */ (request.query)
    if (name !== undefined) return reply.redirect(editUrl(writableName(name)), 303)
    return reply.type(HTML).send(renderView('new', { title: 'New page', person: personIn(request) }))
  })

  app.get('/edit/text/*', { config: { isCostly: true } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    if (isMisspelt(request, editUrl(name))) return reply.redirect(editUrl(name), 303)
    const page = await store.findSource(name)
    if (page === null) refuseHiddenName(name)
    return reply.type(HTML).send(renderView('edit', {
      title: `${page ? 'Edit' : 'Create'} “${name}”`,
      name,
      exists: page !== null,
      deleteUrl: deleteUrl(name),
      renameUrl: renameUrl(name),
      ...await editor(name, {
        baseRevision: currentRevision(page),
        content: page?.content ?? '',
        tags: (page?.tags ?? []).join(', '),
        person: personIn(request)
      }),
      ...(page === null && { cancelUrl: '/' })
    }))
  })
}

/**
 * Without a base revision, saving over an existing page is a conflict.
 * @typedef {{baseRevision?: string | number, content: string, tags: string}} Text
 * @param {string} name
 * @param {Text & Attribution & {person?: ReturnType<typeof personIn>}} typed  `person`: the signed-in user
 */
const editor = async (name, { baseRevision = 0, content, tags, author = '', summary = '', person }) => ({
  editing: true,
  baseRevision,
  textHtml: await escapeLong(content),
  tags,
  author,
  summary,
  person,
  saveUrl: editUrl(name),
  previewUrl: previewUrl(name),
  cancelUrl: viewUrl(name),
  cancel: 'Cancel'
})

/** @param {FastifyRequest} request @returns {string} Markdown */
function textIn ({ body, mediaType }) {
  const content = markdownIn(/** @type {{content: string}} */ (body).content)
  // Forms send CRLF (HTML, "Constructing the entry list"); an edit must not change every line.
  return mediaType === FORM ? content.replaceAll('\r\n', '\n') : content
}
