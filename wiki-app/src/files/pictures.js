import { defineFileModels } from './model.js'
import { createRoom } from './room.js'
import { createFileStore } from './store.js'
import { claimPlaces } from './storage/places.js'
import { createStorages } from './storage/storages.js'
import { createSweeper } from './storage/sweeper.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Db} from 'mongodb' */
/** @import {Connection} from 'mongoose' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Config} from '../settings.js' */
/** @import {CreateS3} from './storage/storages.js' */

const MIB = 1_048_576

/**
 * @param {{config: Config, log: FastifyBaseLogger, connection: Connection, createS3?: CreateS3,
 *   later: Later, purges?: import('./store.js').Purges}} parts  `createS3`: where the settings name a bucket
 */
export function createPictures ({ config, log, connection, createS3, later, purges }) {
  const models = defineFileModels(connection)
  const storages = createStorages(config, { chunks: models.Chunks, createS3 })
  const room = createRoom(models, config.UPLOADS_MAX_MIB * MIB)
  const files = createFileStore({ models, storages, room, maxBytes: config.UPLOAD_MAX_BYTES, later, purges, log })
  const mayWrite = config.ACCESS !== 'read-only'
  const sweeper = createSweeper({ connection, models, storages, log })
  const upkeep = {
    /** @throws {Error} ConfigError where a place cannot be used */
    async open () {
      for (const storage of storages.all) await storage.check(mayWrite)
      if (mayWrite) sweeper.open()
    },

    /** The wiki shows its pages without a place that is away. @param {Db} db @throws {Error} ConfigError */
    claim: (db) => claimPlaces(db, storages, {
      mayWrite,
      onAway: (error, place) => log.warn({ err: error, place }, 'the place of pictures cannot be reached')
    }),

    async close () {
      await sweeper.close()
      for (const storage of storages.all) storage.close()
    }
  }
  return { files, upkeep }
}
