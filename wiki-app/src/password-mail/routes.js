import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'
import { createSemaphore } from '../http/semaphore.js'
import { t } from '../language.js'
import { englishDuration } from '../readable.js'
import { named } from '../shared/limit-store.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { FORGOTTEN_URL } from './addresses.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Elsewhere} from '../access/sign-in-form.js' */
/** @import {Requests} from './requests.js' */

const BODY_MAX_BYTES = 16_384
/** Of a mail address; names are shorter. */
const GIVEN_MAX_CHARS = 254
const HOUR_MS = 3_600_000
const PER_NETWORK = 20
/** Looked up after their answers. */
const AT_ONCE = 20

const SCHEMA = {
  body: {
    type: 'object',
    required: ['person'],
    additionalProperties: false,
    properties: { person: { type: 'string', minLength: 1, maxLength: GIVEN_MAX_CHARS } }
  }
}

const TooMany = createError(
  'WIKI_TOO_MANY_LINKS_ASKED',
  `More than ${PER_NETWORK} links for new passwords were asked for from your network within an hour. ` +
    'Try again in %s, or ask an administrator of the wiki.',
  429
)

/**
 * The form of people that have forgotten their password. Its answer is the same whether a person is there, and comes
 * before anything is looked up.
 * @type {FastifyPluginAsync<{requests: Requests, networkKey: (request: FastifyRequest) => string,
 *   elsewhere?: Elsewhere}>}
 */
export async function forgottenRoutes (app, { requests, networkKey, elsewhere }) {
  const config = { role: 'anyone', forStrangers: true }
  const slots = createSemaphore(AT_ONCE)
  const countOfNetwork = app.createRateLimit(named('forgotten', {
    max: PER_NETWORK, timeWindow: HOUR_MS, keyGenerator: (request) => `forgotten ${networkKey(request)}`
  }))

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  /** @param {FastifyRequest} request @param {FastifyReply} reply @param {boolean} isAsked */
  const show = (request, reply, isAsked) => reply.type(HTML).send(renderFor(request, 'forgotten', {
    title: t('Forgotten your password?'), isAsked, elsewhere, url: FORGOTTEN_URL, maxChars: GIVEN_MAX_CHARS
  }))

  app.get(FORGOTTEN_URL, { config }, async (request, reply) => show(request, reply, false))

  app.post(FORGOTTEN_URL, { config, schema: SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { isAllowed, isExceeded, ttlInSeconds } = /** @type {any} */ (await countOfNetwork(request))
    if (!isAllowed && isExceeded) throw retryAfter(new TooMany(englishDuration(ttlInSeconds)), ttlInSeconds)
    const leave = slots.take()
    const { person } = /** @type {{person: string}} */ (request.body)
    // After the answer: so its time says nothing, either.
    setImmediate(() => {
      requests.ask(person).catch((error) => {
        request.log.error({ err: error }, 'a link for a new password could not be prepared')
      }).finally(leave)
    })
    return wantsHtml(request) ? show(request, reply, true) : reply.code(202).send({})
  })
}
