import { nameOfPerson, personIn, spaceIn } from '../access/access.js'
import { asInWiki } from '../access/places.js'
import { keepFromCaches } from '../access/private-answers.js'
import { NO_COPY } from '../caching/cache-policy.js'
import { writableName } from '../pages/name.js'
import { spaceFor, spacesFor } from '../spaces/facts.js'
import { groupKey } from '../spaces/groups.js'
import { API_PREFIX } from '../views.js'
import { nameIn } from './address.js'
import { partOf, sendPart } from './answers.js'
import { ANY, limitIn, readCursor } from './cursor.js'
import { addGroups } from './group-routes.js'
import { addInSpace } from './in-space-routes.js'
import { answer, bodyOf, list, partQuery, refusals } from './schemas.js'
import { DONE, groupName, OF_SPACES, ofSpace, reading, ROLE } from './space-schemas.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Space} from '../spaces/model.js' */
/** @import {SpaceServices} from '../spaces/services.js' */

const GRANT = { group: 'Writers', role: 'editor' }
const TEAM = { name: 'Team', role: 'admin', state: 'open', grants: [GRANT] }
const OLD_TEAM = { ...TEAM, name: 'Old team', grants: [] }
const NEW_TEAM = { ...OLD_TEAM, name: 'Work/Team' }

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  list: {
    ...OF_SPACES,
    summary: 'List private spaces',
    description: 'Those that you may read, by name.',
    querystring: partQuery(),
    response: reading(list('Spaces, with your role in each', 'Space', [OLD_TEAM, TEAM]), 304)
  },
  read: {
    ...OF_SPACES,
    summary: 'Read a private space',
    description: 'Without a role in it, you get the same 404 as for a space that is not there, as at all addresses ' +
      'below this one.',
    params: ofSpace(TEAM.name),
    response: reading(answer('The space', 'Space', TEAM), 404)
  },
  make: {
    ...OF_SPACES,
    summary: 'Make a private space',
    description: 'Of a name that no public page has, nor one below it. For administrators of the wiki.',
    body: bodyOf({ name: { type: 'string', minLength: 1, maxLength: 800 } }, ['name'], { name: NEW_TEAM.name }),
    response: { 201: answer('It is there now', 'Space', NEW_TEAM), ...refusals(409) }
  },
  remove: {
    ...OF_SPACES,
    summary: 'Remove a private space',
    description: 'One without pages and files. Its histories stay private. For administrators of the wiki.',
    params: ofSpace(OLD_TEAM.name),
    response: { ...DONE, ...refusals(404, 409) }
  },
  grant: {
    ...OF_SPACES,
    summary: 'Give a group a role in a private space',
    description: 'In place of the one that it has. For administrators of the space.',
    params: ofSpace(TEAM.name, { group: groupName(GRANT.group) }),
    body: bodyOf({ role: ROLE }, ['role'], { role: GRANT.role }),
    response: { ...DONE, ...refusals(404) }
  },
  endGrant: {
    ...OF_SPACES,
    summary: 'End the role of a group in a private space',
    description: 'Nothing happens if it has none. For administrators of the space.',
    params: ofSpace(TEAM.name, { group: groupName(GRANT.group) }),
    response: { ...DONE, ...refusals(404) }
  }
}

/**
 * Private spaces. Where an address has the name of one, the hook that admits people decides with the role there
 * (access/access.js).
 * @type {FastifyPluginAsync<SpaceServices & {maxBytes: number}>}
 */
export async function spacesApi (app, services) {
  app.addHook('onSend', keepFromCaches)
  addSpaces(app, services)
  addGrants(app, services)
  addGroups(app, services)
  addInSpace(app, services)
}

/** @param {FastifyInstance} app @param {Pick<SpaceServices, 'spaces' | 'groups'>} services */
function addSpaces (app, services) {
  const admin = { role: 'admin' }

  app.get('/spaces', { config: { role: 'reader' }, schema: SCHEMAS.list }, async (request, reply) => {
    const { items } = await spacesFor(services, asPerson(request))
    const position = (/** @type {{name: string}} */ { name }) => name
    const found = partOf(items, position, { after: readCursor(request, ANY), limit: limitIn(request) })
    return sendPart(request, reply, { cacheControl: NO_COPY, found, shown: (space) => space, position })
  })

  const read = { config: { role: 'reader', ofSpace: true }, schema: SCHEMAS.read }
  app.get('/spaces/:name', read, async (request) => spaceFor(services, asSpace(request), asPerson(request).role))

  app.post('/spaces', { config: admin, schema: SCHEMAS.make }, async (request, reply) => {
    const name = writableName(/** @type {{name: string}} */ (request.body).name)
    await services.spaces.make(nameOfPerson(request), name)
    reply.code(201).header('location', `${API_PREFIX}/spaces/${encodeURIComponent(name)}`)
    return { name, role: 'admin', state: 'open', grants: [] }
  })

  app.delete('/spaces/:name', { config: admin, schema: SCHEMAS.remove }, async (request, reply) => {
    await services.spaces.remove(nameOfPerson(request), nameIn(request))
    return reply.code(204).send()
  })
}

/** @param {FastifyInstance} app @param {Pick<SpaceServices, 'spaces'>} services */
function addGrants (app, { spaces }) {
  const url = '/spaces/:name/grants/:group'
  const config = { role: 'admin', ofSpace: true }
  /** @param {FastifyRequest} request @param {Role | null} role */
  const grant = (request, role) => {
    const { group } = /** @type {{group: string}} */ (request.params)
    // The transaction asks again for the role in the space.
    return spaces.grant(asInWiki(asPerson(request)), asSpace(request)._id, { group: groupKey(group), role })
  }

  app.put(url, { config, schema: SCHEMAS.grant }, async (request, reply) => {
    await grant(request, /** @type {{role: Role}} */ (request.body).role)
    return reply.code(204).send()
  })

  app.delete(url, { config, schema: SCHEMAS.endGrant }, async (request, reply) => {
    await grant(request, null)
    return reply.code(204).send()
  })
}

/** @param {FastifyRequest} request */
const asPerson = (request) => /** @type {Person} */ (personIn(request))

/** @param {FastifyRequest} request */
const asSpace = (request) => /** @type {Space} */ (spaceIn(request))
