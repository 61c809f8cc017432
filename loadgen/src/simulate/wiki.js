import { cachePolicy } from '@stevec/wiki-app/cache-policy'
import { tagOf } from '@stevec/wiki-app/caching/invalidation'
import { startProcess } from './process.js'
import { createPurging } from './purging.js'

/** @import {Time} from './time.js' */
/** @import {Database} from './database.js' */
/** @import {WikiModules} from './modules.js' */

/** So few, so that followers are too far behind now and then. */
const KEPT_TAGS = 8
const EVERYTHING_EVERY = 10
const LIFETIMES = {
  ttlS: 0, staleWhileRevalidateS: 0, staleIfErrorS: 0, cdnTtlS: 86_400, boundMs: 0, beyondBoundS: 0
}

/**
 * What a process of the wiki needs. `rate`: of its clock, see startProcess. `boundMs`: for the policy `bounded`.
 * `purges`: calls of the edges' purge APIs, `repeatAfterMs`: when each is sent a second time; for the others.
 * @typedef {{number: number, time: Time, random: () => number, database: Database, modules: WikiModules,
 *   policy: Policy, boundMs: number, rate: number, purges: Record<string, import('./purging.js').Purge>,
 *   repeatAfterMs: number}} Parts
 * @typedef {'bounded' | 'purge-url' | 'purge-tag'} Policy
 * @typedef {{after?: string, etag?: string}} Asked
 * @typedef {{revision: number, head: string[]}} View
 */

/** A process of the wiki, between a model of the database and the network. @param {Parts} parts */
export function startWiki (parts) {
  const { number, time, database, policy, rate } = parts
  const connection = database.connect({ readConcern: policy === 'bounded' ? 'majority' : 'local' })
  const process = startProcess({ time, rate })
  const { lookUp, answer, save } = policy === 'bounded'
    ? startBounded(parts, connection, process)
    : startPurging({ ...parts, policy }, connection, process)
  return {
    number,
    /** As GET /purge-log. @param {string} [after] */
    answer: (after) => answer(after),

    /** As GET /wiki/{page}. @param {string} page @param {Asked} asked */
    async view (page, { after, etag }) {
      const { revision, head } = await lookUp(page, after === undefined ? {} : { 'purge-log-after': after })
      /** @type {Record<string, string>} */
      const fields = { etag: `"${revision}"` }
      for (let index = 0; index < head.length; index += 2) fields[head[index]] = head[index + 1]
      return { status: etag === fields.etag ? 304 : 200, fields, revision }
    },

    /** @param {string} page @returns {Promise<number>} its revision, acknowledged */
    save,

    whileRunning: process.whileRunning,
    stop: process.stop,
    sleep: process.sleep,
    setWallClock: process.setWallClock,
    kill () {
      process.kill()
      connection.close()
    }
  }
}

/** @typedef {ReturnType<typeof startWiki>} Wiki */

/**
 * The modules that keep the bound.
 * @param {Parts} parts @param {ReturnType<Database['connect']>} connection
 * @param {ReturnType<typeof startProcess>} process
 */
function startBounded ({ modules, boundMs }, connection, { clock, seen }) {
  const watch = modules.createPurgeLogWatch({
    connection: /** @type {any} */ ({ db: {} }),
    collection: /** @type {any} */ (collectionOf(connection, seen)),
    log: { warn () {} },
    timing: { tagsMax: KEPT_TAGS },
    clock
  })
  watch.open()
  return {
    lookUp: lookUpOf({ modules, watch, boundMs, read: (page) => seen(connection.read(page, reachedBy(watch))) }),
    /** @type {(after?: string) => Promise<object>} */
    answer: modules.createLogAnswer({ watch, boundMs, clock }),
    save: (/** @type {string} */ page) => seen(connection.save(page, (revision) =>
      ({ _id: `${page} ${revision}`, stale: staleOf(page, revision) })))
  }
}

/**
 * @param {Parts & {policy: 'purge-url' | 'purge-tag'}} parts @param {ReturnType<Database['connect']>} connection
 * @param {ReturnType<typeof startProcess>} process
 */
function startPurging ({ modules, policy, random, purges, repeatAfterMs }, connection, process) {
  const { queues, entriesOf } = createPurging({ modules, policy, connection, process, random, purges, repeatAfterMs })
  const caching = Object.entries(cachePolicy(policy, LIFETIMES).headers).flat()
  queues.open()
  return {
    /** @param {string} page @returns {Promise<View>} */
    lookUp: async (page) =>
      ({ revision: await process.seen(connection.read(page)), head: [...caching, 'cache-tag', tagOf(page)] }),
    answer: async () => { throw new Error('there is no purge log') },
    /** @param {string} page */
    async save (page) {
      const revision = await process.seen(connection.save(page, () => null, (number) => entriesOf(page, number)))
      queues.added()
      return revision
    }
  }
}

/**
 * @param {ReturnType<Database['connect']>} connection
 * @param {ReturnType<typeof startProcess>['seen']} seen
 */
const collectionOf = ({ replaceOne, watch }, seen) => ({
  /** @param {{_id: string}} filter @param {object} replacement */
  replaceOne: (filter, replacement) => seen(replaceOne(filter, replacement)),
  watch () {
    const stream = watch()
    return {
      get closed () { return stream.closed },
      close: stream.close,
      tryNext: () => seen(stream.tryNext())
    }
  }
})

/**
 * @param {{modules: WikiModules, watch: any, boundMs: number, read: (page: string) => Promise<number>}} parts
 * @returns {(page: string, headers: Record<string, string>) => Promise<View>}
 */
function lookUpOf ({ modules, watch, boundMs, read }) {
  const caching = Object.entries(cachePolicy('bounded', { ...LIFETIMES, boundMs }).headers).flat()
  /** @type {any} */
  const reads = {
    async lookUp (/** @type {string} */ page, /** @type {object} */ _headers, /** @type {any} */ cachingOf) {
      const revision = await read(page)
      return { revision, head: cachingOf({ _id: page }) }
    }
  }
  const cachingOf = (/** @type {{_id: string}} */ { _id: page }) => [...caching, 'cache-tag', tagOf(page)]
  return /** @type {any} */ (modules.createBoundedReads(reads, { watch, boundMs, cachingOf }).lookUp)
}

/** As caching/caching.js has it. @param {{reached: () => string | undefined}} watch */
const reachedBy = (watch) => Number.parseInt(watch.reached() ?? '0', 16)

/** An edit that concerns very many pages makes everything stale. @param {string} page @param {number} revision */
const staleOf = (page, revision) => revision % EVERYTHING_EVERY === 0
  ? { everything: true }
  : { everything: false, tags: [tagOf(page)] }
