import createError from '@fastify/error'
import rateLimit from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import { isUnsafe } from '../same-origin.js'

const MINUTE_MS = 60_000
/** Clients that are remembered at once (some 100 bytes each); beyond, the one not seen for longest is forgotten. */
const CLIENTS_MAX = 20_000

const TooManyWrites = createError('WIKI_TOO_MANY_WRITES', 'More than %d changes within a minute came from your address. Nothing was changed by this one; try again in %d s.', 429)

/**
 * Limits how often one client changes something; reading is free, as caches answer most of it.
 */
export const writeLimit = fp(
  /** @type {import('fastify').FastifyPluginAsync<{perMinute: number, clientKey: (request: import('fastify').FastifyRequest) => string}>} */
  async function writeLimit (app, { perMinute, clientKey }) {
    // Sign-in counts with it, too.
    await app.register(rateLimit, { global: false, max: perMinute, timeWindow: MINUTE_MS, keyGenerator: clientKey, cache: CLIENTS_MAX })
    if (perMinute === 0) return
    const count = app.createRateLimit()

    app.addHook('onRequest', (request, _reply, done) => {
      if (!isUnsafe(request.method)) return done()
      count(request).then((result) => {
        if (result.isAllowed || !result.isExceeded) done()
        else done(Object.assign(new TooManyWrites(perMinute, result.ttlInSeconds), { headers: { 'retry-after': String(result.ttlInSeconds) } }))
      }, done)
    })
  })
