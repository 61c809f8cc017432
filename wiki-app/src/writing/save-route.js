import createError from '@fastify/error'
import { personIn } from '../access/access.js'
import { sayError } from '../say-error.js'
import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { nameIn } from '../reading/address.js'
import { CHANGE_PROPERTIES, changeIn, conditionOf, preconditionOf } from './change.js'
import { editor, typedIn } from './editor-view.js'
import { currentRevision } from '../pages/head.js'
import { hasMarkers } from './markers.js'
import { historyUrl, viewUrl, writableName } from '../pages/name.js'
import { SECTION_SCHEMA } from './sections.js'
import { sendProposed } from '../proposals/answer.js'
import { ID_SCHEMA, proposalUrl } from '../proposals/addresses.js'
import { canonicalTags, TAGS_SCHEMA } from '../pages/tags.js'
import { sendAccepted } from '../deferred/deferred-saves.js'
import { withoutDatabase } from '../deferred/without-database.js'
import { markdownIn } from './text.js'
import { refuseNewHiddenName } from '../pages/visible.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Context} from './edit-routes.js' */
/** @import {Proposing} from '../proposals/saving.js' */
/** @import {Typed} from './editor-view.js' */
/** @import {Conflict} from './merge-save.js' */

const FORM = 'application/x-www-form-urlencoded'
const DOCUMENT = /** @type {const} */ ('document')

const CONTENT_SCHEMA = {
  type: 'object',
  required: ['content'],
  additionalProperties: false,
  properties: {
    content: { type: 'string' },
    tags: TAGS_SCHEMA,
    section: SECTION_SCHEMA,
    proposal: ID_SCHEMA,
    ...CHANGE_PROPERTIES
  }
}

const NoText = createError('WIKI_NO_TEXT', '“content” must not be empty. To remove a page, delete it.', 400)
const SectionByProgram = createError(
  'WIKI_SECTION_BY_PROGRAM', 'Only the editor’s form saves a section. Send the whole text, without “section”.', 400
)
const ProposalByProgram = createError(
  'WIKI_PROPOSAL_BY_PROGRAM',
  'Only the editor’s form changes a proposal. Send the text without “proposal”, then withdraw the other one.',
  400
)

/**
 * Programs get an error, people get their text back (docs/decisions/0037).
 * @param {FastifyInstance} app @param {Context} context
 */
export function addSave (app, context) {
  const { store, proposing, deferred } = context

  /** @param {FastifyRequest} request @param {FastifyReply} reply */
  async function saveText (request, reply) {
    const name = writableName(nameIn(request))
    const content = textIn(request)
    const section = sectionIn(request)
    if (content === '' && section === undefined) throw new NoText()
    if (wantsHtml(request)) return saveForm(context, name, content, request, reply)
    if (section !== undefined) throw new SectionByProgram()
    if (proposalIn(request) !== undefined) throw new ProposalByProgram()
    const tags = tagsIn(request)
    const change = changeIn(request)
    await refuseNewHiddenName(store, name)
    if (deferred) {
      const edit = { attribution: change, condition: conditionOf(request), representation: DOCUMENT }
      return sendAccepted(reply, await deferred.save(name, { content, tags }, edit))
    }
    const saved = await proposing.save(name, { content, tags }, change, preconditionOf(request))
    if ('proposal' in saved) return sendProposed(reply, saved.proposal)
    reply.header('page-revision', saved.revision)
    if (saved.created) reply.code(201).header('location', viewUrl(name))
    return { name, revision: saved.revision, content_bytes: saved.contentBytes, created: saved.created }
  }
  // Forms post to /edit/, whose responses are for one person.
  const options = { config: withoutDatabase(deferred), schema: { body: CONTENT_SCHEMA } }
  for (const url of ['/wiki/*', '/edit/text/*']) app.post(url, options, saveText)
}

/**
 * @param {Context} context @param {string} name @param {string} content
 * @param {FastifyRequest} request @param {FastifyReply} reply
 */
