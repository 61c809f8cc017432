import { answer, otherwise } from './schemas.js'

/** @import {Counter} from '../counter.js' */

const EXAMPLE = { epoch: '9b2f6c1e-4a0d-4f6e-8a57-2f1f0d7c3b11', count: { requests: 12, reads: 10, writes: 2 } }

/**
 * Totals that no reading resets: each reader subtracts its own former reading.
 * @type {import('fastify').FastifyPluginAsync<{counter: Counter}>}
 */
export async function counterApi (app, { counter }) {
  app.get('/counter', {
    config: { counted: false, database: false },
    schema: {
      tags: ['counter'],
      summary: 'Count the requests that reached the wiki',
      description: 'Counts since the epoch began, without readings of the counter and probes of health. ' +
        'Totals of two epochs cannot be subtracted. Several wikis count apart.',
      response: { 200: answer('The totals.', 'Counter', EXAMPLE), ...otherwise() }
    }
  }, async (_request, reply) => {
    const { instance, total } = await counter.read({ take: false })
    reply.header('cache-control', 'private, no-store')
    return { epoch: instance, count: total }
  })
}
