import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { isMisspelt, nameIn } from '../reading/address.js'
import { CHANGE_PROPERTIES, changeIn, preconditionOf } from './change.js'
import { deleteUrl, historyUrl, renameUrl, viewUrl, writableName } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { talkOf } from '../pages/talk.js'
import { toolUrls } from '../reading/tools.js'
import { refuseHiddenName } from '../pages/visible.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Context} from './edit-routes.js' */

const CHANGE_SCHEMA = { type: 'object', nullable: true, additionalProperties: false, properties: CHANGE_PROPERTIES }
const RENAME_SCHEMA = {
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to: { type: 'string' },
    // A form sends it when its box is ticked.
    subpages: { enum: [true, false, 'true'] },
    ...CHANGE_PROPERTIES
  }
}

/** @param {FastifyInstance} app @param {Context} context */
export function addRemove (app, { store, leave, noticeOf }) {
  app.delete('/wiki/*', { schema: { body: CHANGE_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const revision = await store.remove(name, changeIn(request), preconditionOf(request))
    return reply.code(204).header('page-revision', revision).send()
  })

  addForm(app, {
    store, noticeOf, view: 'delete', url: deleteUrl, title: (name) => t('Delete “{{name}}”', { name })
  })

  // HTML forms send only GET and POST.
  app.post('/edit/delete/*', { schema: { body: CHANGE_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    await store.remove(name, changeIn(request), preconditionOf(request))
    return leave(reply, historyUrl(name), name)
  })
}

/** @param {FastifyInstance} app @param {Context} context */
export function addRename (app, { store, leave, noticeOf }) {
  addForm(app, {
    store, noticeOf, view: 'rename', url: renameUrl, title: (name) => t('Rename “{{name}}”', { name })
  })

  app.post('/edit/rename/*', { schema: { body: RENAME_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const { to, subpages } = /** @type {{to: string, subpages?: boolean | 'true'}} */ (request.body)
    const target = writableName(to)
    refuseHiddenName(target)
    const { revision, ...renamed } = await store.rename(name, target, changeIn(request), preconditionOf(request), {
      subpages: Boolean(subpages)
    })
    reply.header('page-revision', revision)
    if (wantsHtml(request)) return leave(reply, `${viewUrl(target)}?saved=${revision}`, name, target)
    return reply.code(201).header('location', viewUrl(target)).send({ name: target, revision, ...renamed })
  })
}

/**
 * @param {FastifyInstance} app
 * @param {Pick<Context, 'store' | 'noticeOf'> & {view: 'rename' | 'delete', url: (name: string) => string,
 *   title: (name: string) => string}} options
 */
function addForm (app, { store, noticeOf, view, url, title }) {
  app.get(`/edit/${view}/*`, { config: { costly: 'text' } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    if (isMisspelt(request, url(name))) return reply.redirect(url(name), 303)
    const page = await store.findSource(name)
    if (page === null) throw new PageMissing(name)
    const talk = talkOf(name)
    return reply.type(HTML).send(renderFor(request, view, {
      ...toolUrls(name),
      ...await noticeOf(request, name),
      title: title(name),
      name,
      baseRevision: page.revision,
      subpages: await store.findSubpages(name),
      talk: talk !== null && await store.findKind(talk) === 'page' ? talk : null,
      summaryLabel: t('Why (may be left empty)'),
      summary: '',
      author: ''
    }))
  })
}
