import Fastify from 'fastify'
import { access } from './access/access.js'
import { createClientKey } from './access/client.js'
import { createSessions } from './access/sessions.js'
import { signInRoutes } from './access/sign-in-routes.js'
import { readUsers } from './access/users.js'
import { writeLimit } from './access/write-limit.js'
import { createAdmission } from './admission.js'
import { apiRoutes } from './api/routes.js'
import { createFrontMatterReader } from './archive/front-matter-reader.js'
import { createImport } from './archive/import.js'
import { pageFiles } from './archive/page-files.js'
import { assetRoutes } from './assets.js'
import { cachePolicy } from './cache-policy.js'
import { counterRoute, createCounter } from './counter.js'
import { createDatabase } from './database.js'
import { drainOnClose } from './drain.js'
import { defineFileModels } from './files/model.js'
import { fileRoutes } from './files/routes.js'
import { createFileStore } from './files/store.js'
import { healthRoutes } from './health.js'
import { tagsFor, urlsFor } from './invalidation.js'
import { answerMalformed, refuseUnheard } from './malformed.js'
import { createRenderer, HTML_FACTOR_MAX } from './markdown/renderer.js'
import { createRequestIds, createRequestLog, logController } from './observe/request-log.js'
import { createAnswerFirst } from './pages/answer-first.js'
import { authorRevertRoutes } from './pages/author-revert-routes.js'
import { createAuthorRevert } from './pages/author-revert.js'
import { contentParsers } from './pages/content-parsers.js'
import { editRoutes } from './pages/edit-routes.js'
import { createFinding } from './pages/finding.js'
import { findingRoutes } from './pages/finding-routes.js'
import { createHistory } from './pages/history.js'
import { historyRoutes } from './pages/history-routes.js'
import { defineModels } from './pages/model.js'
import { createOriginCache } from './pages/origin-cache.js'
import { createPast } from './pages/past.js'
import { createSavedNotice } from './pages/saved-notice.js'
import { createPageStore } from './pages/store.js'
import { VIEW_ROUTE, viewRoute } from './pages/view-route.js'
import { answerNotFound, createErrorHandler, noteRoutes, refuseOtherMethods } from './problem.js'
import { createPurgeQueue } from './purge-queue.js'
import { requireBody } from './required-body.js'
import { refuseCrossSite } from './same-origin.js'
import { SECURITY_HEADERS } from './security-headers.js'
import { createAuthorsPool } from './threads/authors.js'
import { compilersFactory } from './validation.js'

/** Percent-encoding, JSON escapes and form encoding make a text longer; its own length is checked after decoding. */
const ENCODED_BODY_FACTOR = 3
/** Longer than the header section may be, so that a page name's own rule is the one that refuses it. */
const PARAMETER_MAX_CHARS = 20_000
/** As nginx holds; a connection without a request takes a few kB. */
const CONNECTIONS_MAX = 12_288
const MIB = 1_048_576
const LOGS_REQUESTS = new Set(['info', 'debug', 'trace'])

/**
 * The wiki, ready to `listen` or `inject`. It starts without its database, too: until that is found it answers 503.
 * @param {import('./config.js').Config} config
 * @param {object} [caches]  in front of the wiki, which knows none of them
 * @param {import('./purge-queue.js').Purge} [caches.purge]  makes them forget
 * @param {Partial<import('./purge-queue.js').Timing>} [caches.timing]
 * @param {object} [others]  processes that answer for the same wiki
 * @param {import('./counter.js').Counter} [others.counter]  of all of them
 * @param {import('./observe/metrics.js').ShowMetrics} [others.showMetrics]  else on a port of their own
 * @param {NodeJS.WritableStream} [others.logTo]
 * @param {object} [parts]
 * @param {typeof createRenderer} [parts.makeRenderer]  of another version, as tests have it
 * @param {typeof createPast} [parts.makePast]
 * @returns {Promise<import('fastify').FastifyInstance>}  `close` finishes what is in flight and then leaves the database
 */
