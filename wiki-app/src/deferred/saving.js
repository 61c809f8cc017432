import mongoose from 'mongoose'
import { pageTag } from '../api/answers.js'
import { entityTag } from '../reading/document.js'
import { parseRedisUrl } from '../shared/address.js'
import { createSharedRedis } from '../shared/connection.js'
import { createDeferredLinks } from './deferred-links.js'
import { createDeferredSaves } from './deferred-saves.js'
import { createFailures } from './failures.js'
import { createKeep } from './keep.js'
import { warnOfLeftBehind } from './left-behind.js'
import { createSaveStatus } from './save-status.js'
import { createStrategy } from './strategy.js'
import { DEFERRED_STRATEGIES, WRITE_BEHIND } from './strategy-names.js'

/** @import {Database} from '../database/database.js' */
/** @import {Metrics} from '../observe/metrics.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {TagOf} from '../pages/preconditions.js' */
/** @import {Config} from '../settings.js' */
/** @import {SharedRedis} from '../shared/connection.js' */
/** @import {ShortLinks} from '../short-links/store.js' */
/** @import {Failures} from './failures.js' */

const MIB = 1_048_576

/**
 * @typedef {{config: Config, log: import('fastify').FastifyBaseLogger, database: Database}} Around
 * @typedef {{store: PageStore, renderer: {version: number}, models: Models, shortLinks: ShortLinks}} Stored
 * @typedef {Around & Stored & {metrics?: Metrics, redis?: SharedRedis}} Parts  `redis`: of limits
 * @param {Parts} parts
 */
export function createSaving (parts) {
  const failures = createFailures(parts.database.connection)
  const deferred = deferredOf({ ...parts, failures })
  if (deferred) parts.metrics?.addDeferred(deferred)
  const { redis, config, log } = parts
  if (redis && !deferred?.isShared) warnOfLeftBehind({ redis, database: databaseName(config.MONGODB_URI), log })
  return {
    failures,
    deferred,
    findStatus: createSaveStatus({ ...parts, failures, deferred }),
    /** For programs. */
    links: deferred?.links ? createDeferredLinks({ ...parts, waiting: deferred.links, failures }) : parts.shortLinks
  }
}

/** @param {Parts & {failures: Failures}} parts  undefined: each save is stored before its answer */
function deferredOf ({ config, log, store, shortLinks, renderer: { version: rendererVersion }, failures, database }) {
  const name = DEFERRED_STRATEGIES.find((name) => name === config.WRITE_STRATEGY)
  if (name === undefined) return undefined
  /** @type {TagOf} */
  const documentTag = (head) => entityTag(head, config.ACCESS)
  const { isUnavailable, isAvailable } = database
  const keep = createKeep({
    store, failures, rendererVersion, tagOfs: { document: documentTag, api: pageTag }, isUnavailable, isAvailable, log
  })
  const limits = { maxRecords: config.UNSAFE_RECORDS_MAX, maxBytes: config.UNSAFE_MIB_MAX * MIB }
  const strategy = createStrategy(name, { limits, keep, store, log }, () => ({
    redis: redisOf(config, log), database: databaseName(config.MONGODB_URI), failures, shortLinks, isAvailable
  }))
  log.warn(`WRITE_STRATEGY=${name}: saves of programs are answered before they are stored, and may be lost`)
  return createDeferredSaves({ name, strategy, isShared: name === WRITE_BEHIND, keep, store, rendererVersion })
}

/** @type {import('../shared/connection.js').Says} */
const SAYS = {
  first: 'saves wait in Redis until they are stored',
  back: 'Redis answers again: saves of programs are taken again',
  away: 'Redis is away: until it answers, saves of programs are refused'
}

/**
 * A connection of its own: a large save does not hold up what limits ask.
 * @param {Config} config @param {import('fastify').FastifyBaseLogger} log
 */
function redisOf ({ REDIS_URL: url = '' }, log) {
  const address = /** @type {import('../shared/address.js').RedisAddress} */ (parseRedisUrl(url))
  return createSharedRedis({ address, log, says: SAYS })
}

/** As the driver reads it; nothing is connected. @param {string} uri */
const databaseName = (uri) => new mongoose.mongo.MongoClient(uri).options.dbName
