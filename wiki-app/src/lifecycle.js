import fp from 'fastify-plugin'
import { migrate } from './migrations/migrate.js'

/** Closing runs in the reverse order of registration. */
export const lifecycle = fp(
  /** @type {import('fastify').FastifyPluginAsync<{services: import('./services.js').Services}>} */
  async function lifecycle (app, { services }) {
    const { database, store, originCache, oldRevisions, renderer, purges, redis, replica, presence } = services
    app.addHook('onReady', () => database.connect(async (db) => {
      await services.refuseOtherForms(db)
      await migrate({ db, migrations: store.migrations, log: app.log })
    }))
    if (redis) app.addHook('onReady', redis.open).addHook('onClose', redis.close)
    if (replica) app.addHook('onReady', replica.open).addHook('onClose', replica.close)
    if (presence) app.addHook('onReady', presence.open).addHook('onClose', presence.close)
    if (originCache) app.addHook('onReady', originCache.open).addHook('onClose', originCache.close)
    app.addHook('onClose', database.close)
    app.addHook('onClose', oldRevisions.close)
    app.addHook('onClose', renderer.close).addHook('onClose', store.close)
    // Not awaited: the wiki is ready before its rendering thread.
    app.addHook('onListen', async () => {
      renderer.warm().catch((error) => { app.log.error(`nothing can be rendered: ${error.message}`) })
    })
    if (purges) app.addHook('onReady', purges.open).addHook('onClose', purges.close)
  }
)
