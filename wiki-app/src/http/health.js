/**
 * @type {import('fastify').FastifyPluginAsync<{
 *   database: import('../database/database.js').Database, readiness: import('./readiness.js').Readiness}>}
 */
export async function healthRoutes (app, { database, readiness }) {
  // Probes are not visitors.
  const config = { counted: false, forStrangers: true }

  app.get('/healthz', { config: { ...config, database: false } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })

  app.get('/readyz', { config }, async (_request, reply) => {
    await readiness.answer(database.ping)
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })
}
