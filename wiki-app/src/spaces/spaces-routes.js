import { nameOfPerson, personIn } from '../access/access.js'
import { ROLES } from '../access/roles.js'
import { t } from '../language.js'
import { viewUrl, writableName } from '../pages/name.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { GROUPS_URL, spaceChangesUrl, spacePagesUrl, SPACES_URL } from './addresses.js'
import { spacesFor } from './facts.js'
import { groupKey } from './groups.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Groups} from './groups.js' */
/** @import {Spaces} from './spaces.js' */

const NAME = { type: 'string', minLength: 1, maxLength: 800 }
const GROUP = { type: 'string', minLength: 1, maxLength: 80 }
const NONE = 'none'
const BODY_MAX_BYTES = 16_384
/** @param {Record<string, object>} properties */
const bodyOf = (properties) => ({
  body: { type: 'object', required: Object.keys(properties), additionalProperties: false, properties }
})
const GRANT = { name: NAME, group: GROUP, role: { type: 'string', enum: [...ROLES, NONE] } }

/**
 * The private spaces that a person may read, and what administrators do with them.
 * @type {FastifyPluginAsync<{spaces: Spaces, groups: Pick<Groups, 'list'>}>}
 */
export async function spacesRoutes (app, { spaces, groups }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get(SPACES_URL, { config: { role: 'reader' } }, async (request, reply) => {
    const person = /** @type {Person} */ (personIn(request))
    const { items, groups: names } = await spacesFor({ spaces, groups }, person)
    if (!wantsHtml(request)) return { spaces: items }
    return reply.type(HTML).send(renderFor(request, 'spaces', {
      title: t('Private spaces'),
      items: items.map((item) => ({
        ...item,
        viewUrl: viewUrl(item.name),
        pagesUrl: spacePagesUrl(item.name),
        changesUrl: spaceChangesUrl(item.name)
      })),
      groups: names,
      url: SPACES_URL,
      groupsUrl: GROUPS_URL,
      isAdmin: person.role === 'admin'
    }))
  })

  const admin = { config: { role: 'admin' }, schema: bodyOf({ name: NAME }), bodyLimit: BODY_MAX_BYTES }
  app.post(SPACES_URL, admin, async (request, reply) => {
    const name = nameIn(request)
    await spaces.make(nameOfPerson(request), name)
    if (wantsHtml(request)) return reply.redirect(SPACES_URL, 303)
    return reply.code(201).send({ name })
  })

  app.post(`${SPACES_URL}/remove`, admin, async (request, reply) => {
    await spaces.remove(nameOfPerson(request), nameIn(request))
    return done(request, reply)
  })

  // By administrators of the space, whose role in the wiki may be any.
  const grant = { config: { role: 'reader' }, schema: bodyOf(GRANT), bodyLimit: BODY_MAX_BYTES }
  app.post(`${SPACES_URL}/grant`, grant, async (request, reply) => {
    const { group, role } = /** @type {{group: string, role: Role | typeof NONE}} */ (request.body)
    await spaces.grant(/** @type {Person} */ (personIn(request)), nameIn(request), {
      group: groupKey(group), role: role === NONE ? null : role
    })
    return done(request, reply)
  })
}

/** @param {FastifyRequest} request @param {FastifyReply} reply */
const done = (request, reply) => wantsHtml(request) ? reply.redirect(SPACES_URL, 303) : reply.code(204).send()

/** @param {FastifyRequest} request @returns {string} canonical @throws {Error} 400 */
const nameIn = ({ body }) => writableName(/** @type {{name: string}} */ (body).name)
