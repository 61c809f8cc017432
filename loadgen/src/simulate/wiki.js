import { cachePolicy } from '@stevec/wiki-app/cache-policy'
import { startProcess } from './process.js'

/** @import {Time} from './time.js' */
/** @import {Database} from './database.js' */
/** @import {WikiModules} from './modules.js' */

/** So few, so that followers are too far behind now and then. */
const KEPT_TAGS = 8
const EVERYTHING_EVERY = 10

/**
 * A process of the wiki: the modules that keep the bound, between a model of the database and the network.
 * @param {{time: Time, database: Database, modules: WikiModules, boundMs: number, rate: number}} parts  rate: see
 *   startProcess
 */
export function startWiki ({ time, database, modules, boundMs, rate }) {
  const connection = database.connect()
  const { clock, seen, whileRunning, stop, sleep, setWallClock, kill } = startProcess({ time, rate })
  const watch = modules.createPurgeLogWatch({
    connection: /** @type {any} */ ({ db: {} }),
    collection: /** @type {any} */ (collectionOf(connection, seen)),
    log: { warn () {} },
    timing: { tagsMax: KEPT_TAGS },
    clock
  })
  const lookUp = lookUpOf({ modules, watch, boundMs, read: (page) => seen(connection.read(page)) })
  const answer = modules.createLogAnswer({ watch, boundMs, clock })
  watch.open()

  return {
    /** As GET /purge-log. @param {string} [after] */
    answer: (after) => answer(after),

    /** As GET /wiki/{page}. @param {string} page @param {{after?: string, etag?: string}} asked */
    async view (page, { after, etag }) {
      const { revision, head } = await lookUp(page, after === undefined ? {} : { 'purge-log-after': after })
      /** @type {Record<string, string>} */
      const fields = { etag: `"${revision}"` }
      for (let index = 0; index < head.length; index += 2) fields[head[index]] = head[index + 1]
      return { status: etag === fields.etag ? 304 : 200, fields, revision }
    },

    /** @param {string} page @returns {Promise<number>} its revision, acknowledged */
    save: (page) => seen(connection.save(page, (revision) =>
      ({ _id: `${page} ${revision}`, stale: staleOf(page, revision) }))),

    whileRunning,
    stop,
    sleep,
    setWallClock,
    kill () {
      kill()
      connection.close()
    }
  }
}

/** @typedef {ReturnType<typeof startWiki>} Wiki */

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
 * @returns {(page: string, headers: Record<string, string>) => Promise<{revision: number, head: string[]}>}
 */
function lookUpOf ({ modules, watch, boundMs, read }) {
  const lifetimes = { ttlS: 0, staleWhileRevalidateS: 0, staleIfErrorS: 0, cdnTtlS: 86_400, boundMs, beyondBoundS: 0 }
  const caching = Object.entries(cachePolicy('bounded', lifetimes).headers).flat()
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

/** @param {string} page */
const tagOf = (page) => `page-${page}`

/** An edit that concerns very many pages makes everything stale. @param {string} page @param {number} revision */
const staleOf = (page, revision) => revision % EVERYTHING_EVERY === 0
  ? { everything: true }
  : { everything: false, tags: [tagOf(page)] }
