import { personIn } from '../access/access.js'
import { roleName } from '../access/role-names.js'
import { t } from '../language.js'
import { viewUrl, writableName } from '../pages/name.js'
import { AUDIT_URL } from '../people/addresses.js'
import { proposalsUrl } from '../proposals/addresses.js'
import { readableTime } from '../readable.js'
import { spacePagesUrl } from '../spaces/addresses.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { PROTECTION_URL, protectionListUrl, protectionUrl, SPACE, spaceQuery } from './addresses.js'
import { factsOf, PROTECTED_FOR, REASON_SCHEMA, ruleIn } from './rule-in.js'

/** @import {FastifyInstance, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {FindSpace} from '../spaces/find-space.js' */
/** @import {Protections} from './protections.js' */
/** @import {Proposals} from '../proposals/proposals.js' */
/** @import {Rule} from './model.js' */

const NAME = { type: 'string', maxLength: 800 }
const LIST_SCHEMA = {
  querystring: { type: 'object', additionalProperties: false, properties: { name: NAME, space: SPACE } }
}
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

/** `placed`: the query may name a private space. */
const config = { role: 'admin', placed: true }

/** @param {FastifyRequest} request */
const knownIn = (request) => /** @type {Person} */ (personIn(request))

/**
 * @typedef {{protections: Protections | null, proposals: Proposals | null,
 *   privateSpaces?: {finding: Pick<FindSpace, 'find'>}}} Options
 */

/**
 * The list of protected pages, for administrators. A wiki that knows nobody by name has none, and says so.
 * @type {import('fastify').FastifyPluginAsync<Options>}
 */
export async function protectionRoutes (app, options) {
  const protections = /** @type {Protections} */ (options.protections)
  const proposals = /** @type {Proposals} */ (options.proposals)
  const { privateSpaces } = options
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })
  addList(app, { protections, proposals })

  app.post(PROTECTION_URL, { config, schema: PROTECT_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const name = nameIn(request)
    const { space } = knownIn(request)
    const other = space === undefined ? await privateSpaces?.finding.find(name) ?? null : null
    // The same form, sent to the list of that space.
    if (other !== null) return reply.redirect(protectionListUrl(other._id), 307)
    const { rule } = await protections.protect(knownIn(request), name, ruleIn(request.body))
    return wantsHtml(request) ? reply.redirect(protectionListUrl(space), 303) : factsOf(rule)
  })

  const removal = { config, schema: bodyOf(), bodyLimit: BODY_MAX_BYTES }
  app.post(`${PROTECTION_URL}/remove`, removal, async (request, reply) => {
    await protections.unprotect(knownIn(request), nameIn(request))
    return wantsHtml(request)
      ? reply.redirect(protectionListUrl(knownIn(request).space), 303)
      : reply.code(204).send()
  })
}

/** @param {FastifyInstance} app @param {{protections: Protections, proposals: Proposals}} parts */
function addList (app, { protections, proposals }) {
  app.get(PROTECTION_URL, { config, schema: LIST_SCHEMA }, async (request, reply) => {
    const person = knownIn(request)
    const { space } = person
    const rules = await protections.list(person)
    if (!wantsHtml(request)) return { protections: rules.map(factsOf) }
    const { name: asked = '' } = /** @type {{name?: string}} */ (request.query)
    const name = asked === '' ? '' : writableName(asked)
    const { subpages = false, role = 'admin', review = false, reason = '' } =
      rules.find(({ _id }) => _id === name) ?? {}
    return reply.type(HTML).send(renderFor(request, 'protection', {
      title: space === undefined
        ? t('Protected pages')
        : t('Protected pages of the private space “{{name}}”', { name: space }),
      items: rules.map(shown),
      url: protectionListUrl(space),
      removeUrl: `${PROTECTION_URL}/remove${spaceQuery(space)}`,
      pagesUrl: space && spacePagesUrl(space),
      roles: PROTECTED_FOR,
      auditUrl: (person.ofWiki ?? person.role) === 'admin' ? AUDIT_URL : null,
      name,
      subpages,
      review,
      openProposals: await proposals.countOpen(person),
      proposalsUrl: proposalsUrl(space),
      role,
      reason
    }))
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
  changeUrl: protectionUrl(rule._id, rule.space)
})
