import createError from '@fastify/error'
import { t } from '../language.js'
import { personIn } from '../access/access.js'
import { historyUrl, viewUrl, writableName } from '../pages/name.js'
import { readableSummary } from '../pages/visible.js'
import { createActorOf } from '../people/actor.js'
import { isMisspelt, nameIn, queryOf } from '../reading/address.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { LINE } from '../writing/change.js'
import { eraseFormUrl } from './erase-address.js'
import { REVISIONS_MAX } from './erasure.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Users} from '../access/users.js' */
/** @import {Erasure} from './erasure.js' */

const Turned = createError(
  'WIKI_ERASE_ORDER', 'The first revision has to be the older one. Swap the two numbers, then send it again.', 400
)
const NotConfirmed = createError(
  'WIKI_NOT_CONFIRMED', 'Nothing was erased: type the name of the page, “%s”, to say that you mean it.', 400
)
const NoReason = createError(
  'WIKI_NO_REASON', 'Nothing was erased: say why, without repeating what has to go. It is kept for two years.', 400
)

const NUMBER = {
  anyOf: [
    { type: 'integer', minimum: 1, maximum: 999_999_999 }, { type: 'string', pattern: '^[1-9]\\d{0,8}$' }
  ]
}
const RANGE = { from: NUMBER, to: NUMBER }
const FORM_SCHEMA = {
  querystring: { type: 'object', required: ['from', 'to'], additionalProperties: false, properties: RANGE }
}
const ERASE_SCHEMA = {
  body: {
    type: 'object',
    required: ['from', 'to', 'confirm', 'reason'],
    additionalProperties: false,
    properties: {
      ...RANGE,
      newest: NUMBER,
      confirm: { type: 'string', maxLength: 400 },
      reason: { type: 'string', maxLength: 200, pattern: LINE }
    }
  }
}
const BODY_MAX_BYTES = 16_384
/** The form names so many of them. */
const SHOWN_MAX = 50

const config = { role: 'admin' }

/**
 * An administrator ends for good what revisions said.
 * @type {import('fastify').FastifyPluginAsync<{erasure: Erasure, users: Users}>}
 */
export async function eraseRoutes (app, { erasure, users }) {
  const actorOf = createActorOf(users.isInFile)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get('/edit/erase/*', { config, schema: FORM_SCHEMA }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const url = eraseFormUrl(name)
    if (isMisspelt(request, url)) return reply.redirect(url + queryOf(request), 303)
    const { from, to } = rangeIn(request.query)
    const { newest, revisions } = await erasure.plan({ name, from, to })
    return reply.type(HTML).send(renderFor(request, 'erase', {
      title: t('Erase revisions of “{{name}}”', { name }),
      name,
      url,
      from,
      to,
      newest,
      count: revisions.length,
      revisions: revisions.slice(0, SHOWN_MAX).join(', '),
      isPart: revisions.length > SHOWN_MAX,
      revisionsMax: REVISIONS_MAX,
      historyUrl: historyUrl(name)
    }))
  })

  app.post('/edit/erase/*', { config, schema: ERASE_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const range = { name, ...rangeIn(request.body) }
    const { confirm, reason: given, newest } =
      /** @type {{confirm: string, reason: string, newest?: string | number}} */ (request.body)
    if (confirm.trim().normalize('NFC') !== name) throw new NotConfirmed(name)
    const reason = readableSummary(given)
    if (!reason) throw new NoReason()
    const actor = actorOf(/** @type {Person} */ (personIn(request)))
    const asked = { ...range, ...newest !== undefined && { newest: Number(newest) } }
    const erased = await erasure.erase(actor, asked, reason)
    if (!wantsHtml(request)) return { ...range, erased }
    return reply.type(HTML).send(renderFor(request, 'erased', {
      title: t('Erased'),
      name,
      count: erased,
      viewUrl: viewUrl(name),
      historyUrl: historyUrl(name)
    }))
  })
}

/** @param {unknown} given  checked against RANGE @returns {{from: number, to: number}} @throws {Error} 400 */
function rangeIn (given) {
  const asked = /** @type {Record<'from' | 'to', string | number>} */ (given)
  const [from, to] = [Number(asked.from), Number(asked.to)]
  if (from > to) throw new Turned()
  return { from, to }
}
