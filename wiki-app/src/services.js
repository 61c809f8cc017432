import { createSessions } from './access/sessions.js'
import { readUsers } from './access/users.js'
import { createFrontMatterReader } from './archive/front-matter-reader.js'
import { createImport } from './archive/import.js'
import { createRelink } from './archive/relink.js'
import { isFollowed } from './caching/cache-policy.js'
import { createCaching } from './caching/caching.js'
import { createOriginCache } from './caching/origin-cache.js'
import { PURGE } from './caching/purge-entries.js'
import { createSitemap } from './crawlers/sitemap.js'
import { createDatabase } from './database/database.js'
import { whileAvailable } from './database/while-available.js'
import { createSaving } from './deferred/saving.js'
import { createDigests } from './digest/digests.js'
import { createPictures } from './files/pictures.js'
import { createSemaphore } from './http/semaphore.js'
import { createRenderer, HTML_FACTOR_MAX } from './markdown/renderer.js'
import { createAuthorRevert } from './history/author-revert.js'
import { createErasure } from './history/erasure.js'
import { createHistory } from './history/history.js'
import { createMergeSave } from './writing/merge-save.js'
import { createSections } from './writing/sections.js'
import { createHistories } from './pages/histories.js'
import { defineModels } from './pages/model.js'
import { createOldRevisions } from './history/old-revisions.js'
import { createQueue } from './queue/queue.js'
import { createSearch } from './search/search.js'
import { createPageStore } from './pages/store.js'
import { createGuard } from './protection/guard.js'
import { defineRules } from './protection/model.js'
import { createProtections } from './protection/protections.js'
import { defineProposals } from './proposals/model.js'
import { createProposals } from './proposals/proposals.js'
import { createProposing } from './proposals/saving.js'
import { peopleOf } from './people/people.js'
import { WRITE_STRATEGIES } from './pages/commit.js'
import { redisOf, replicaOf } from './shared/connections.js'
import { createPresence } from './shared/presence.js'
import { redisLevel } from './short-links/levels.js'
import { defineShortLinks } from './short-links/model.js'
import { createShortLinks } from './short-links/store.js'
import { beginSpaces, createSpaceServices } from './spaces/services.js'
import { createAuthorsPool } from './threads/authors.js'
import { createFanOut } from './watching/fan-out.js'
import { createWords } from './words/words.js'

/** @import {Connection} from 'mongoose' */
/** @import {Purge} from './caching/purge-batch.js' */
/** @import {Timing} from './caching/purge-queue.js' */
/** @import {Database} from './database/database.js' */
/** @import {CreateS3} from './files/storage/storages.js' */
/** @import {History} from './history/history.js' */
/** @import {createMailer} from './mail/mailer.js' */
/** @import {createMetrics} from './observe/metrics.js' */
/** @import {Models} from './pages/model.js' */
/** @import {PageStore} from './pages/store.js' */
/** @import {PurgeLog} from './purge-log/entries.js' */
/** @import {Work} from './queue/worker.js' */
/** @import {SharedRedis} from './shared/connection.js' */
/** @import {Config} from './settings.js' */
/** @import {Tracing} from './tracing/tracing.js' */
/** @import {FanOut} from './watching/fan-out.js' */

const MIB = 1_048_576
const IMPORTS_MAX = 2

/** @typedef {ReturnType<typeof createServices>} Services */
/** @typedef {import('fastify').FastifyBaseLogger} Log */

/**
 * @typedef {object} Parts
 * @property {Purge | Record<string, Purge>} [purge]  by API if there are several
 * @property {Partial<Timing>} [timing]
 * @property {typeof createMetrics} [createMetrics]
 * @property {Tracing} [tracing]
 * @property {CreateS3} [createS3]
 * @property {typeof createMailer} [createMailer]
 * @property {{number: number, primary: number}} [worker]  of several processes of one wiki
 * @property {boolean} [asksSpaces]  for private spaces, where the settings need not say that the wiki has them
 */

/** What tests and benchmarks replace. */
const OWN = {
  makeRenderer: createRenderer,
  makeOldRevisions: createOldRevisions,
  makeSessions: createSessions,
  makeDigests: createDigests,
  makeAuthorsPool: createAuthorsPool
}

/**
 * Connects and starts nothing: see lifecycle.js.
 * @typedef {Partial<typeof OWN>} Replacements
 * @param {Config} config @param {Log} log @param {Parts & Replacements} parts
 */
