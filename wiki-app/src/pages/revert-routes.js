import { wantsHtml } from '../views.js'
import { nameIn } from './address.js'
import { CHANGE_PROPERTIES, changeIn, preconditionOf, REVISION_SCHEMA } from './change.js'
import { RevisionIsDeletion, RevisionMissing } from './history.js'
import { viewUrl, writableName } from './name.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Context} from './edit-routes.js' */

const REVERT_SCHEMA = {
  type: 'object',
  required: ['revision'],
  additionalProperties: false,
  properties: { revision: REVISION_SCHEMA, ...CHANGE_PROPERTIES }
}

/** @param {FastifyInstance} app @param {Context} context */
export function addRevert (app, { store, history, leave }) {
  app.post('/edit/revert/*', { schema: { body: REVERT_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const number = Number(/** @type {{revision: string | number}} */ (request.body).revision)
    const old = await history.find(name, number)
    if (old === null) throw new RevisionMissing(number, name)
    if (old.deleted) throw new RevisionIsDeletion(number, name)
    const { author, summary } = changeIn(request)
    const { revision, created } = await store.save(
      name,
      old,
      { author, summary: summary || `Back to revision ${number}` },
      preconditionOf(request)
    )
    reply.header('page-revision', revision)
    if (wantsHtml(request)) return leave(reply, `${viewUrl(name)}?saved=${revision}`, name)
    return { name, revision, created }
  })
}
