import { nameOfPerson } from '../access/access.js'
import { roleName } from '../access/role-names.js'
import { t } from '../language.js'
import { viewUrl, writableName } from '../pages/name.js'
import { AUDIT_URL } from '../people/addresses.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { PROTECTION_URL, protectionUrl } from './addresses.js'
import { factsOf, PROTECTED_FOR, REASON_SCHEMA, ruleIn } from './rule-in.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Protections} from './protections.js' */
/** @import {Rule} from './model.js' */

const NAME = { type: 'string', maxLength: 800 }
const LIST_SCHEMA = { querystring: { type: 'object', additionalProperties: false, properties: { name: NAME } } }
/** @param {Record<string, object>} [properties] */
const bodyOf = (properties) => ({
  body: { type: 'object', required: ['name'], additionalProperties: false, properties: { name: NAME, ...properties } }
})
const PROTECT_SCHEMA = bodyOf({
  // A form sends it when its box is ticked.
  subpages: { enum: [true, false, 'true'] },
  role: { type: 'string', enum: PROTECTED_FOR },
  reason: REASON_SCHEMA
})
const BODY_MAX_BYTES = 16_384

const config = { role: 'admin' }

/**
 * The list of protected pages, for administrators. A wiki that knows nobody by name has none, and says so.
 * @type {import('fastify').FastifyPluginAsync<{protections: Protections | null}>}
 */
export async function protectionRoutes (app, options) {
  const protections = /** @type {Protections} */ (options.protections)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get(PROTECTION_URL, { config, schema: LIST_SCHEMA }, async (request, reply) => {
    const rules = await protections.list()
    if (!wantsHtml(request)) return { protections: rules.map(factsOf) }
    const { name: asked = '' } = /** @type {{name?: string}} */ (request.query)
    const name = asked === '' ? '' : writableName(asked)
    const { subpages = false, role = 'admin', reason = '' } = rules.find(({ _id }) => _id === name) ?? {}
    return reply.type(HTML).send(renderFor(request, 'protection', {
      title: t('Protected pages'),
      items: rules.map(shown),
      url: PROTECTION_URL,
      roles: PROTECTED_FOR,
      auditUrl: AUDIT_URL,
      name,
      subpages,
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