async function saveForm (context, name, content, request, reply) {
  const { store, mergeSave, leave } = context
  try {
    const { base_revision: base } = /** @type {import('./change.js').Change} */ (request.body)
    const tags = tagsIn(request)
    const { settle, ...saving } = await savingOf(context, name, request)
    await refuseNewHiddenName(store, name)
    const whole = await wholeText(context, name, content, request)
    const result = await mergeSave(name, { content: whole.content, tags }, {
      ...saving,
      precondition: preconditionOf(request),
      baseRevision: base === undefined ? undefined : Number(base),
      typed: content
    })
    if ('conflict' in result) {
      const typed = typedIn(request, whole.content)
      return await showConflict(context, { name, typed, ...result }, request, reply)
    }
    // The browser forgets its draft.
    if ('proposal' in result) return reply.redirect(proposalUrl(result.proposal, undefined, { saved: '0' }), 303)
    await settle(name, result.revision)
    const { revision, merged } = result
    reply.header('page-revision', revision)
    const query = `?saved=${revision}${merged === null ? '' : `&merged=${merged}`}`
    return leave(reply, `${viewUrl(name)}${query}${whole.id === '' ? '' : `#${encodeURIComponent(whole.id)}`}`, name)
  } catch (error) {
    return showRefusal(/** @type {AnswerableError} */ (error), name, content, request, reply)
  }
}

/**
 * @param {Context} context @param {string} name @param {FastifyRequest} request
 * @returns {ReturnType<Proposing['begin']>} how the form is saved
 */
async function savingOf ({ proposing, proposals }, name, request) {
  const attribution = changeIn(request)
  const proposal = proposalIn(request)
  const person = personIn(request)
  if (proposal !== undefined && proposals && person) return proposing.begin(name, proposal, person, attribution)
  return { attribution, save: proposing.save, settle: async () => {} }
}

/**
 * @param {Context} context @param {string} name @param {string} content  of the page, or of the form's section
 * @param {FastifyRequest} request
 * @returns {Promise<{content: string, id: string}>} `id`: of the section's heading; '' for none
 */
async function wholeText ({ sections }, name, content, request) {
  const section = sectionIn(request)
  if (section === undefined) return { content, id: '' }
  const { base_revision: base = 0 } = /** @type {import('./change.js').Change} */ (request.body)
  const whole = await sections.spliced(name, { section, revision: Number(base), text: content })
  if (whole.content === '') throw new NoText()
  return whole
}

/**
 * @param {AnswerableError} error @param {string} name @param {string} content
 * @param {FastifyRequest} request @param {FastifyReply} reply
 */
async function showRefusal (error, name, content, request, reply) {
  const { statusCode = 500, headers = {}, message: refusal } = error
  if (statusCode >= 500 && statusCode !== 503) throw error
  return reply.code(statusCode).headers(headers).type(HTML).send(renderFor(request, 'preview', {
    ...await editor(name, typedIn(request, content)),
    title: t('“{{name}}” is not saved', { name }),
    unsaved: true,
    refusal: sayError(refusal)
  }))
}

/**
 * Also what each side changed since the text that the author began with.
 * @param {Pick<Context, 'store' | 'oldRevisions'>} context
 * @param {{name: string, typed: Typed, conflict: Conflict}} found  `typed`: the whole text
 * @param {FastifyRequest} request @param {FastifyReply} reply
 */
export async function showConflict ({ store, oldRevisions }, { name, typed, conflict }, request, reply) {
  const { content: mine } = typed
  const { newest, base, content, tags } = conflict
  // The page's revisions moved along: saving under its new name merges.
  const movedTo = newest === null ? await store.findRedirect(name) : null
  const moved = movedTo === null ? null : await store.findSource(movedTo)
  const ofMine = typed.proposal ? t('What the proposal changes') : t('What you changed')
  // The text is shown even if a comparison fails.
  const compare = async (/** @type {string} */ title, /** @type {string} */ before, /** @type {string} */ after) =>
    ({ title, difference: await oldRevisions.compare(before, after).catch(() => null) })
  return reply.code(409).type(HTML).send(renderFor(request, 'merge', {
    ...await editor(movedTo ?? name, {
      ...typed,
      content,
      // The whole text.
      section: undefined,
      baseRevision: movedTo === null ? currentRevision(newest) : typed.baseRevision,
      tags: (tags ?? (newest ?? moved ?? base)?.tags ?? []).join(', ')
    }),
    title: t('Two edits of “{{name}}”', { name }),
    movedTo,
    marked: hasMarkers(content),
    baseIsGone: base === null && newest !== null && Number(typed.baseRevision) > 0,
    newest: currentRevision(newest),
    comparisons: await Promise.all([
      ...(newest && base
        ? [compare(
            t('What revision {{revision}} changed', { revision: newest.revision }), base.content, newest.content)]
        : []),
      ...(base ? [compare(ofMine, base.content, mine)] : []),
      ...(newest && !base ? [compare(t('From the newest text to yours'), newest.content, mine)] : [])
    ]),
    viewUrl: viewUrl(movedTo ?? name),
    historyUrl: historyUrl(movedTo ?? name),
    unsaved: true,
    cancel: t('Give up my text')
  }))
}

/** @param {FastifyRequest} request */
const sectionIn = ({ body }) => /** @type {{section?: string}} */ (body).section

/** @param {FastifyRequest} request */
const proposalIn = ({ body }) => /** @type {{proposal?: string}} */ (body).proposal

/** @param {FastifyRequest} request */
const tagsIn = ({ body }) => canonicalTags(/** @type {{tags?: string | string[]}} */ (body).tags)

/** @param {FastifyRequest} request @returns {string} Markdown */
export function textIn ({ body, mediaType }) {
  const content = markdownIn(/** @type {{content: string}} */ (body).content)
  // Forms send CRLF (HTML, "Constructing the entry list"); an edit must not change every line.
  return mediaType === FORM ? content.replaceAll('\r\n', '\n') : content
}
