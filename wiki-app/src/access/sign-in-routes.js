import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'
import { HTML, renderView, wantsHtml } from '../views.js'
import { cookieIn, SIGN_IN_URL, sessionCookie } from './access.js'
import { createDevices } from './devices.js'
import { createFairQueue } from './fair-queue.js'
import { SESSION_S } from './sessions.js'
import { NAME_MAX_CHARS, userKey } from './users.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Sessions} from './sessions.js' */
/** @import {Users} from './users.js' */

export const SIGN_OUT_URL = '/edit/sign-out'

const WINDOW_MS = 15 * 60_000
/** Per address, or per browser that has signed in with the name before: nobody else can lock out its owner. */
const FAILURES_MAX = 10
/**
 * Per name from unknown browsers, against attackers with many addresses. It leaves two guesses to an owner in a new
 * place.
 */
const FAILURES_PER_NAME_MAX = 50
const FAILURES_UNDER_ATTACK_MAX = 2
/** Checks run one at a time: each takes memory and a third of a second. */
const WAITING = { waitingMax: 20, waitingPerKeyMax: 3 }
const WAITING_RETRY_S = 5
/** Browsers keep no cookie for longer than 400 days. */
const DEVICE_S = 365 * 86_400

const WrongPassword = createError('WIKI_WRONG_PASSWORD', 'This name and this password do not go together.', 401)
const TooManyFailures = createError(
  'WIKI_TOO_MANY_FAILURES',
  'Signing in failed too often, from your address or with this name. Try again in %d s.',
  429
)
const TooManyAtOnce = createError(
  'WIKI_SIGN_INS_AT_ONCE',
  'More sign-ins are waiting, from your address or from everywhere, than can be checked soon. Try again in %d s.',
  429
)

const TEXT = { type: 'string', maxLength: 2_000 }
const FORM_SCHEMA = { querystring: { type: 'object', properties: { to: TEXT } } }
const SIGN_IN_SCHEMA = {
  body: {
    type: 'object',
    required: ['name', 'password'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', maxLength: NAME_MAX_CHARS },
      password: { type: 'string', maxLength: 1_000 },
      to: TEXT
    }
  }
}
const BODY_MAX_BYTES = 16_384

/**
 * Pages stay the same for everybody, as the cookie's path is /edit. SameSite=Strict costs nothing: links from other
 * sites lead to pages.
 * @typedef {{users: Users, sessions: Sessions, clientKey: (request: FastifyRequest) => string, secure: boolean}}
 *   Options
 * @type {FastifyPluginAsync<Options>}
 */
