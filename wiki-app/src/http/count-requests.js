import fp from 'fastify-plugin'
import { SECURITY_HEADERS } from './security-headers.js'

/**
 * Counts each request once, and adds the security headers to each response. The fast path counts the requests that it
 * starts.
 */
export const countRequests = fp(
  /**
   * @type {import('fastify').FastifyPluginAsync<{
   *   counter: import('../counter.js').Counter,
   *   fastPath: Pick<import('./fast-path.js').FastPath<any>, 'hasBegun'>
   * }>}
   */
  async function countRequests (app, { counter, fastPath }) {
    app.addHook('onRequest', (request, reply, done) => {
      const { counted = true } = /** @type {{counted?: boolean}} */ (request.routeOptions.config)
      if (counted && !fastPath.hasBegun(request.raw)) counter.add(request.method)
      reply.headers(SECURITY_HEADERS)
      done()
    })
  }
)
