import Fastify from 'fastify'
import { access } from './access/access.js'
import { createClientKey, createNetworkKey } from './access/client.js'
import { createPasswordChecks } from './access/check-password.js'
import { signInRoutes } from './access/sign-in-routes.js'
import { writeLimit } from './access/write-limit.js'
import { apiRoutes } from './api/routes.js'
import { archiveOf } from './archive/export.js'
import { importRoutes } from './archive/routes.js'
import { assetRoutes } from './assets.js'
import { counterRoute, createCounter } from './counter.js'
import { crawlerRoutes } from './crawlers/routes.js'
import { pictureRoutes } from './files/picture-routes.js'
import { fileRoutes } from './files/routes.js'
import { loadS3 } from './files/storage/storages.js'
import { createConcurrencyLimits } from './http/concurrency-limits.js'
import { contentParsers } from './http/content-parsers.js'
import { countRequests } from './http/count-requests.js'
import { drainOnClose } from './http/drain.js'
import { createFastPath } from './http/fast-path.js'
import { healthRoutes } from './http/health.js'
import { limitHandlers } from './http/limit-handlers.js'
import { refuseConnectAndExpect } from './http/malformed-requests.js'
import { answerNotFound, createErrorHandler, recordRoutes, refuseOtherMethods } from './http/problem.js'
import { createReadiness } from './http/readiness.js'
import { requireBody } from './http/required-body.js'
import { refuseCrossSite } from './http/same-origin.js'
import { CONNECTIONS_MAX, PARAMETER_MAX_CHARS, serverOptions } from './http/server-options.js'
import { lifecycle } from './lifecycle.js'
import { loadMailer } from './mail/load.js'
import { BEGIN_URL } from './oidc/addresses.js'
import { loadProvider } from './oidc/load.js'
import { oidcRoutes } from './oidc/routes.js'
import { createUsedFlows } from './oidc/used-flows.js'
import { createObserver, observation } from './observe/observation.js'
import { createRequestIds } from './observe/request-log.js'
import { authorRevertRoutes } from './history/author-revert-routes.js'
import { changesRoutes } from './history/changes-routes.js'
import { editRoutes } from './writing/edit-routes.js'
import { eraseRoutes } from './history/erase-routes.js'
import { historyRoutes } from './history/history-routes.js'
import { accountRoutes } from './people/account-routes.js'
import { FORGOTTEN_URL } from './password-mail/addresses.js'
import { forgottenRoutes } from './password-mail/routes.js'
import { auditRoutes } from './people/audit-routes.js'
import { membersRoutes } from './people/members-routes.js'
import { protectionRoutes } from './protection/protection-routes.js'
import { offlineRoute } from './reading/offline-route.js'
import { createSavedNotice } from './reading/saved-notice.js'
import { shortLinkForms } from './short-links/short-link-forms.js'
import { SHORT_LINK_ROUTE, shortLinkRoute } from './short-links/short-link-route.js'
import { careRoutes } from './search/care-routes.js'
import { searchRoutes } from './search/search-routes.js'
import { present } from './site/site.js'
import { groupsRoutes } from './spaces/groups-routes.js'
import { spaceFilesRoutes } from './spaces/files-routes.js'
import { placed } from './spaces/placed.js'
import { spaceReadingRoutes } from './spaces/reading-routes.js'
import { spacesPlugin } from './spaces/plugin.js'
import { spacesRoutes } from './spaces/spaces-routes.js'
import { statusRoutes } from './status/status-routes.js'
import { watchingRoutes } from './watching/routes.js'
import { newPageRoute } from './writing/new-page-route.js'
import { treeRoute } from './reading/tree-route.js'
import { VIEW_ROUTES, viewRoute } from './reading/view-route.js'
import { purgeLogRoutes } from './purge-log/routes.js'
import { createServices } from './services.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Purge} from './caching/purge-batch.js' */
/** @import {Timing} from './caching/purge-queue.js' */
/** @import {Counter} from './counter.js' */
/** @import {ShowMetrics} from './observe/metrics.js' */
/** @import {Readiness} from './http/readiness.js' */
/** @import {Note} from './observe/request-log.js' */
/** @import {Services} from './services.js' */
/** @import {WikiProcess} from './status/report.js' */
/** @import {Config} from './settings.js' */

/** @typedef {import('./http/fast-path.js').FastPath<any>} FastPath */

/**
 * Starts without its database, too, and answers 503 until that is found.
 * @param {Config} config
 * @param {{purge?: Purge, timing?: Partial<Timing>}} [caches]
 * @param {{counter?: Counter, processes?: () => WikiProcess[], readiness?: Readiness, showMetrics?: ShowMetrics,
 *   logTo?: NodeJS.WritableStream, worker?: {number: number, primary: number}}} [shared]  of all processes: `counter`,
 *   `processes`
 * @param {import('./services.js').Replacements} [parts]  for tests
 * @returns {Promise<FastifyInstance>} `close` finishes requests in flight
 */
