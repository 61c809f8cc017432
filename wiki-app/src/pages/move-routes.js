import { wantsHtml } from '../views.js'
import { nameIn } from './address.js'
import { CHANGE_PROPERTIES, changeIn, preconditionOf } from './change.js'
import { historyUrl, viewUrl, writableName } from './name.js'
import { headerPrecondition } from './preconditions.js'
import { refuseHiddenName } from './visible.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Context} from './edit-routes.js' */

const CHANGE_SCHEMA = { type: 'object', nullable: true, additionalProperties: false, properties: CHANGE_PROPERTIES }
const RENAME_SCHEMA = {
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: { to: { type: 'string' }, ...CHANGE_PROPERTIES }
}

/** @param {FastifyInstance} app @param {Context} context */
export function addRemove (app, { store, leave }) {
  app.delete('/wiki/*', { schema: { body: CHANGE_SCHEMA } }, async (request, reply) => {
    const revision = await store.remove(
      writableName(nameIn(request)),
      changeIn(request),
      headerPrecondition(request.headers)
    )
    return reply.code(204).header('page-revision', revision).send()
  })

  // HTML forms send only GET and POST.
  app.post('/edit/delete/*', { schema: { body: CHANGE_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    await store.remove(name, changeIn(request), preconditionOf(request))
    return leave(reply, historyUrl(name), name)
  })
}

/** @param {FastifyInstance} app @param {Context} context */
export function addRename (app, { store, leave }) {
  app.post('/edit/rename/*', { schema: { body: RENAME_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const target = writableName(/** @type {{to: string}} */ (request.body).to)
    refuseHiddenName(target)
    const revision = await store.rename(name, target, changeIn(request), preconditionOf(request))
    reply.header('page-revision', revision)
    if (wantsHtml(request)) return leave(reply, `${viewUrl(target)}?saved=${revision}`, name, target)
    return reply.code(201).header('location', viewUrl(target)).send({ name: target, revision })
  })
}
