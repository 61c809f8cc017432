import { nameOfPerson } from '../access/access.js'
import { NAME_MAX_CHARS } from '../access/users.js'
import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { GROUPS_URL, SPACES_URL } from './addresses.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Groups} from './groups.js' */

const NAME = { type: 'string', minLength: 1, maxLength: NAME_MAX_CHARS }
const BODY_MAX_BYTES = 16_384
const config = { role: 'admin' }
/** @param {Record<string, object>} properties */
const form = (properties) => ({
  config,
  schema: { body: { type: 'object', required: Object.keys(properties), additionalProperties: false, properties } },
  bodyLimit: BODY_MAX_BYTES
})

/**
 * Groups of people, for administrators.
 * @type {FastifyPluginAsync<{groups: Groups}>}
 */
export async function groupsRoutes (app, { groups }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  app.get(GROUPS_URL, { config }, async (request, reply) => {
    const items = (await groups.list()).map(({ name, members }) =>
      ({ name, members: members.map((member) => member.name) }))
    if (!wantsHtml(request)) return { groups: items }
    return reply.type(HTML).send(renderFor(request, 'groups', {
      title: t('Groups'), items, url: GROUPS_URL, spacesUrl: SPACES_URL, nameMaxChars: NAME_MAX_CHARS
    }))
  })

  app.post(GROUPS_URL, form({ name: NAME }), async (request, reply) => {
    const { name } = await groups.make(nameOfPerson(request), asked(request).name)
    return wantsHtml(request) ? reply.redirect(GROUPS_URL, 303) : reply.code(201).send({ name })
  })

  app.post(`${GROUPS_URL}/remove`, form({ name: NAME }), async (request, reply) => {
    await groups.remove(nameOfPerson(request), asked(request).name)
    return done(request, reply)
  })

  for (const [verb, isIn] of /** @type {const} */ ([['add', true], ['take', false]])) {
    app.post(`${GROUPS_URL}/${verb}`, form({ name: NAME, person: NAME }), async (request, reply) => {
      const { name, person } = asked(request)
      await groups.change(nameOfPerson(request), name, { person, isIn })
      return done(request, reply)
    })
  }
}

/** @param {FastifyRequest} request */
const asked = ({ body }) => /** @type {{name: string, person: string}} */ (body)

/** @param {FastifyRequest} request @param {FastifyReply} reply */
const done = (request, reply) => wantsHtml(request) ? reply.redirect(GROUPS_URL, 303) : reply.code(204).send()
