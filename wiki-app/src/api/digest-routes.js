import { nameOfPerson } from '../access/access.js'
import { INTERVALS } from '../digest/model.js'
import { MAIL_ADDRESS_PATTERN } from '../mail/address.js'
import { answer, bodyOf, refusals, strict } from './schemas.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {Interval} from '../digest/model.js' */
/** @import {Subscriptions} from '../digest/subscriptions.js' */

const tags = ['watching']
const security = [{ token: [] }]
const EXAMPLE = 'ana@wiki.example'

const ADDRESS = { type: 'string', description: 'A mail address.' }
const EVERY = { type: 'string', enum: INTERVALS }
const PROBLEM = {
  type: ['string', 'null'], description: 'Why the last mail could not be sent, as the code of the server for mail.'
}

export const DIGEST_SCHEMA = {
  $id: 'Digest',
  ...strict({
    state: {
      type: 'string',
      enum: ['off', 'on', 'ended'],
      description: '`ended`: the mailbox refused too many mails.'
    },
    address: { ...ADDRESS, type: ['string', 'null'], description: 'Confirmed; null without one.' },
    every: { ...EVERY, type: ['string', 'null'], enum: [...INTERVALS, null] },
    problem: PROBLEM,
    waiting: {
      type: ['object', 'null'],
      description: 'An address whose link was not opened yet.',
      additionalProperties: false,
      required: ['address', 'every', 'sent', 'problem'],
      properties: {
        address: ADDRESS,
        every: EVERY,
        sent: { type: 'boolean', description: 'Whether the server for mail has taken the mail with the link.' },
        problem: PROBLEM
      }
    }
  })
}

const WAITING = { address: EXAMPLE, every: 'daily', sent: false, problem: null }
const OFF = { state: 'off', address: null, every: null, problem: null, waiting: WAITING }
const ON = { state: 'on', address: EXAMPLE, every: 'daily', problem: null, waiting: null }

const SCHEMAS = {
  state: {
    tags,
    security,
    summary: 'See your digest by mail',
    description: 'What is new in what you watch, as mail.',
    response: { 200: answer('The digest', 'Digest', ON), ...refusals() }
  },
  ask: {
    tags,
    security,
    summary: 'Get a digest by mail',
    description: 'An address that is not confirmed gets a mail with a link, at most three a day. With the address ' +
      'that you have, only the interval changes.',
    body: bodyOf(
      {
        address: { ...ADDRESS, maxLength: 254, pattern: MAIL_ADDRESS_PATTERN },
        every: { ...EVERY, description: 'How often, if something changed.' }
      },
      ['address', 'every'],
      { address: EXAMPLE, every: 'daily' }
    ),
    response: { 200: answer('The digest', 'Digest', OFF), ...refusals(429) }
  },
  end: {
    tags,
    security,
    summary: 'End the digest by mail',
    description: 'Nothing happens if there is none. The address is forgotten.',
    response: { 204: { description: 'It is so now', type: 'null' }, ...refusals() }
  }
}

/** @type {FastifyPluginAsync<{subscriptions: Subscriptions}>} */
export async function digestApi (app, { subscriptions }) {
  const config = { role: 'reader' }
  const path = '/watching/digest'

  app.get(path, { config, schema: SCHEMAS.state }, async (request, reply) => {
    reply.header('cache-control', 'private, no-cache')
    return subscriptions.of(nameOfPerson(request))
  })

  app.put(path, { config, schema: SCHEMAS.ask }, async (request) => {
    const user = nameOfPerson(request)
    await subscriptions.ask(user, /** @type {{address: string, every: Interval}} */ (request.body))
    return subscriptions.of(user)
  })

  app.delete(path, { config, schema: SCHEMAS.end }, async (request, reply) => {
    await subscriptions.end(nameOfPerson(request))
    return reply.code(204).send()
  })
}