export function createServices (config, log, parts) {
  const made = { ...OWN, ...parts }
  const { createMetrics, tracing, makeRenderer, makeOldRevisions, makeAuthorsPool } = made
  const file = config.USERS_FILE === undefined ? null : readUsers(config.USERS_FILE)
  const database = createDatabase(config.MONGODB_URI, log, {
    poolMax: config.DATABASE_POOL_MAX, readConcern: readConcernOf(config), commands: tracing?.commands
  })
  const { connection } = database
  const models = defineModels(connection)
  const metrics = createMetrics?.(database)
  const [redis, replica] = [redisOf(config, log), replicaOf(config, log)]
  const caching = createCaching(config, log, { ...parts, connection })
  const { purges, purgeLog } = caching
  const authors = makeAuthorsPool()
  const rendering = makeRenderer({ maxBytes: config.PAGE_MAX_BYTES, pool: authors })
  const renderer = watched(rendering, metrics?.timed, tracing?.rendering)
  const { shortLinks, refuseOtherForms } = shortLinksOf(config, { models, connection, redis, replica, tracing })
  const { guard, begun } = guardsOf(config, database, parts)
  const stored = { models, renderer, shortLinks, guard: begun?.guards.ofPublic, log, ...ofCaching(caching) }
  const { pages, queue, later, fanOut, works } = pagesOf(stored, { purgeLog, database, config, tracing })
  const store = watched(pages, metrics?.counted, tracing?.changing)
  const saving = createSaving({ config, log, store, shortLinks, renderer, models, database, redis, metrics })
  const history = createHistory(models, createHistories(models))
  const people = peopleOf(file, { ...made, fanOut, spaces: begun, config, log, database, models, history })
  metrics?.addParts({ redis, queue, mail: people.digests, purges })
  const pictures = createPictures({ config, log, connection, createS3: parts.createS3, later, purges: stored.purges })
  const ofSpaces = { config, database, purges: stored.purges, later, people, renderer, log, pool: authors }
  const privateSpaces = spacesOf(begun, works, { ...ofSpaces, publicModels: models, makeOldRevisions, pictures })
  return {
    ...people,
    privateSpaces,
    database,
    models,
    metrics,
    ...caching,
    queue,
    redis,
    replica,
    presence: redis && createPresence({ redis }),
    shortLinks,
    refuseOtherForms,
    renderer,
    store,
    ...saving,
    history,
    ...pastOf(people, { makeOldRevisions, config, history, store, models, later, purges: stored.purges, database }),
    ...editingOf({ store, history, pool: authors }, protectionsOf(people, { guard, models, database })),
    ...searchOf(config, log, { models, connection: database.connection, worker: parts.worker, metrics }),
    files: pictures.files,
    pictureUpkeep: pictures.upkeep,
    sitemap: createSitemap(models),
    originCache: originCacheOf(config, log, models, database.connection),
    authorRevert: createAuthorRevert({ models, store, history }),
    importSlots: createSemaphore(IMPORTS_MAX),
    importFiles: importOf(config, authors, {
      store, pictures: pictures.files, isUnavailable: database.isUnavailable, log
    })
  }
}

/** @param {Config} config @param {Database} database @param {Pick<Parts, 'asksSpaces'>} parts */
function guardsOf ({ ACCESS: mode }, database, { asksSpaces = false }) {
  const guard = mode === 'users' ? createGuard(defineRules(database.connection)) : undefined
  return { guard, begun: guard || asksSpaces ? beginSpaces(database, guard) : undefined }
}

/**
 * @param {import('./spaces/services.js').Begun | undefined} begun @param {Record<string, Work>} works  of the queue
 * @param {Parameters<typeof createSpaceServices>[1]} parts
 */
function spacesOf (begun, works, parts) {
  const privateSpaces = begun && parts.people.audit ? createSpaceServices(begun, parts) : undefined
  Object.assign(works, privateSpaces?.works)
  return privateSpaces
}

/**
 * Old texts, and where the wiki knows people by name, their end.
 * @param {{audit: import('./people/audit.js').Audit | null}} people
 * @param {Omit<Parameters<typeof createErasure>[0], 'audit' | 'forget'> &
 *   Omit<Parameters<typeof createOldRevisions>[0], 'htmlMaxBytes'> & {config: Config, database: Database} &
 *   Pick<typeof OWN, 'makeOldRevisions'>} parts
 */
function pastOf ({ audit }, { makeOldRevisions, config, history, store, models, later, purges, database }) {
  const oldRevisions = makeOldRevisions({ history, store, htmlMaxBytes: HTML_FACTOR_MAX * config.PAGE_MAX_BYTES })
  const ofErasure = { models, later, purges, forget: oldRevisions.forget }
  return { oldRevisions, erasure: audit && whileAvailable(createErasure({ ...ofErasure, audit }), database) }
}

/**
 * @param {Pick<ReturnType<typeof peopleOf>, 'audit' | 'users'>} people
 * @param {{guard?: import('./protection/guard.js').Guard, models: Models, database: Database}} parts
 * @returns {Protecting} null: the wiki knows nobody by name
 */
function protectionsOf ({ audit, users }, { guard, models, database }) {
  if (!guard || !audit || !users) return { protections: null, proposals: null }
  const { isInFile } = users
  const { connection } = database
  const proposals = createProposals({ connection, model: defineProposals(connection), audit, isInFile })
  return {
    protections: whileAvailable(createProtections({ models, guard, audit, isInFile }), database),
    proposals: whileAvailable(proposals, database)
  }
}

/**
 * @typedef {{protections: import('./protection/protections.js').Protections | null,
 *   proposals: import('./proposals/proposals.js').Proposals | null}} Protecting
 * @param {Parameters<typeof createMergeSave>[0] & Parameters<typeof createSections>[0] & {store: PageStore}} parts
 * @param {Protecting} protecting
 */