export async function buildApp (
  config,
  { purge, timing } = {},
  { counter = createCounter(), showMetrics, logTo = process.stderr } = {},
  { makeRenderer = createRenderer, makePast = createPast } = {}
) {
  const users = config.USERS_FILE === undefined ? null : readUsers(config.USERS_FILE)
  const secure = config.PUBLIC_URL?.startsWith('https:') ?? false
  const clientKey = createClientKey(config.TRUSTED_PROXIES)
  const requestIds = createRequestIds()
  // Loaded only with METRICS_PORT: loading prom-client makes the start slower.
  const observing = config.METRICS_PORT === undefined ? undefined : await import('./observe/metrics.js')
  /** @type {import('./pages/answer-first.js').AnswerFirst<import('./pages/view.js').View | null>} */
  const first = createAnswerFirst({ begun: counter.add })

  const app = Fastify({
    // Standard output is for the one line that says where the wiki listens.
    logger: { level: config.LOG_LEVEL, stream: logTo },
    // Hardly any request logs a line, so making a logger for each would be wasted.
    childLoggerFactory: (logger) => logger,
    logController,
    genReqId: requestIds,
    serverFactory: first.serverFactory,
    bodyLimit: ENCODED_BODY_FACTOR * config.PAGE_MAX_BYTES,
    // nginx keeps idle connections for 600 s; whoever closes first must not be the one who does not know of the next request.
    keepAliveTimeout: 660_000,
    requestTimeout: 30_000,
    // The first start on a large database waits for its indexes to be built.
    pluginTimeout: 300_000,
    return503OnClosing: false,
    trustProxy: false,
    routerOptions: { maxParamLength: PARAMETER_MAX_CHARS },
    // A schema refuses what it does not describe; nothing is quietly dropped or converted.
    // That the schemas themselves are well made is tested, and need not be found out at each start.
    schemaController: { compilersFactory },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, validateSchema: false } },
    clientErrorHandler: answerMalformed,
    // For URLs that cannot be decoded no hook runs.
    frameworkErrors: (error, request, reply) => {
      const ownReply = /** @type {import('fastify').FastifyReply} */ (/** @type {unknown} */ (reply))
      counter.add(request.method)
      answerError(error, request, ownReply)
      watch?.(request, null, ownReply.statusCode, ownReply.elapsedTime)
    }
  })
  app.server.maxConnections = CONNECTIONS_MAX
  refuseUnheard(app.server)

  const database = createDatabase(config.MONGODB_URI, app.log)
  const models = defineModels(database.connection)
  const metrics = observing?.createMetrics(database)
  const authors = createAuthorsPool()
  const rendering = makeRenderer({ maxBytes: config.PAGE_MAX_BYTES, pool: authors })
  const renderer = metrics ? metrics.timed(rendering) : rendering
  const policy = cachePolicy(config.CACHE_POLICY, {
    ttlS: config.CACHE_TTL_S, staleWhileRevalidateS: config.CACHE_STALE_WHILE_REVALIDATE_S, staleIfErrorS: config.CACHE_STALE_IF_ERROR_S, cdnTtlS: config.CACHE_CDN_TTL_S
  })
  const purges = purge && createPurgeQueue({
    connection: database.connection,
    purge,
    staleOf: policy.purgedBy === 'tags' ? tagsFor : urlsFor,
    log: app.log,
    timing: { repeatAfterMs: config.PURGE_REPEAT_AFTER_S * 1000, ...timing }
  })
  const pages = createPageStore({
    models, renderer, outbox: purges, readsAtOnce: config.PAGE_READS_AT_ONCE, log: app.log
  })
  const store = metrics ? metrics.counted(pages) : pages
  /** @type {import('./pages/origin-cache.js').OriginCache<import('./pages/view.js').View> | undefined} */
  const cache = config.ORIGIN_CACHE_MIB === 0
    ? undefined
    : createOriginCache({ connection: database.connection, collection: models.Pages.collection.name, maxBytes: config.ORIGIN_CACHE_MIB * MIB, log: app.log })
  const sessions = users && whilePresent(createSessions(database.connection, users), database)
  const history = createHistory(models)
  const frontMatter = createFrontMatterReader(authors)
  const past = makePast({ history, store, htmlMaxBytes: HTML_FACTOR_MAX * config.PAGE_MAX_BYTES })
  const finding = createFinding(models)
  const files = createFileStore({ models: defineFileModels(database.connection), maxBytes: config.UPLOAD_MAX_BYTES })
  const answerError = createErrorHandler(database.isUnavailable)
  const knownRoutes = noteRoutes(app)
  const watchers = [
    ...LOGS_REQUESTS.has(config.LOG_LEVEL)
      ? [createRequestLog(app.log, { idOf: requestIds, viewRoute: VIEW_ROUTE, viewsPerS: config.LOG_VIEWS_PER_S })]
      : [],
    ...metrics ? [metrics.observe] : []
  ]
  /** @type {import('./observe/request-log.js').Note | undefined} */
  const watch = watchers.length === 0
    ? undefined
    : (request, route, status, durationMs) => { for (const note of watchers) note(request, route, status, durationMs) }

  const admission = createAdmission({ waitMaxMs: config.QUEUE_WAIT_MAX_MS })

  drainOnClose(app)
  // Routes that need no database answer without one. All others take their turn first and check for the database
  // then, as a request that waits has not begun.
  app.addHook('onRoute', (route) => {
    /** @typedef {import('fastify').RouteHandlerMethod} Handler */
    const { database: needed = true, ownPlaces = false, isCostly = false } =
      /** @type {{database?: boolean, ownPlaces?: boolean, isCostly?: boolean}} */ (route.config ?? {})
    if (!needed) return
    const handler = /** @type {Handler} */ (database.whilePresent(route.handler))
    // A handler that reads a body while it arrives would hold a place for as long as its client likes.
    route.handler = ownPlaces ? handler : admission.inTurn(handler, { isCostly })
  })
  if (observing && metrics && config.METRICS_PORT !== undefined) {
    metrics.addProcess()
    const show = showMetrics ?? observing.createMetricsServer
    const server = show(metrics, { host: config.METRICS_HOST, port: config.METRICS_PORT })
    app.addHook('onReady', server.open)
    app.addHook('onClose', server.close)
  }
  app.addHook('onReady', () => database.connect(store.upgrade))
  if (cache) app.addHook('onReady', cache.open).addHook('onClose', cache.close)
  app.addHook('onClose', database.close)
  app.addHook('onClose', past.close)
  app.addHook('onClose', renderer.close).addHook('onClose', store.close)
  // After listening, and not awaited: the wiki is ready before its rendering thread.
  app.addHook('onListen', async () => {
    renderer.warm().catch((error) => { app.log.error(`nothing can be rendered: ${error.message}`) })
  })
  if (purges) app.addHook('onReady', purges.open).addHook('onClose', purges.close)
  app.addHook('onRequest', (request, reply, done) => {
    const { counted = true } = /** @type {{counted?: boolean}} */ (request.routeOptions.config)
    if (counted && !first.hasBegun(request.raw)) counter.add(request.method)
    reply.headers(SECURITY_HEADERS)
    done()
  })
  if (watch) {
    app.addHook('onResponse', (request, reply, done) => {
      watch(request, request.routeOptions.url ?? null, reply.statusCode, first.leadOf(request.raw) + reply.elapsedTime)
      done()
    })
  }
  app.addHook('onRequest', refuseCrossSite)
  app.addHook('preValidation', requireBody)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerNotFound)

  await app.register(writeLimit, { perMinute: config.WRITES_PER_MINUTE, clientKey })
  await app.register(access, { mode: config.ACCESS, users, sessions, secure })
  await app.register(contentParsers, { maxBytes: config.PAGE_MAX_BYTES })
  await app.register(healthRoutes, { database })
  await app.register(counterRoute, { counter })
  await app.register(assetRoutes)
  await app.register(viewRoute, {
    store,
    policy,
    savedNotice: createSavedNotice({ policy, isTold: purges?.isTold }),
    cache,
    first,
    watch,
    isPresent: database.isPresent,
    atOnce: /** @type {typeof admission.atOnce} */ (database.whilePresent(admission.atOnce))
  })
  await app.register(findingRoutes, { finding, policy })
  await app.register(editRoutes, { store, history, past, waitUntilTold: purges?.waitUntilTold })
  await app.register(historyRoutes, { store, history, past, policy })
  await app.register(apiRoutes, {
    store,
    history,
    past,
    finding,
    policy,
    pictures: files,
    pictureMaxBytes: config.UPLOAD_MAX_BYTES,
    files: () => pageFiles(models),
    importFiles: createImport({
      store, maxBytes: config.PAGE_MAX_BYTES, frontMatter, isUnavailable: database.isUnavailable, log: app.log
    })
  })
  await app.register(fileRoutes, { files, maxBytes: config.UPLOAD_MAX_BYTES, policy })
  await app.register(authorRevertRoutes, { authorRevert: createAuthorRevert({ models, store, history }) })
  if (users && sessions) await app.register(signInRoutes, { users, sessions, clientKey, secure })
  refuseOtherMethods(app, knownRoutes, { maxParamLength: PARAMETER_MAX_CHARS })

  await app.ready()
  return app
}

/**
 * @template {Record<string, (...args: any[]) => Promise<any>>} Parts
 * @param {Parts} parts
 * @param {import('./database.js').Database} database
 * @returns {Parts} the same, not waiting for a database that is away
 */
function whilePresent (parts, database) {
  return /** @type {Parts} */ (Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, database.whilePresent(part)])))
}
