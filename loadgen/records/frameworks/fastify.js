import fastify from 'fastify'
import { BODY_MAX_BYTES } from '../record.js'

/** @type {import('./index.js').Make} https://fastify.dev/docs/latest/Reference/Server/ */
export async function createFastify (answers) {
  const app = fastify({ bodyLimit: BODY_MAX_BYTES, logger: false })
  app.removeContentTypeParser('text/plain')
  app.get('/empty', (_, reply) => { send(reply, answers.empty('reads')) })
  app.post('/empty', (_, reply) => { send(reply, answers.empty('writes')) })
  app.post('/records', async (request, reply) => {
    send(reply, await answers.post(request.body))
    return reply
  })
  app.get('/status/:id', (request, reply) => {
    send(reply, answers.status(/** @type {{id: string}} */ (request.params).id))
  })
  app.get('/stats', (_, reply) => { send(reply, answers.stats()) })
  app.setErrorHandler(refuse)
  await app.ready()
  return app.server
}

/**
 * @param {import('fastify').FastifyReply} reply
 * @param {import('../answers.js').Answer} answer
 */
const send = (reply, { status, headers = {}, body }) => { reply.code(status).headers(headers).send(body) }

/**
 * @param {any} error
 * @param {import('fastify').FastifyRequest} _
 * @param {import('fastify').FastifyReply} reply
 */
function refuse (error, _, reply) {
  const status = error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : 500
  send(reply, { status, body: { error: status === 500 ? 'internal error' : 'the body is no JSON of at most 16 KiB' } })
}
