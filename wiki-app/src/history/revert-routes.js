import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { isMisspelt, nameIn, queryOf } from '../reading/address.js'
import { CHANGE_PROPERTIES, changeIn, preconditionOf, REVISION_SCHEMA } from '../writing/change.js'
import { currentRevision } from '../pages/head.js'
import { createBringBack } from './bring-back.js'
import { refuseErased, RevisionIsDeletion, RevisionMissing } from './history.js'
import { revertUrl, revisionUrl, viewUrl, writableName } from '../pages/name.js'
import { StaleEdit } from '../pages/preconditions.js'
import { toolUrls } from '../reading/tools.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Context} from '../writing/edit-routes.js' */

const REVERT_SCHEMA = {
  type: 'object',
  required: ['revision'],
  additionalProperties: false,
  properties: { revision: REVISION_SCHEMA, ...CHANGE_PROPERTIES }
}
const FORM_SCHEMA = { type: 'object', required: ['revision'], properties: { revision: REVISION_SCHEMA } }

/** @param {FastifyInstance} app @param {Context} context */
export function addRevert (app, { store, history, oldRevisions, leave, noticeOf }) {
  const bringBack = createBringBack({ store, history })

  app.get('/edit/revert/*', { config: { costly: 'text' }, schema: { querystring: FORM_SCHEMA } },
    async (request, reply) => {
      const name = writableName(nameIn(request))
      if (isMisspelt(request, revertUrl(name))) return reply.redirect(revertUrl(name) + queryOf(request), 303)
      return showForm(request, reply, { name, number: numberIn(request.query) })
    })

  app.post('/edit/revert/*', { schema: { body: REVERT_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const number = numberIn(request.body)
    const by = changeIn(request)
    const { author, summary } = by
    try {
      const { revision, created } = await bringBack(
        { name, revision: number },
        { ...by, summary: summary || t('Back to revision {{number}}', { number }) },
        preconditionOf(request)
      )
      reply.header('page-revision', revision)
      if (wantsHtml(request)) return leave(reply, `${viewUrl(name)}?saved=${revision}`, name)
      return { name, revision, created }
    } catch (error) {
      if (!(error instanceof StaleEdit) || !wantsHtml(request)) throw error
      return showForm(request, reply.code(409), { name, number, author, summary, stale: true })
    }
  })

  /**
   * What would change, and why.
   * @param {FastifyRequest} request @param {FastifyReply} reply
   * @param {{name: string, number: number, stale?: boolean} & import('../pages/commit.js').Attribution} asked
   */
  async function showForm (request, reply, { name, number, author = '', summary = '', stale = false }) {
    const [old, newest] = await Promise.all([history.findItem(name, number), store.findSource(name)])
    if (old === null) throw new RevisionMissing(number, name)
    refuseErased(old)
    if (old.deleted) throw new RevisionIsDeletion(number, name)
    const current = newest && await history.findItem(name, newest.revision)
    return reply.type(HTML).send(renderFor(request, 'revert', {
      ...toolUrls(name),
      ...await noticeOf(request, name),
      title: t('Bring back revision {{number}} of “{{name}}”', { number, name }),
      number,
      newest: currentRevision(newest),
      stale,
      revertUrl: revertUrl(name),
      revisionUrl: revisionUrl(name, number),
      // The form works even if the comparison fails.
      difference: current && await oldRevisions.difference(current, old).catch(() => null),
      summaryLabel: t('Why (may be left empty)'),
      summary: summary || t('Back to revision {{number}}', { number }),
      author
    }))
  }
}

/** @param {unknown} given  checked against REVISION_SCHEMA */
const numberIn = (given) => Number(/** @type {{revision: string | number}} */ (given).revision)
