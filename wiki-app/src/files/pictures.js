import { createSemaphore } from '../http/semaphore.js'
import { openKinds } from './kinds.js'
import { createRoom } from './room.js'
import { createFileStore } from './store.js'
import { claimPlaces } from './storage/places.js'
import { createSweeper } from './storage/sweeper.js'
import { createMaker } from './thumbnails/maker.js'
import { createThumbnails } from './thumbnails/thumbnails.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Db} from 'mongodb' */
/** @import {Connection} from 'mongoose' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Config} from '../settings.js' */
/** @import {Within} from './insert.js' */
/** @import {CreateS3} from './storage/storages.js' */

const MIB = 1_048_576
/** Each buffers a megabyte while its client sends: 30 s at most. */
const ARRIVING_MAX = 16

/**
 * @param {{config: Config, log: FastifyBaseLogger, connection: Connection, createS3?: CreateS3,
 *   later: Later, purges?: import('./store.js').Purges}} parts  `createS3`: where the settings name a bucket
 */
export function createPictures ({ config, log, connection, createS3, later, purges }) {
  const kinds = openKinds(connection, config, createS3)
  const [open, apart] = kinds
  const { storages } = open
  const shared = {
    room: createRoom(kinds.map(({ models }) => models), config.UPLOADS_MAX_MIB * MIB),
    uploads: createSemaphore(ARRIVING_MAX),
    maxBytes: config.UPLOAD_MAX_BYTES,
    later,
    log
  }
  const mayWrite = config.ACCESS !== 'read-only'
  const maker = mayWrite ? createMaker({ log }) : null
  const [thumbnails, apartThumbnails] = kinds.map(({ models }) => createThumbnails(models, log, maker))
  const files = createFileStore({ ...shared, ...open, thumbnails, purges })
  const sweeper = createSweeper({ connection, kinds, log })
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
      maker?.close()
      await Promise.all([sweeper.close(), thumbnails.settled(), apartThumbnails.settled()])
      for (const { storages: { all } } of kinds) for (const storage of all) storage.close()
    }
  }
  const ofSpaces = {
    models: apart.models,
    /** No cache has them. @param {Within} within */
    storeIn: (within) => createFileStore({ ...shared, ...apart, thumbnails: apartThumbnails, within })
  }
  return { files, upkeep, ofSpaces }
}

/** @typedef {ReturnType<typeof createPictures>['ofSpaces']} PicturesOfSpaces */