export async function signInRoutes (app, { users, sessions, clientKey, secure }) {
  const name = sessionCookie(secure)
  const attributes = { path: '/edit', httpOnly: true, sameSite: /** @type {const} */ ('strict'), secure }
  const deviceName = secure ? '__Secure-device' : 'device'
  const deviceAttributes = { ...attributes, path: SIGN_IN_URL, maxAge: DEVICE_S }
  const devices = createDevices(users)
  const enqueue = createFairQueue(WAITING)

  /** @param {FastifyRequest} request @returns {string | null} null: an unknown browser */
  const deviceOf = (request) => devices.idOf(cookieIn(request, deviceName), nameIn(request))
  /** @param {FastifyRequest} request */
  const guesserOf = (request) => deviceOf(request) ?? clientKey(request)

  const { refuseGuessing, countFailure } = createGuessLimits(app, { deviceOf, guesserOf })

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  const config = { role: 'anyone' }

  app.get(SIGN_IN_URL, { config, schema: FORM_SCHEMA }, async (request, reply) => {
    const { to } = /** @type {{to?: string}} */ (request.query)
    return reply.type(HTML).send(form({ to: localTarget(to) }))
  })

  app.post(SIGN_IN_URL, { config, schema: SIGN_IN_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { name: given, password, to } = /** @type {{name: string, password: string, to?: string}} */ (request.body)
    await refuseGuessing(request)
    const user = await enqueue(guesserOf(request), async () => {
      // Sign-ins ahead in the queue may have failed meanwhile.
      await refuseGuessing(request)
      const user = await users.check(given, password)
      if (user === null) await countFailure(request)
      return user
    }, {
      first: deviceOf(request) !== null,
      refusal: () => retryAfter(new TooManyAtOnce(WAITING_RETRY_S), WAITING_RETRY_S)
    })
    const target = localTarget(to)
    if (user === null) {
      const refusal = new WrongPassword()
      const headers = { 'www-authenticate': 'Bearer realm="stevec"' }
      if (!wantsHtml(request)) throw Object.assign(refusal, { headers })
      return reply
        .code(401)
        .headers(headers)
        .type(HTML)
        .send(form({ to: target, name: given, refusal: refusal.message }))
    }
    // Always a new one: an attacker may have planted a token in this browser.
    await end(request)
    reply.setCookie(name, await sessions.begin(user), { ...attributes, maxAge: SESSION_S })
    reply.setCookie(deviceName, devices.begin(user), deviceAttributes)
    return reply.redirect(target, 303)
  })

  app.post(SIGN_OUT_URL, { config, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    await end(request)
    reply.clearCookie(name, attributes)
    return reply.redirect('/', 303)
  })

  /** @param {FastifyRequest} request */
  async function end (request) {
    const token = cookieIn(request, name)
    if (token !== undefined) await sessions.end(token)
  }
}

/**
 * @typedef {(request: FastifyRequest) => string} KeyOf
 * @param {import('fastify').FastifyInstance} app
 * @param {{deviceOf: (request: FastifyRequest) => string | null, guesserOf: KeyOf}} keys
 */
function createGuessLimits (app, { deviceOf, guesserOf }) {
  const failuresOfGuesser = app.createRateLimit({ max: FAILURES_MAX, timeWindow: WINDOW_MS, keyGenerator: guesserOf })
  const failuresWithName = app.createRateLimit({
    max: FAILURES_PER_NAME_MAX, timeWindow: WINDOW_MS, keyGenerator: (request) => userKey(nameIn(request))
  })

  /** @param {FastifyRequest} request */
  async function refuseGuessing (request) {
    const [own, withName] = await Promise.all([failuresOfGuesser, failuresWithName]
      .map((count) => count(request, { increment: false })))
    if (own.isAllowed || withName.isAllowed) return
    const attacked = withName.remaining === 0 && deviceOf(request) === null
    const failuresMax = attacked ? FAILURES_UNDER_ATTACK_MAX : FAILURES_MAX
    if (own.max - own.remaining < failuresMax) return
    throw retryAfter(new TooManyFailures(own.ttlInSeconds), own.ttlInSeconds)
  }

  /** @param {FastifyRequest} request */
  async function countFailure (request) {
    await failuresOfGuesser(request)
    if (deviceOf(request) === null) await failuresWithName(request)
  }

  return { refuseGuessing, countFailure }
}

const nameIn = (/** @type {FastifyRequest} */ { body }) => /** @type {{name: string}} */ (body).name

/** @param {{to: string, name?: string, refusal?: string}} data */
const form = (data) => renderView('sign-in', {
  title: 'Sign in',
  name: '',
  refusal: '',
  ...data,
  signInUrl: SIGN_IN_URL,
  nameMaxChars: NAME_MAX_CHARS
})

/** Parsed as browsers do, so that no redirect leads to another site. @param {string | undefined} to */
function localTarget (to) {
  const base = 'http://wiki.invalid'
  if (to === undefined || !to.startsWith('/edit/') || !URL.canParse(to, base)) return '/'
  const { origin, pathname, search } = new URL(to, base)
  const isForm = origin === base && pathname.startsWith('/edit/') &&
    pathname !== SIGN_IN_URL && pathname !== SIGN_OUT_URL
  return isForm ? pathname + search : '/'
}
