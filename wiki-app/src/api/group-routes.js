import { nameOfPerson } from '../access/access.js'
import { NAME_MAX_CHARS } from '../access/users.js'
import { NO_COPY } from '../caching/cache-policy.js'
import { askedName } from './address.js'
import { partOf, sendPart } from './answers.js'
import { ANY, limitIn, readCursor } from './cursor.js'
import { answer, bodyOf, inPath, list, partQuery, refusals } from './schemas.js'
import { DONE, groupName, OF_SPACES, reading } from './space-schemas.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Groups} from '../spaces/groups.js' */

const ANA = 'Ana'
const WRITERS = { name: 'Writers', members: 1 }
const INTERNS = { name: 'Interns', members: 0 }
const GUESTS = { name: 'Guests', members: 0 }
const MEMBER = inPath({ name: groupName(WRITERS.name), person: { type: 'string', examples: [ANA] } })

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  list: {
    ...OF_SPACES,
    summary: 'List groups',
    description: 'By name. For administrators of the wiki, as all of groups.',
    querystring: partQuery(),
    response: reading(list('Groups', 'Group', [INTERNS, WRITERS]), 304)
  },
  make: {
    ...OF_SPACES,
    summary: 'Make a group',
    description: 'Of people that get roles in private spaces. Capitals do not make another name.',
    body: bodyOf(
      { name: { type: 'string', minLength: 1, maxLength: NAME_MAX_CHARS } }, ['name'], { name: GUESTS.name }),
    response: { 201: answer('It is there now', 'Group', GUESTS), ...refusals(409) }
  },
  remove: {
    ...OF_SPACES,
    summary: 'Remove a group',
    description: 'Its roles in private spaces end.',
    params: inPath({ name: groupName(INTERNS.name) }),
    response: { ...DONE, ...refusals(404) }
  },
  members: {
    ...OF_SPACES,
    summary: 'List the people in a group',
    description: 'By name.',
    params: inPath({ name: groupName(WRITERS.name) }),
    querystring: partQuery(),
    response: reading(list('People', 'Member', [{ name: ANA }]), 304, 404)
  },
  add: {
    ...OF_SPACES,
    summary: 'Put a person into a group',
    description: 'The roles of the group count from the next request on.',
    params: MEMBER,
    response: { ...DONE, ...refusals(404, 409) }
  },
  take: {
    ...OF_SPACES,
    summary: 'Take a person out of a group',
    description: 'Nothing happens to a person that is not in it.',
    params: MEMBER,
    response: { ...DONE, ...refusals(404) }
  }
}

const config = { role: 'admin' }

/** @param {FastifyInstance} app @param {{groups: Groups}} services */
export function addGroups (app, { groups }) {
  app.get('/groups', { config, schema: SCHEMAS.list }, async (request, reply) => {
    const position = (/** @type {{_id: string}} */ { _id: key }) => key
    const found = partOf(await groups.list(), position, { after: readCursor(request, ANY), limit: limitIn(request) })
    const shown = (/** @type {import('../spaces/model.js').Group} */ { name, members }) =>
      ({ name, members: members.length })
    return sendPart(request, reply, { cacheControl: NO_COPY, found, shown, position })
  })

  app.post('/groups', { config, schema: SCHEMAS.make }, async (request, reply) => {
    const { name } = await groups.make(nameOfPerson(request), /** @type {{name: string}} */ (request.body).name)
    return reply.code(201).send({ name, members: 0 })
  })

  app.delete('/groups/:name', { config, schema: SCHEMAS.remove }, async (request, reply) => {
    await groups.remove(nameOfPerson(request), askedName(request))
    return reply.code(204).send()
  })

  app.get('/groups/:name/members', { config, schema: SCHEMAS.members }, async (request, reply) => {
    const { members } = await groups.get(askedName(request))
    const position = (/** @type {{key: string}} */ { key }) => key
    const found = partOf(members, position, { after: readCursor(request, ANY), limit: limitIn(request) })
    return sendPart(request, reply, { cacheControl: NO_COPY, found, shown: ({ name }) => ({ name }), position })
  })

  const url = '/groups/:name/members/:person'
  for (const [method, isIn] of /** @type {const} */ ([['put', true], ['delete', false]])) {
    app[method](url, { config, schema: isIn ? SCHEMAS.add : SCHEMAS.take }, async (request, reply) => {
      const { person } = /** @type {{person: string}} */ (request.params)
      await groups.change(nameOfPerson(request), askedName(request), { person, isIn })
      return reply.code(204).send()
    })
  }
}
