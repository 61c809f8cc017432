import createError from '@fastify/error'
import { t } from '../language.js'
import { isMisspelt, nameIn, queryOf } from '../reading/address.js'
import { currentRevision } from '../pages/head.js'
import { viewUrl, writableName } from '../pages/name.js'
import { pageOfTalk, talkOf, topicUrl } from '../pages/talk.js'
import { refuseNewHiddenName, readableSummary } from '../pages/visible.js'
import { escapeLong, HTML, renderFor, wantsHtml } from '../views.js'
import { AUTHOR_SCHEMA, changeIn, LINE, REVISION_SCHEMA } from './change.js'
import { textIn } from './save-route.js'
import { SECTION_QUERY, SECTION_SCHEMA } from './sections.js'
import { createTalk } from './talk.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Context} from './edit-routes.js' */
/** @import {Asked} from './sections.js' */
/** @import {Place} from './talk.js' */

const NotTalk = createError('WIKI_NOT_TALK', '“%s” is no talk page. These have names such as “Talk:Home”.', 400)
const NoPlace = createError(
  'WIKI_NO_TOPIC', 'Give either a topic, or the section and the base_revision of the one that you reply to.', 400
)
const Empty = createError('WIKI_NOTHING_SAID', 'There is no text. Write it, then send it again.', 400)

const TOPIC = { type: 'string', maxLength: 150, pattern: LINE }
/** `about`: the title of a section of the page. */
const TOPIC_QUERY = { ...SECTION_QUERY, properties: { ...SECTION_QUERY.properties, about: TOPIC } }
const SAID_SCHEMA = {
  type: 'object',
  required: ['content'],
  additionalProperties: false,
  properties: {
    content: { type: 'string' },
    topic: TOPIC,
    section: SECTION_SCHEMA,
    base_revision: REVISION_SCHEMA,
    author: AUTHOR_SCHEMA
  }
}
/** @typedef {{topic?: string, section?: string, base_revision?: string | number, author?: string}} Said */

/**
 * Topics and replies are added to talk pages; all else that can be done with pages can be done with these.
 * @param {FastifyInstance} app @param {Context} context
 */
export function addTalk (app, { store, sections, leave }) {
  const say = createTalk({ store, sections })

  app.get('/edit/topic/*', {
    config: { costly: 'text' }, schema: { querystring: TOPIC_QUERY }
  }, async (request, reply) => {
    const name = talkIn(request)
    if (isMisspelt(request, topicUrl(name))) return reply.redirect(`${topicUrl(name)}${queryOf(request)}`, 303)
    const { section, revision, about = '' } = /** @type {Asked & {about?: string}} */ (request.query)
    const isOfNewest = section !== undefined && revision === undefined
    const base = isOfNewest ? currentRevision(await store.findSource(name)) : revision
    const said = { topic: about, section, base_revision: base }
    const textHtml = await escapeLong(linkTo(name, about))
    return reply.type(HTML).send(await form(request, name, said, { textHtml }))
  })

  app.post('/edit/topic/*', { schema: { body: SAID_SCHEMA } }, async (request, reply) => {
    const asked = talkIn(request)
    const said = /** @type {Said} */ (request.body)
    const content = textIn(request)
    try {
      const by = changeIn(request)
      await refuseNewHiddenName(store, asked)
      if (content.trim() === '') throw new Empty()
      const { name, revision, id } = await say(asked, placeIn(said), content, by)
      reply.header('page-revision', revision)
      if (!wantsHtml(request)) return { name, revision }
      return leave(reply, `${viewUrl(name)}?saved=${revision}${id === '' ? '' : `#${encodeURIComponent(id)}`}`, name)
    } catch (error) {
      return refuse(/** @type {AnswerableError} */ (error), { name: asked, said, content }, request, reply)
    }
  })
}

/**
 * Of a form that begins a topic about a section.
 * @param {string} name  of the page @param {string} title @returns {string | null} null: it cannot be a topic
 */
export function discussUrl (name, title) {
  const talk = talkOf(name)
  const fits = title.trim() !== '' && title.length <= TOPIC.maxLength
  return talk === null || !fits ? null : `${topicUrl(talk)}?${new URLSearchParams({ about: title })}`
}

/** @param {string} talk  name of a talk page @param {string} title @returns {string} Markdown, or an empty text */
function linkTo (talk, title) {
  const page = String(pageOfTalk(talk))
  return title === '' || /[[\]|]/.test(page + title) || page.includes('#') ? '' : `[[${page}#${title}]]\n\n`
}

/** @param {FastifyRequest} request @throws {Error} 400 */
function talkIn (request) {
  const name = writableName(nameIn(request))
  if (pageOfTalk(name) === null) throw new NotTalk(name)
  return name
}

/** @param {Said} said @returns {Place} @throws {Error} 400 */
function placeIn ({ topic, section, base_revision: revision }) {
  if (section !== undefined && revision !== undefined) return { section, revision: String(revision) }
  if (topic === undefined || topic.trim() === '' || section !== undefined) throw new NoPlace()
  // It becomes a summary.
  readableSummary(topic)
  return { topic: topic.trim() }
}

/** @param {FastifyRequest} request @param {string} name @param {Said} said @param {object} [more] */
const form = async (request, name, { topic = '', section, base_revision: baseRevision = 0, author = '' }, more) =>
  renderFor(request, 'topic', {
    title: section === undefined
      ? t('Add a topic on “{{name}}”', { name })
      : t('Reply on “{{name}}”', { name }),
    topicUrl: topicUrl(name),
    viewUrl: viewUrl(name),
    topic,
    section,
    baseRevision,
    author,
    textHtml: '',
    ...more
  })

/**
 * With what was typed.
 * @param {AnswerableError} error @param {{name: string, said: Said, content: string}} typed
 * @param {FastifyRequest} request @param {FastifyReply} reply
 */
async function refuse (error, { name, said, content }, request, reply) {
  const { statusCode = 500, headers = {}, message: refusal } = error
  if ((statusCode >= 500 && statusCode !== 503) || !wantsHtml(request)) throw error
  const textHtml = await escapeLong(content)
  return reply.code(statusCode).headers(headers).type(HTML).send(await form(request, name, said, { refusal, textHtml }))
}
