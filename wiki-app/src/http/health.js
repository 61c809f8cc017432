/** @type {import('fastify').FastifyPluginAsync<{database: import('../database/database.js').Database}>} */
export async function healthRoutes (app, { database }) {
  // Probes are not visitors.
  const config = { counted: false, forStrangers: true }

  app.get('/healthz', { config: { ...config, database: false } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })

  app.get('/readyz', { config }, async (_request, reply) => {
    await database.ping()
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })
}
