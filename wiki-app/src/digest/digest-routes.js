import { nameOfPerson } from '../access/access.js'
import { MAIL_ADDRESS_PATTERN } from '../mail/address.js'
import { WATCHING_URL } from '../watching/addresses.js'
import { DIGEST_END_URL, DIGEST_URL } from './addresses.js'
import { INTERVALS } from './model.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {Interval} from './model.js' */
/** @import {Subscriptions} from './subscriptions.js' */

const BODY_MAX_BYTES = 16_384
const SCHEMA = {
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['address', 'every'],
    properties: {
      address: { type: 'string', maxLength: 254, pattern: MAIL_ADDRESS_PATTERN },
      every: { type: 'string', enum: INTERVALS }
    }
  }
}

/**
 * The forms on the page “Watching”.
 * @type {FastifyPluginAsync<{subscriptions: Subscriptions}>}
 */
export async function digestRoutes (app, { subscriptions }) {
  const form = { config: { role: 'reader' }, bodyLimit: BODY_MAX_BYTES }

  app.post(DIGEST_URL, { ...form, schema: SCHEMA }, async (request, reply) => {
    await subscriptions.ask(nameOfPerson(request), /** @type {{address: string, every: Interval}} */ (request.body))
    return reply.redirect(`${WATCHING_URL}#_digest`, 303)
  })

  app.post(DIGEST_END_URL, form, async (request, reply) => {
    await subscriptions.end(nameOfPerson(request))
    return reply.redirect(`${WATCHING_URL}#_digest`, 303)
  })
}
