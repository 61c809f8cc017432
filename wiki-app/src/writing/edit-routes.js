import { personIn, spaceIn } from '../access/access.js'
import { sayError } from '../say-error.js'
import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { isMisspelt, nameIn, queryOf } from '../reading/address.js'
import { CHANGE_PROPERTIES } from './change.js'
import { editor, typedIn } from './editor-view.js'
import { createPageTemplates, TEMPLATE_QUERY } from './page-templates.js'
import { currentRevision } from '../pages/head.js'
import { addRemove, addRename } from './move-routes.js'
import { editUrl, writableName } from '../pages/name.js'
import { addRevert } from '../history/revert-routes.js'
import { createNotice } from '../protection/notice.js'
import { addProposals } from '../proposals/proposal-routes.js'
import { ID_SCHEMA, proposalUrl } from '../proposals/addresses.js'
import { addSave, textIn } from './save-route.js'
import { SECTION_QUERY, SECTION_SCHEMA, summaryOf } from './sections.js'
import { addTalk, discussUrl } from './talk-routes.js'
import { addTasks } from './task-routes.js'
import { refuseHiddenName } from '../pages/visible.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Services} from '../services.js' */

/** A preview saves no tags, so only their length is checked. */
const PREVIEW_SCHEMA = {
  type: 'object',
  required: ['content'],
  additionalProperties: false,
  properties: {
    content: { type: 'string' },
    tags: { type: 'string', maxLength: 2_000 },
    section: SECTION_SCHEMA,
    proposal: ID_SCHEMA,
    ...CHANGE_PROPERTIES
  }
}
const NAME_SCHEMA = { type: 'object', properties: { name: { type: 'string' } } }
const EDIT_SCHEMA = {
  ...SECTION_QUERY, properties: { ...SECTION_QUERY.properties, ...TEMPLATE_QUERY, proposal: ID_SCHEMA }
}

/**
 * For programs, and browsers without JavaScript.
 * @typedef {(names: string[]) => Promise<void>} WaitUntilPurged  once the caches have purged, or late
 * @type {FastifyPluginAsync<Parts & {waitUntilPurged?: WaitUntilPurged}>}
 */
export async function editRoutes (app, { waitUntilPurged = async () => {}, ...parts }) {
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

  const context = { ...parts, leave, noticeOf: createNotice(parts.protections) }
  addSave(app, context)
  addPreview(app, context)
  addRemove(app, context)
  addRename(app, context)
  addRevert(app, context)
  addTasks(app, context)
  addTalk(app, context)
  if (parts.proposals) addProposals(app, { ...context, proposals: parts.proposals })
  addForms(app, context)
}

/**
 * @typedef {(reply: FastifyReply, url: string, ...names: string[]) => FastifyReply} Leave
 * @typedef {Pick<Services, 'store' | 'history' | 'search' | 'oldRevisions' | 'mergeSave' | 'sections' | 'deferred' |
 *   'protections' | 'proposals' | 'proposing'>} Parts
 * @typedef {Parts & {leave: Leave, noticeOf: import('../protection/notice.js').NoticeOf}} Context
 */

/** @param {FastifyInstance} app @param {Context} context */
function addPreview (app, { store }) {
  app.post('/edit/preview/*', {
    config: { changes: false },
    schema: { body: PREVIEW_SCHEMA }
  }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const content = textIn(request)
    const form = {
      ...await editor(name, typedIn(request, content)), title: t('Preview of “{{name}}”', { name }), unsaved: true
    }
    try {
      const { content_bytes: bytes, html } = await store.preview(content, name)
      if (!wantsHtml(request)) return { content_bytes: bytes, html: html.toString() }
      return reply.type(HTML).send(renderFor(request, 'preview', { ...form, contentHtml: html.toString() }))
    } catch (error) {
      const { statusCode = 500, message } = /** @type {import('../http/problem.js').AnswerableError} */ (error)
      if (statusCode >= 500 || !wantsHtml(request)) throw error
      const refused = renderFor(request, 'preview', { ...form, refusal: sayError(message) })
      return reply.code(statusCode).type(HTML).send(refused)
    }
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addForms (app, { store, search, sections, proposals, noticeOf }) {
  const templates = createPageTemplates({ store, search })

  app.get('/edit/new', { schema: { querystring: NAME_SCHEMA } }, async (request, reply) => {
    const { name } = /** @type {{name?: string}} */ (request.query)
    if (name !== undefined) return reply.redirect(editUrl(writableName(name)), 303)
    return reply.type(HTML).send(renderFor(request, 'new', { title: t('New page') }))
  })

  app.get('/edit/text/*', {
    config: { costly: 'text' }, schema: { querystring: EDIT_SCHEMA }
  }, async (request, reply) => {
    const name = writableName(nameIn(request))
    if (isMisspelt(request, editUrl(name))) return reply.redirect(`${editUrl(name)}${queryOf(request)}`, 303)
    const page = await store.findSource(name)
    if (page === null) refuseHiddenName(name)
    const { template, proposal: id, ...asked } =
      /** @type {import('./sections.js').Asked & {template?: string, proposal?: string}} */ (request.query)
    const proposal = id !== undefined && proposals
      ? await proposals.find(id, /** @type {Person} */ (personIn(request)))
      : undefined
    // It is decided, or of another page.
    if (proposal && (proposal.content === '' || proposal.name !== name)) {
      return reply.redirect(proposalUrl(proposal), 303)
    }
    const section = page && asked.section !== undefined ? await sections.find(page, asked) : undefined
    const begun = page === null && template !== undefined
      ? await templates.begin(template, name, spaceIn(request)?._id)
      : undefined
    return reply.type(HTML).send(renderFor(request, 'edit', {
      title: titleOf(name, page !== null, section?.title),
      wholeUrl: section ? editUrl(name) : undefined,
      discussUrl: section ? discussUrl(name, section.title) : null,
      sectionIsGone: section === null && page !== null,
      templateIsMissing: begun === null,
      ...await noticeOf(request, name),
      proposalBy: proposal?.author,
      ...await editor(name, {
        baseRevision: currentRevision(page),
        content: section?.text ?? page?.content ?? begun?.content ?? '',
        tags: (page?.tags ?? begun?.tags ?? []).join(', '),
        ...proposal && proposedIn(proposal, page?.tags),
        ...section && { section: String(section.number), summary: summaryOf(section.title) }
      }),
      ...(page === null && { cancelUrl: '/', templates: await templates.offered(name) })
    }))
  })
}

/** @param {import('../proposals/model.js').Proposal} proposal @param {string[]} [tagsNow]  of the page */
const proposedIn = ({ _id: id, base_revision: baseRevision, content, tags, summary }, tagsNow = []) =>
  ({ proposal: String(id), baseRevision, content, tags: (tags ?? tagsNow).join(', '), summary })

/** @param {string} name @param {boolean} isThere @param {string} [section] */
function titleOf (name, isThere, section) {
  if (section !== undefined) return t('Edit “{{section}}” in “{{name}}”', { section, name })
  return isThere ? t('Edit “{{name}}”', { name }) : t('Create “{{name}}”', { name })
}