function editingOf (parts, protecting) {
  const mergeSave = createMergeSave(parts)
  const proposing = createProposing({ store: parts.store, mergeSave, proposals: protecting.proposals })
  return { ...protecting, mergeSave, proposing, sections: createSections(parts) }
}

/**
 * @param {Config} config @param {ReturnType<typeof createAuthorsPool>} authors
 * @param {Omit<Parameters<typeof createImport>[0], 'maxBytes' | 'frontMatter' | 'relink'>} parts
 */
const importOf = ({ PAGE_MAX_BYTES: maxBytes }, authors, parts) => createImport({
  ...parts, maxBytes, frontMatter: createFrontMatterReader(authors), relink: createRelink({ authors, maxBytes })
})

/**
 * @template T @param {T} part @param {(((part: NoInfer<T>) => NoInfer<T>) | undefined)[]} watchers
 * @returns {T} of the same interface
 */
const watched = (part, ...watchers) => watchers.reduce((inner, watch) => watch ? watch(inner) : inner, part)

/**
 * The store leaves work to the queue, which asks the store to do it.
 * @param {Omit<Parameters<typeof createPageStore>[0], 'later' | 'readsAtOnce'> & {log: Log}} parts
 * @param {{purgeLog?: PurgeLog, database: Database, config: Config, tracing?: Tracing}} others
 */
function pagesOf (parts, { purgeLog, database: { connection, isUnavailable }, config, tracing }) {
  /** @type {Record<string, Work>} */
  const works = {}
  const ofQueue = {
    connection, works, elsewhere: [PURGE], isUnavailable, log: parts.log, during: tracing?.processing
  }
  const queue = watched(createQueue(ofQueue), tracing?.sending)
  const fanOut = fanOutOf(config, { connection, models: parts.models })
  const later = purgeLog ? purgeLog.before(queue.add) : queue.add
  const pages = createPageStore({ ...parts, ...storeSettingsOf(config, tracing), later, fanOut: fanOut?.add })
  Object.assign(works, pages.works, fanOut?.works)
  return { pages, queue, later, fanOut, works }
}

/** @param {Config} config @param {{connection: Connection, models: Models}} parts @returns {FanOut | undefined} */
const fanOutOf = ({ WATCH_FAN_OUT: way }, { connection, models }) =>
  way === 'on-read' ? undefined : createFanOut({ connection, models, way })

/** @param {ReturnType<typeof createCaching>} caching */
const ofCaching = ({ purges, purgeLog, readAfter }) => ({ purges: purgeLog?.purges ?? purges, readAfter })

/** What a failover rolls back is in no log, so no cache that follows the log may have it. @param {Config} config */
const readConcernOf = ({ CACHE_POLICY: policy }) => isFollowed(policy) ? 'majority' : undefined

/** @param {Config} config @param {Tracing} [tracing] */
const storeSettingsOf = (config, tracing) => ({
  saving: {
    // The others are for programs that save, alone: a person sees what he has saved.
    strategy: WRITE_STRATEGIES.find((name) => name === config.WRITE_STRATEGY) ?? 'sync',
    max: config.GROUP_COMMIT_MAX,
    waitMs: config.GROUP_COMMIT_WAIT_MS
  },
  readsAtOnce: config.PAGE_READS_AT_ONCE,
  createLoader: tracing?.createLoader
})

/**
 * @param {Config} config @param {Log} log
 * @param {Pick<Parts, 'worker'> & {models: Models, connection: Connection, metrics?: ReturnType<typeof createMetrics>}}
 *   parts
 */
function searchOf (config, log, { models, connection, worker, metrics }) {
  const { SEARCH_DIRECTORY: directory, HOME_PAGE: home, WIKI_LANGUAGE: language } = config
  const words = createWords({ connection, collection: models.Pages.collection.name, directory, worker, language, log })
  metrics?.addWords(words)
  return { words, search: createSearch(models, { words, home }) }
}

/**
 * @param {Config} config @param {Log} log @param {Models} models @param {Connection} connection
 * @returns {import('./caching/origin-cache.js').OriginCache<import('./reading/view.js').View> | undefined}
 */
const originCacheOf = ({ ORIGIN_CACHE_MIB: mib }, log, { Pages }, connection) => mib === 0
  ? undefined
  : createOriginCache({ connection, collection: Pages.collection.name, maxBytes: mib * MIB, log })

/**
 * @typedef {Record<'redis' | 'replica', SharedRedis | undefined>} RedisParts
 * @param {Config} config
 * @param {{models: Models, connection: Connection, tracing?: Tracing} & RedisParts} parts
 */
function shortLinksOf (config, { models, connection, redis, replica, tracing }) {
  const model = defineShortLinks(connection, config.SHORT_LINK_INDEX)
  const levelOf = redis && config.SHORT_LINK_READS === 'redis' ? redisLevel({ redis, replica }) : undefined
  const shortLinks = createShortLinks({
    models, model, readsAtOnce: config.PAGE_READS_AT_ONCE, createLoader: tracing?.createLoader, levelOf
  })
  return { shortLinks, refuseOtherForms: model.refuseOtherForms }
}
