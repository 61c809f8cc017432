import { personIn } from '../access/access.js'
import { factsOf, textOf } from '../proposals/answer.js'
import { ID_SCHEMA } from '../proposals/addresses.js'
import { ProposalConflict } from '../proposals/errors.js'
import { STATES } from '../proposals/model.js'
import { declined, DECLINE_PROPERTIES } from '../proposals/reason.js'
import { sendPart } from './answers.js'
import { limitIn, readCursor } from './cursor.js'
import { OF_SPACE } from './protection-routes.js'
import { answer, bodyOf, list, NAME, partQuery, queryOf, refusals, REVISION, strict } from './schemas.js'

/** @import {FastifyPluginAsync, FastifyRequest, FastifySchema} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Services} from '../services.js' */

const PRIVATE = 'private, no-store'
const ID = '6955b9f0c0ffee0123456789'
const POSITION = new RegExp(ID_SCHEMA.pattern)
const tags = ['protection']
const security = [{ token: [] }]
const orNull = (/** @type {object} */ schema) => ({ anyOf: [schema, { type: 'null' }] })
const TIME = { type: 'string', format: 'date-time' }

const PROPOSAL = {
  id: { type: 'string' },
  url: { type: 'string', description: 'Where its text and its state are: a path of this wiki.' },
  name: NAME,
  base_revision: { ...REVISION, description: 'The revision that it changes; 0: there was no such page.' },
  author: { type: 'string' },
  summary: { type: 'string', description: 'May be empty.' },
  state: { type: 'string', enum: STATES },
  proposed_at: TIME,
  closed_at: orNull(TIME),
  closed_by: { type: ['string', 'null'] },
  reason: { type: ['string', 'null'], description: 'Why it was declined.' },
  revision: { type: ['integer', 'null'], description: 'What it became; null: it was not published.' }
}
export const PROPOSED = {
  id: ID,
  url: `/api/v1/proposals/${ID}`,
  name: 'Handbook',
  base_revision: 2,
  author: 'Ana',
  summary: 'first words',
  state: 'open',
  proposed_at: '2026-01-01T10:00:00.000Z',
  closed_at: null,
  closed_by: null,
  reason: null,
  revision: null
}

export const PROPOSAL_SCHEMAS = Object.entries({
  Proposal: strict(PROPOSAL),
  ProposedText: strict({
    ...PROPOSAL,
    content: { type: 'string', description: 'Markdown; empty once it is published, or proposed again.' },
    tags: { type: ['array', 'null'], items: { type: 'string' }, description: 'null: the page keeps its tags.' }
  }),
  Published: strict({ name: NAME, revision: REVISION })
}).map(([$id, schema]) => ({ $id, ...schema }))

const params = { type: 'object', required: ['id'], properties: { id: { ...ID_SCHEMA, examples: [ID] } } }
const DONE = { 204: { description: 'It is closed', type: 'null' } }
const shared = { tags, security, params, querystring: queryOf({ space: OF_SPACE }) }

/** @type {Record<string, FastifySchema>} */
const SCHEMAS = {
  list: {
    tags,
    security,
    summary: 'List proposals',
    description: 'For administrators all that wait for a review, oldest first; for others their own, newest first, ' +
      'with what became of them.',
    querystring: partQuery({ space: OF_SPACE }),
    response: { 200: list('Proposals without their texts', 'Proposal', [PROPOSED]), ...refusals(404) }
  },
  read: {
    ...shared,
    summary: 'Read a proposal',
    description: 'Your own; administrators read all. Closed ones are kept for 90 days.',
    response: {
      200: answer('With its text', 'ProposedText', { ...PROPOSED, content: 'Snow.', tags: null }), ...refusals(404)
    }
  },
  publish: {
    ...shared,
    summary: 'Publish a proposal',
    description: 'For administrators. The text becomes a revision by its author, merged with edits made since. ' +
      '409: it is closed already, both changed the same lines, or the page is gone.',
    response: {
      200: answer('It is published', 'Published', { name: 'Handbook', revision: 3 }), ...refusals(404, 409, 422)
    }
  },
  decline: {
    ...shared,
    summary: 'Decline a proposal',
    description: 'For administrators.',
    body: bodyOf(DECLINE_PROPERTIES, ['reason'], { reason: 'not agreed yet' }),
    response: { ...DONE, ...refusals(404, 409) }
  },
  withdraw: {
    ...shared,
    summary: 'Withdraw a proposal',
    description: 'Your own.',
    response: { ...DONE, ...refusals(404, 409) }
  }
}

/** @param {FastifyRequest} request */
const knownIn = (request) => /** @type {Person} */ (personIn(request))

/** @param {FastifyRequest} request */
const idIn = ({ params }) => /** @type {{id: string}} */ (params).id

/** @type {FastifyPluginAsync<Pick<Services, 'proposing'> & {proposals: NonNullable<Services['proposals']>}>} */
export async function proposalApi (app, { proposals, proposing }) {
  const editor = { config: { role: 'editor', placed: true } }
  const admin = { config: { role: 'admin', placed: true } }
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', PRIVATE)
    done()
  })

  app.get('/proposals', { ...editor, schema: SCHEMAS.list }, async (request, reply) => {
    const part = { after: readCursor(request, POSITION), limit: limitIn(request) }
    return sendPart(request, reply, {
      cacheControl: PRIVATE,
      found: await proposals.list(knownIn(request), part),
      shown: factsOf,
      position: ({ _id: id }) => String(id)
    })
  })

  app.get('/proposals/:id', { ...editor, schema: SCHEMAS.read }, async (request) =>
    textOf(await proposals.find(idIn(request), knownIn(request))))

  app.post('/proposals/:id/publish', { ...admin, schema: SCHEMAS.publish }, async (request) => {
    const found = await proposals.find(idIn(request), knownIn(request))
    const result = await proposing.publish(found, knownIn(request))
    if (!('revision' in result)) throw new ProposalConflict()
    return { name: found.name, revision: result.revision }
  })

  app.post('/proposals/:id/decline', { ...admin, schema: SCHEMAS.decline }, async (request, reply) => {
    await proposals.decline(idIn(request), knownIn(request), declined(request.body))
    return reply.code(204).send()
  })

  app.post('/proposals/:id/withdraw', { ...editor, schema: SCHEMAS.withdraw }, async (request, reply) => {
    await proposals.withdraw(idIn(request), knownIn(request))
    return reply.code(204).send()
  })
}
