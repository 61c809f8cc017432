import createError from '@fastify/error'
import rateLimit from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import { isUnsafe } from '../same-origin.js'

const MINUTE_MS = 60_000
/** Previews change nothing, but are work: an author who types sends many. */
const PREVIEWS_PER_WRITE = 5
/** Clients that are remembered at once (some 100 bytes each); beyond, the one not seen for longest is forgotten. */
const CLIENTS_MAX = 20_000

const TooManyWrites = createError('WIKI_TOO_MANY_WRITES', 'More than %d %s within a minute came from your address. Nothing was changed by this one; try again in %d s.', 429)

/**
 * Limits how often one client changes something; reading is free, as caches answer most of it.
 */
export const writeLimit = fp(
  /** @type {import('fastify').FastifyPluginAsync<{perMinute: number, clientKey: (request: import('fastify').FastifyRequest) => string}>} */
  async function writeLimit (app, { perMinute, clientKey }) {
    // Sign-in counts with it, too.
    await app.register(rateLimit, { global: false, max: perMinute, timeWindow: MINUTE_MS, keyGenerator: clientKey, cache: CLIENTS_MAX })
    if (perMinute === 0) return
    const countWrite = app.createRateLimit()
    const countPreview = app.createRateLimit({ max: PREVIEWS_PER_WRITE * perMinute, keyGenerator: (request) => `preview ${clientKey(request)}` })

    app.addHook('onRequest', (request, _reply, done) => {
      if (!isUnsafe(request.method)) return done()
      const { changes = true } = /** @type {{changes?: boolean}} */ (request.routeOptions.config)
      const [count, max, what] = changes ? [countWrite, perMinute, 'changes'] : [countPreview, PREVIEWS_PER_WRITE * perMinute, 'previews']
      count(request).then((result) => {
        if (result.isAllowed || !result.isExceeded) done()
        else done(Object.assign(new TooManyWrites(max, what, result.ttlInSeconds), { headers: { 'retry-after': String(result.ttlInSeconds) } }))
      }, done)
    })
  })
