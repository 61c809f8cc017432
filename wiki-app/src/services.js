import { createSessions } from './access/sessions.js'
import { readUsers } from './access/users.js'
import { createFrontMatterReader } from './archive/front-matter-reader.js'
import { createImport } from './archive/import.js'
import { cachePolicy } from './caching/cache-policy.js'
import { tagsFor, urlsFor } from './caching/invalidation.js'
import { createOriginCache } from './caching/origin-cache.js'
import { createPurgeQueue } from './caching/purge-queue.js'
import { createDatabase } from './database/database.js'
import { defineFileModels } from './files/model.js'
import { createFileStore } from './files/store.js'
import { createRenderer, HTML_FACTOR_MAX } from './markdown/renderer.js'
import { createAuthorRevert } from './pages/author-revert.js'
import { createHistory } from './pages/history.js'
import { defineModels } from './pages/model.js'
import { createOldRevisions } from './pages/old-revisions.js'
import { createSearch } from './pages/search.js'
import { createPageStore } from './pages/store.js'
import { createAuthorsPool } from './threads/authors.js'

const MIB = 1_048_576

/** @typedef {ReturnType<typeof createServices>} Services */
/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('fastify').FastifyBaseLogger} Log */

/**
 * Creates what the routes work with. Nothing is connected or started yet: see lifecycle.js.
 * @param {Config} config
 * @param {Log} log
 * @param {object} parts
 * @param {import('./caching/purge-queue.js').Purge} [parts.purge]
 * @param {Partial<import('./caching/purge-queue.js').Timing>} [parts.timing]  of purges
 * @param {typeof import('./observe/metrics.js').createMetrics} [parts.createMetrics]
 * @param {typeof createRenderer} [parts.makeRenderer]
 * @param {typeof createOldRevisions} [parts.makeOldRevisions]
 */
export function createServices (config, log, parts) {
  const { createMetrics, makeRenderer = createRenderer, makeOldRevisions = createOldRevisions } = parts
  const users = config.USERS_FILE === undefined ? null : readUsers(config.USERS_FILE)
  const database = createDatabase(config.MONGODB_URI, log)
  const models = defineModels(database.connection)
  const metrics = createMetrics?.(database)
  const policy = policyOf(config)
  const purges = purgesOf(config, log, { ...parts, policy, connection: database.connection })

  const authors = createAuthorsPool()
  const rendering = makeRenderer({ maxBytes: config.PAGE_MAX_BYTES, pool: authors })
  const renderer = metrics ? metrics.timed(rendering) : rendering
  const pages = createPageStore({ models, renderer, outbox: purges, readsAtOnce: config.PAGE_READS_AT_ONCE, log })
  const store = metrics ? metrics.counted(pages) : pages
  const history = createHistory(models)
  return {
    users,
    sessions: users && whileAvailable(createSessions(database.connection, users), database),
    database,
    models,
    metrics,
    policy,
    purges,
    renderer,
    store,
    history,
    oldRevisions: makeOldRevisions({ history, store, htmlMaxBytes: HTML_FACTOR_MAX * config.PAGE_MAX_BYTES }),
    search: createSearch(models),
    files: createFileStore({ models: defineFileModels(database.connection), maxBytes: config.UPLOAD_MAX_BYTES }),
    originCache: originCacheOf(config, log, models, database.connection),
    authorRevert: createAuthorRevert({ models, store, history }),
    importFiles: createImport({
      store,
      maxBytes: config.PAGE_MAX_BYTES,
      frontMatter: createFrontMatterReader(authors),
      isUnavailable: database.isUnavailable,
      log
    })
  }
}

/** @param {Config} config */
const policyOf = (config) => cachePolicy(config.CACHE_POLICY, {
  ttlS: config.CACHE_TTL_S,
  staleWhileRevalidateS: config.CACHE_STALE_WHILE_REVALIDATE_S,
  staleIfErrorS: config.CACHE_STALE_IF_ERROR_S,
  cdnTtlS: config.CACHE_CDN_TTL_S
})

/**
 * @param {Config} config
 * @param {Log} log
 * @param {object} parts
 * @param {import('./caching/purge-queue.js').Purge} [parts.purge]
 * @param {Partial<import('./caching/purge-queue.js').Timing>} [parts.timing]
 * @param {import('./caching/cache-policy.js').CachePolicy} parts.policy
 * @param {import('mongoose').Connection} parts.connection
 */
const purgesOf = (config, log, { purge, timing, policy, connection }) => purge && createPurgeQueue({
  connection,
  purge,
  staleOf: policy.purgedBy === 'tags' ? tagsFor : urlsFor,
  log,
  timing: { repeatAfterMs: config.PURGE_REPEAT_AFTER_S * 1000, ...timing }
})

/**
 * @param {Config} config
 * @param {Log} log
 * @param {ReturnType<typeof defineModels>} models
 * @param {import('mongoose').Connection} connection
 * @returns {import('./caching/origin-cache.js').OriginCache<import('./pages/view.js').View> | undefined}
 */
const originCacheOf = ({ ORIGIN_CACHE_MIB: mib }, log, { Pages }, connection) => mib === 0
  ? undefined
  : createOriginCache({ connection, collection: Pages.collection.name, maxBytes: mib * MIB, log })

/**
 * @template {Record<string, (...args: any[]) => Promise<any>>} Parts
 * @param {Parts} parts
 * @param {import('./database/database.js').Database} database
 * @returns {Parts} the same functions, which fail at once while the database is away
 */
function whileAvailable (parts, database) {
  const guarded = Object.entries(parts).map(([name, part]) => [name, database.whileAvailable(part)])
  return /** @type {Parts} */ (Object.fromEntries(guarded))
}
