import { nameOfPerson } from '../access/access.js'
import { roleName } from '../access/role-names.js'
import { t } from '../language.js'
import { viewUrl, writableName } from '../pages/name.js'
import { AUDIT_URL } from '../people/addresses.js'
import { PROPOSALS_URL } from '../proposals/addresses.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { PROTECTION_URL, protectionUrl } from './addresses.js'
import { factsOf, PROTECTED_FOR, REASON_SCHEMA, ruleIn } from './rule-in.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Protections} from './protections.js' */
/** @import {Proposals} from '../proposals/proposals.js' */
/** @import {Rule} from './model.js' */

const NAME = { type: 'string', maxLength: 800 }
const LIST_SCHEMA = { querystring: { type: 'object', additionalProperties: false, properties: { name: NAME } } }
/** A form sends it when its box is ticked. */
const TICKED = { enum: [true, false, 'true'] }
/** @param {Record<string, object>} [properties] */
const bodyOf = (properties) => ({
  body: { type: 'object', required: ['name'], additionalProperties: false, properties: { name: NAME, ...properties } }
})
const PROTECT_SCHEMA = bodyOf({
  subpages: TICKED,
  review: TICKED,
  role: { type: 'string', enum: PROTECTED_FOR },
  reason: REASON_SCHEMA
})
const BODY_MAX_BYTES = 16_384

const config = { role: 'admin' }

/**
 * The list of protected pages, for administrators. A wiki that knows nobody by name has none, and says so.
 * @type {import('fastify').FastifyPluginAsync<{protections: Protections | null, proposals: Proposals | null}>}
 */
export async function protectionRoutes (app, options) {
  const protections = /** @type {Protections} */ (options.protections)
  const proposals = /** @type {Proposals} */ (options.proposals)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get(PROTECTION_URL, { config, schema: LIST_SCHEMA }, async (request, reply) => {
    const rules = await protections.list()
    if (!wantsHtml(request)) return { protections: rules.map(factsOf) }
    const { name: asked = '' } = /** @type {{name?: string}} */ (request.query)
    const name = asked === '' ? '' : writableName(asked)
    const { subpages = false, role = 'admin', review = false, reason = '' } =
      rules.find(({ _id }) => _id === name) ?? {}
    return reply.type(HTML).send(renderFor(request, 'protection', {
      title: t('Protected pages'),
      items: rules.map(shown),
      url: PROTECTION_URL,
      roles: PROTECTED_FOR,
      auditUrl: AUDIT_URL,
      name,
      subpages,
      review,
      openProposals: await proposals.countOpen(),
      proposalsUrl: PROPOSALS_URL,
      role,
      reason
    }))
  })

  app.post(PROTECTION_URL, { config, schema: PROTECT_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { rule } = await protections.protect(nameOfPerson(request), nameIn(request), ruleIn(request.body))
    return wantsHtml(request) ? reply.redirect(PROTECTION_URL, 303) : factsOf(rule)
  })

  const removal = { config, schema: bodyOf(), bodyLimit: BODY_MAX_BYTES }
  app.post(`${PROTECTION_URL}/remove`, removal, async (request, reply) => {
    await protections.unprotect(nameOfPerson(request), nameIn(request))
    return wantsHtml(request) ? reply.redirect(PROTECTION_URL, 303) : reply.code(204).send()
  })
}

/** @param {FastifyRequest} request @returns {string} canonical @throws {Error} 400 */
const nameIn = ({ body }) => writableName(/** @type {{name: string}} */ (body).name)

/** @param {Rule} rule */
const shown = (rule) => ({
  ...factsOf(rule),
  time: readableTime(rule.at.toISOString()),
  roleName: roleName(rule.role),
  viewUrl: viewUrl(rule._id),
  changeUrl: protectionUrl(rule._id)
})