export async function buildApp (
  config,
  caches = {},
  { counter = createCounter(), processes = onlyProcess(), readiness = createReadiness(), ...others } = {},
  parts = {}
) {
  present(config)
  const requestIds = createRequestIds()
  const tracing = await tracingOf(config, (text) => app.log.warn(text))
  /** @type {FastPath} */
  const fastPath = createFastPath(
    { onStart: counter.add, around: tracing?.around }, { isOff: config.READ_ACCESS === 'members' })
  /** @type {typeof fastPath.serverFactory} */
  const serverFactory = (byFramework, options) =>
    fastPath.serverFactory(tracing ? tracing.following(byFramework) : byFramework, options)
  const app = Fastify(serverOptions({
    config,
    logTo: others.logTo ?? process.stderr,
    requestIds,
    serverFactory,
    onFrameworkError (error, request, reply) {
      counter.add(request.method)
      answerError(error, request, reply)
      observe?.(request, null, reply.statusCode, reply.elapsedTime)
    }
  }))
  app.server.maxConnections = CONNECTIONS_MAX
  refuseConnectAndExpect(app.server)
  // Closing runs in the reverse order: the last spans are sent, too.
  if (tracing) app.addHook('onClose', tracing.close)

  // prom-client makes the start slower.
  const observing = config.METRICS_PORT === undefined ? undefined : await import('./observe/metrics.js')
  const createS3 = await loadS3(config)
  const createMailer = await loadMailer(config)
  const services = createServices(config, app.log, {
    ...caches, ...parts, worker: others.worker, createMetrics: observing?.createMetrics, createS3, createMailer, tracing
  })
  const { database, metrics } = services
  const limits = limitsOf(config, tracing)
  const viewRoutes = [...VIEW_ROUTES, SHORT_LINK_ROUTE]
  const observe = createObserver(config, app.log, { requestIds, viewRoutes, metrics, tracing })
  const answerError = createErrorHandler(database.isUnavailable)

  const knownRoutes = recordRoutes(app)
  drainOnClose(app)
  await app.register(limitHandlers, { limits, database })
  // A taken metrics port stops the start before anything is connected.
  await app.register(observation, {
    observe,
    fastPath,
    metrics,
    showMetrics: others.showMetrics ?? observing?.createMetricsServer,
    host: config.METRICS_HOST,
    port: config.METRICS_PORT
  })
  await app.register(lifecycle, { services })
  await app.register(countRequests, { counter, fastPath })
  app.addHook('onRequest', refuseCrossSite)
  app.addHook('preValidation', requireBody)
  app.setErrorHandler(answerError).setNotFoundHandler(answerNotFound)

  await registerRoutes(app, { config, services, counter, processes, readiness, fastPath, observe, limits })
  await registerOthers(app, config, services)
  refuseOtherMethods(app, knownRoutes, { maxParamLength: PARAMETER_MAX_CHARS })
  await app.ready()
  return app
}

/** @param {Config} config @param {Awaited<ReturnType<typeof tracingOf>>} tracing */
function limitsOf (config, tracing) {
  const networkOf = createNetworkKey(config.TRUSTED_PROXIES)
  const limits = createConcurrencyLimits({
    waitMaxMs: config.QUEUE_WAIT_MAX_MS, processes: config.WORKERS, networkOf
  })
  return tracing ? tracing.waiting(limits) : limits
}

/**
 * @param {FastifyInstance} app
 * @param {{config: Config, services: Services, counter: Counter, processes: () => WikiProcess[], fastPath: FastPath,
 *   readiness: Readiness, observe?: Note, limits: import('./http/concurrency-limits.js').ConcurrencyLimits}} context
 */
