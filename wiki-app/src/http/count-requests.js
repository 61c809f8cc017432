import fp from 'fastify-plugin'
import { SECURITY_HEADERS } from './security-headers.js'

/** @import {Counter} from '../counter.js' */
/** @import {FastPath} from './fast-path.js' */

/** The fast path counts its own requests. */
export const countRequests = fp(
  /** @type {import('fastify').FastifyPluginAsync<{counter: Counter, fastPath: Pick<FastPath<any>, 'hasStarted'>}>} */
  async function countRequests (app, { counter, fastPath }) {
    app.addHook('onRequest', (request, reply, done) => {
      const { counted = true } = /** @type {{counted?: boolean}} */ (request.routeOptions.config)
      if (counted && !fastPath.hasStarted(request.raw)) counter.add(request.method)
      reply.headers(SECURITY_HEADERS)
      done()
    })
  }
)
