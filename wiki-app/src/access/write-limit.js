import createError from '@fastify/error'
import rateLimit from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import { counted, englishDuration } from '../readable.js'
import { retryAfter } from '../http/retry-after.js'
import { isUnsafe } from '../http/same-origin.js'
import { createLimitStore, named } from '../shared/limit-store.js'
import { personIn } from './access.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {SharedRedis} from '../shared/connection.js' */

const MINUTE_MS = 60_000
/** The editor sends many while an author types. */
const PREVIEWS_PER_WRITE = 5
/** An import may write the pages of so many minutes at once. */
const IMPORT_MINUTES = 10
/** Some 100 bytes each; beyond it the least recently seen is dropped. */
const CLIENTS_MAX = 20_000

const TooManyWrites = createError(
  'WIKI_TOO_MANY_WRITES',
  'More than %s within a minute came from your address, so this one was not made. Try again in %s.',
  429
)

/**
 * Counts a page before an import writes it; null: it may be written.
 * @typedef {(request: FastifyRequest) => Promise<Refusal | null>} TakeImport
 * @typedef {{pages: number, retryAfterS: number}} Refusal  pages that an import may write at once
 */

/**
 * Reads are not limited: caches answer most of them. With `redis`, all wikis that use it count together.
 * @typedef {{perMinute: number, clientKey: (request: FastifyRequest) => string, redis?: SharedRedis}} Options
 */
export const writeLimit = fp(
  /** @type {FastifyPluginAsync<Options>} */
  async function writeLimit (app, { perMinute, clientKey, redis }) {
    // Sign-in has its own counters in this plugin.
    await app.register(rateLimit, {
      global: false,
      max: perMinute,
      timeWindow: MINUTE_MS,
      keyGenerator: clientKey,
      cache: CLIENTS_MAX,
      ...redis && { store: createLimitStore({ redis, name: 'write', keysMax: CLIENTS_MAX }) }
    })
    const pages = IMPORT_MINUTES * perMinute
    const countPage = app.createRateLimit(named('import', {
      max: pages, timeWindow: IMPORT_MINUTES * MINUTE_MS, keyGenerator: (request) => `import ${clientKey(request)}`
    }))
    /** @type {TakeImport} */
    const takeImport = async (request) => {
      if (perMinute === 0 || personIn(request)?.role === 'admin') return null
      const result = await countPage(request)
      return result.isAllowed || !result.isExceeded ? null : { pages, retryAfterS: result.ttlInSeconds }
    }
    app.decorate('takeImport', takeImport)
    if (perMinute === 0) return
    const countWrite = app.createRateLimit()
    const countPreview = app.createRateLimit(named('preview', {
      max: PREVIEWS_PER_WRITE * perMinute,
      keyGenerator: (request) => `preview ${clientKey(request)}`
    }))

    app.addHook('onRequest', (request, _reply, done) => {
      if (!isUnsafe(request.method)) return done()
      const { changes = true } = /** @type {{changes?: boolean}} */ (request.routeOptions.config)
      const [count, max, what] = changes
        ? [countWrite, perMinute, 'change']
        : [countPreview, PREVIEWS_PER_WRITE * perMinute, 'preview']
      count(request).then((result) => {
        if (result.isAllowed || !result.isExceeded) done()
        else {
          const wait = englishDuration(result.ttlInSeconds)
          done(retryAfter(new TooManyWrites(counted(max, what), wait), result.ttlInSeconds))
        }
      }, done)
    })
  })