async function registerRoutes (app, { config, services, counter, processes, readiness, fastPath, observe, limits }) {
  const { database, models, policy, purges, store, history, oldRevisions, search, files, privateSpaces } = services
  const secure = config.PUBLIC_URL?.startsWith('https:') ?? false
  const clientKey = createClientKey(config.TRUSTED_PROXIES)

  await app.register(writeLimit, { perMinute: config.WRITES_PER_MINUTE, clientKey, redis: services.redis })
  await registerAccess(app, config, services, secure)
  await app.register(contentParsers, { maxBytes: config.PAGE_MAX_BYTES })
  await app.register(healthRoutes, { database, readiness })
  await app.register(statusRoutes, { ...services, processes, file: config.STATUS_FILE })
  await app.register(counterRoute, { counter, presence: services.presence })
  await app.register(assetRoutes)
  await app.register(offlineRoute)
  const runNow = /** @type {typeof limits.runNow} */ (database.whileAvailable(limits.runNow))
  const quick = { fastPath, observe, isAvailable: database.isAvailable, runNow }
  await app.register(shortLinkRoute, { links: services.links, policy, ...quick })
  await app.register(viewRoute, {
    store,
    history,
    policy,
    home: config.HOME_PAGE,
    savedNotice: createSavedNotice({ policy, isPurged: purges?.isPurged }),
    cache: services.originCache,
    watch: services.purgeLogWatch,
    findSpace: privateSpaces?.finding.find,
    ...quick
  })
  await app.register(treeRoute, { store, policy })
  await app.register(newPageRoute, { store })
  for (const routes of [searchRoutes, careRoutes]) await app.register(routes, { store, search, policy })
  const { watching, digests } = services
  const editing = placed(editRoutes, privateSpaces?.inside)
  await app.register(editing, services)
  await app.register(shortLinkForms, { links: services.shortLinks, publicUrl: config.PUBLIC_URL })
  await app.register(historyRoutes, { store, history, oldRevisions, policy })
  await app.register(changesRoutes, { history, policy, publicUrl: config.PUBLIC_URL })
  await app.register(apiRoutes, {
    ...services,
    subscriptions: digests?.subscriptions,
    counter,
    pictures: files,
    pictureMaxBytes: config.UPLOAD_MAX_BYTES,
    archived: () => archiveOf(models, files)
  })
  await app.register(importRoutes, { importFiles: services.importFiles, importSlots: services.importSlots })
  await app.register(fileRoutes, { files, maxBytes: config.UPLOAD_MAX_BYTES, policy })
  await app.register(pictureRoutes, { files, search })
  const protecting = placed(protectionRoutes, privateSpaces?.inside)
  await app.register(protecting, services)
  await app.register(authorRevertRoutes, { authorRevert: services.authorRevert })
  if (watching) {
    const ownAddresses = services.passwordMail?.addresses
    await app.register(watchingRoutes, { watching, history, publicUrl: config.PUBLIC_URL, ...digests, ownAddresses })
  }
  await registerPeople(app, config, services, { clientKey, secure })
}

/**
 * @param {FastifyInstance} app @param {Config} config @param {Services} services @param {boolean} secure
 */
async function registerAccess (app, { ACCESS: mode, READ_ACCESS: readers }, services, secure) {
  const { users, sessions, privateSpaces } = services
  const spaces = privateSpaces?.finding
  await app.register(access, { mode, closed: readers === 'members', users, sessions, secure, spaces })
  if (spaces) await app.register(spacesPlugin, spaces)
}

/**
 * Where the wiki knows people by name.
 * @param {FastifyInstance} app @param {Config} config @param {Services} services
 * @param {{clientKey: (request: import('fastify').FastifyRequest) => string, secure: boolean}} options
 */
async function registerPeople (app, config, services, { clientKey, secure }) {
  const {
    users, sessions, members, audit, account, identities, erasure, passwordMail, proposals, privateSpaces
  } = services
  if (!users || !sessions || !members || !audit || !account || !identities || !erasure || !proposals ||
    !privateSpaces) return
  const { PUBLIC_URL: publicUrl, OIDC_NEW_PEOPLE: newRole } = config
  const provider = await loadProvider(config, app.log)
  const elsewhere = provider && { label: provider.label, url: BEGIN_URL }
  const passwords = createPasswordChecks(app, { users, clientKey, secure })
  const forgottenUrl = passwordMail && FORGOTTEN_URL
  await app.register(membersRoutes, { members, users, proposals, publicUrl, mail: passwordMail })
  await app.register(auditRoutes, { audit })
  await app.register(spacesRoutes, privateSpaces)
  await app.register(groupsRoutes, privateSpaces)
  await app.register(spaceReadingRoutes, { ...privateSpaces, policy: services.policy })
  await app.register(spaceFilesRoutes, { ...privateSpaces.files, maxBytes: config.UPLOAD_MAX_BYTES })
  await app.register(placed(eraseRoutes, privateSpaces.erasing), { erasure, users })
  await app.register(accountRoutes, { account, passwords, elsewhere, addresses: passwordMail?.addresses })
  await app.register(signInRoutes, { sessions, passwords, secure, elsewhere, forgottenUrl })
  if (passwordMail) {
    const networkKey = createNetworkKey(config.TRUSTED_PROXIES)
    await app.register(forgottenRoutes, { requests: passwordMail.requests, networkKey, elsewhere })
  }
  if (provider === undefined) return
  const usedFlows = createUsedFlows(services.database.connection)
  const ways = { elsewhere, forgottenUrl }
  await app.register(oidcRoutes, { provider, identities, usedFlows, sessions, secure, newRole, ...ways })
}

/**
 * What crawlers, and caches that follow the purge log, ask for.
 * @param {FastifyInstance} app @param {Config} config @param {Services} services
 */
async function registerOthers (app, { PUBLIC_URL: publicUrl }, services) {
  await app.register(crawlerRoutes, { sitemap: services.sitemap, publicUrl })
  await app.register(purgeLogRoutes, services)
}

/**
 * Traces cost nothing while they are off: no module of OpenTelemetry is loaded.
 * @param {Config} config @param {(text: string) => void} warn
 */
async function tracingOf (config, warn) {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined
  const { createTracing } = await import('./tracing/tracing.js')
  return createTracing(config, warn)
}

/** @returns {() => WikiProcess[]} */
function onlyProcess () {
  const since = new Date()
  return () => [{ number: 1, since, restarts: 0 }]
}
