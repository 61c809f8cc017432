import { personIn } from '../access/access.js'
import { writableName } from '../pages/name.js'
import { SPACE } from '../protection/addresses.js'
import { factsOf, PROTECTED_FOR, REASON_SCHEMA, ruleIn } from '../protection/rule-in.js'
import { askedName } from './address.js'
import { answer, bodyOf, NAME, named, queryOf, refusals, strict } from './schemas.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Protections} from '../protection/protections.js' */

const tags = ['protection']
const security = [{ token: [] }]
const RULE = {
  name: NAME,
  subpages: { type: 'boolean', description: 'Whether all names below are protected, too.' },
  role: { type: 'string', enum: PROTECTED_FOR, description: 'The least role that changes the page.' },
  review: {
    type: 'boolean',
    description: 'Whether what editors save waits as a proposal until an administrator publishes it.'
  },
  reason: { type: 'string', description: 'May be empty.' },
  protected_at: { type: 'string', format: 'date-time' }
}
export const OF_SPACE = {
  ...SPACE, description: 'The name of a private space: what is in it, for those with the role there.'
}
const EXAMPLE = {
  name: 'Handbook',
  subpages: true,
  role: 'admin',
  review: false,
  reason: 'agreed with all',
  protected_at: '2026-01-01T10:00:00.000Z'
}

export const PROTECTION_SCHEMAS = Object.entries({
  Protection: strict(RULE),
  Protections: strict({ protections: { type: 'array', items: { $ref: 'Protection#' } } })
}).map(([$id, schema]) => ({ $id, ...schema }))

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  list: {
    tags,
    security,
    summary: 'List protected pages',
    description: 'All of them, by name. For administrators, as all of this.',
    querystring: queryOf({ space: OF_SPACE }),
    response: { 200: answer('Rules', 'Protections', { protections: [EXAMPLE] }), ...refusals(404) }
  },
  protect: {
    tags,
    security,
    summary: 'Protect a page',
    description: 'Only administrators change it from then on; it need not exist. With `subpages`, all names below it ' +
      'are covered; the rule nearest to a page counts, so with the role `editor` a rule is an exception. ' +
      'A talk page has rules of its own name. In a private space, its administrators do this.',
    params: named(EXAMPLE.name),
    body: bodyOf({
      subpages: { ...RULE.subpages, default: false },
      role: { ...RULE.role, default: 'admin' },
      review: { ...RULE.review, default: false },
      reason: { ...REASON_SCHEMA, default: '', description: 'Shown to people that may not change the page.' }
    }, [], { subpages: true, reason: EXAMPLE.reason }),
    response: {
      200: answer('The rule was replaced', 'Protection', EXAMPLE),
      201: answer('The page is protected', 'Protection', EXAMPLE),
      ...refusals(409)
    }
  },
  unprotect: {
    tags,
    security,
    summary: 'End the protection of a page',
    description: 'Takes the rule of that very name from the list.',
    params: named(EXAMPLE.name),
    response: { 204: { description: 'There is no such rule any more', type: 'null' }, ...refusals(404, 409) }
  }
}

/** Not described where the wiki knows nobody by name. @type {FastifyPluginAsync<{protections: Protections | null}>} */
export async function protectionApi (app, options) {
  const protections = /** @type {Protections} */ (options.protections)
  const config = { role: 'admin' }
  /** @param {FastifyRequest} request */
  const knownIn = (request) => /** @type {Person} */ (personIn(request))
  /** @param {import('fastify').FastifySchema} schema */
  const described = (schema) => options.protections ? schema : { hide: true }

  const listing = { config: { ...config, placed: true }, schema: described(SCHEMAS.list) }
  app.get('/protections', listing, async (request) =>
    ({ protections: (await protections.list(knownIn(request))).map(factsOf) }))

  app.put('/protections/:name', { config, schema: described(SCHEMAS.protect) }, async (request, reply) => {
    const name = writableName(askedName(request))
    const { rule, created } = await protections.protect(knownIn(request), name, ruleIn(request.body))
    return reply.code(created ? 201 : 200).send(factsOf(rule))
  })

  app.delete('/protections/:name', { config, schema: described(SCHEMAS.unprotect) }, async (request, reply) => {
    await protections.unprotect(knownIn(request), writableName(askedName(request)))
    return reply.code(204).send()
  })
}
