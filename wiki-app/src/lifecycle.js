import fp from 'fastify-plugin'
import { ConfigError } from './config-error.js'
import { migrate } from './migrations/migrate.js'

/** Closing runs in the reverse order of registration. */
export const lifecycle = fp(
  /** @type {import('fastify').FastifyPluginAsync<{services: import('./services.js').Services}>} */
  async function lifecycle (app, { services }) {
    const { database, store, originCache, oldRevisions, renderer, purges, redis, replica, presence } = services
    const { pictureUpkeep, words, queue, deferred, failures, digests, purgeLogWatch, privateSpaces } = services
    app.addHook('onReady', pictureUpkeep.open)
    app.addHook('onReady', async () => {
      /** @type {unknown} */
      let refusal = null
      await database.connect(async (db) => {
        await services.refuseOtherForms(db)
        if (deferred) await failures.prepare(db)
        await migrate({ db, migrations: store.migrations, log: app.log })
        if (privateSpaces) {
          await privateSpaces.prepare()
          await migrate({ db, migrations: privateSpaces.migrations, log: app.log, records: 'space_migrations' })
        }
        await pictureUpkeep.claim(db).catch((error) => {
          if (error instanceof ConfigError) refusal = error
          throw error
        })
      })
      if (refusal === null) return
      await database.close()
      throw refusal
    })
    if (redis) app.addHook('onReady', redis.open).addHook('onClose', redis.close)
    if (replica) app.addHook('onReady', replica.open).addHook('onClose', replica.close)
    if (presence) app.addHook('onReady', presence.open).addHook('onClose', presence.close)
    if (originCache) app.addHook('onReady', originCache.open).addHook('onClose', originCache.close)
    if (purgeLogWatch) app.addHook('onReady', purgeLogWatch.open).addHook('onClose', purgeLogWatch.close)
    app.addHook('onClose', database.close).addHook('onClose', pictureUpkeep.close)
    app.addHook('onReady', async () => { words.open() }).addHook('onClose', words.close)
    app.addHook('onClose', oldRevisions.close)
    if (privateSpaces) app.addHook('onClose', privateSpaces.close)
    app.addHook('onClose', renderer.close).addHook('onClose', store.close)
    // Not awaited: the wiki is ready before its rendering thread.
    app.addHook('onListen', async () => {
      renderer.warm().catch((error) => { app.log.error(`nothing can be rendered: ${error.message}`) })
    })
    app.addHook('onReady', queue.open).addHook('onClose', queue.close)
    if (digests) app.addHook('onReady', digests.open).addHook('onClose', digests.close)
    if (purges) app.addHook('onReady', purges.open).addHook('onClose', purges.close)
    if (deferred) {
      // What waits is stored while the last requests are answered; then, with all else open, what these brought.
      app.addHook('preClose', async () => deferred.hurry())
      app.addHook('onReady', deferred.open).addHook('onClose', deferred.close)
    }
  }
)
