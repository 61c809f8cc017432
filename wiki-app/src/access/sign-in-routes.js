import createError from '@fastify/error'
import { COUNTER_NAME } from '../counter.js'
import { retryAfter } from '../http/retry-after.js'
import { viewUrl } from '../pages/name.js'
import { readableDuration } from '../readable.js'
import { named } from '../shared/limit-store.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { cookieIn, personIn, SIGN_IN_URL, sessionCookie } from './access.js'
import { createDevices } from './devices.js'
import { createFairQueue } from './fair-queue.js'
import { SESSION_S } from './sessions.js'
import { NAME_MAX_CHARS, userKey } from './users.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Role} from './roles.js' */
/** @import {Sessions} from './sessions.js' */
/** @import {User, Users} from './users.js' */

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
/** A name of 200 characters, each of four percent-encoded bytes, fits. */
const TARGET_MAX_CHARS = 4_000
/** Browsers keep no cookie for longer than 400 days. */
const DEVICE_S = 365 * 86_400

const WrongPassword = createError('WIKI_WRONG_PASSWORD', 'This name and this password do not go together.', 401)
const TooManyFailures = createError(
  'WIKI_TOO_MANY_FAILURES',
  'Signing in failed too often, from your address or with this name. Try again in %s.',
  429
)
const TooManyAtOnce = createError(
  'WIKI_SIGN_INS_AT_ONCE',
  'More sign-ins are waiting, from your address or from everywhere, than can be checked soon. Try again in %s.',
  429
)

const TEXT = { type: 'string', maxLength: TARGET_MAX_CHARS }
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
/** @typedef {{name: string, password: string, to?: string}} SignIn  see SIGN_IN_SCHEMA */

/** @type {Record<Role, string>} */
const MAY = {
  reader: 'You are a reader: you can read every page, and change none.',
  editor: 'You are an editor: you can write and change pages.',
  admin: 'You are an administrator: you can write and change pages, and take back what others did.'
}

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

  /** @param {FastifyRequest} request @returns {string | null} null: an unknown browser */
  const deviceOf = (request) => devices.idOf(cookieIn(request, deviceName), nameIn(request))
  /** @param {FastifyRequest} request */
  const guesserOf = (request) => deviceOf(request) ?? clientKey(request)

  const check = createCheck(app, users, { deviceOf, guesserOf })

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  const config = { role: 'anyone' }

  app.get(SIGN_IN_URL, { config: { ...config, identifies: true }, schema: FORM_SCHEMA }, async (request, reply) => {
    const { to: asked } = /** @type {{to?: string}} */ (request.query)
    const to = localTarget(asked ?? cameFrom(request))
    const person = personIn(request)
    if (person === null) return reply.type(HTML).send(form(request, { to }))
    return reply.type(HTML).send(renderFor(request, 'signed-in', {
      title: 'You are signed in', may: MAY[person.role], to, onward: asked !== undefined, signOutUrl: SIGN_OUT_URL
    }))
  })

  app.post(SIGN_IN_URL, { config, schema: SIGN_IN_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { name: given, to: asked } = /** @type {SignIn} */ (request.body)
    const to = localTarget(asked)
    try {
      const user = await check(request)
      // Always a new one: an attacker may have planted a token in this browser.
      await end(request)
      reply.setCookie(name, await sessions.begin(user), { ...attributes, maxAge: SESSION_S })
      reply.setCookie(deviceName, devices.begin(user), deviceAttributes)
    } catch (error) {
      const { statusCode = 500, headers = {}, message: refusal } = /** @type {AnswerableError} */ (error)
      if (![401, 429].includes(statusCode) || !wantsHtml(request)) throw error
      return reply.code(statusCode).headers(headers).type(HTML).send(form(request, { to, name: given, refusal }))
    }
    // Pages below /edit/ alone can tell the browser whose name to show.
    return reply.redirect(to.startsWith('/edit/') ? to : `${SIGN_IN_URL}?${new URLSearchParams({ to })}`, 303)
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
 * @typedef {{deviceOf: (request: FastifyRequest) => string | null, guesserOf: KeyOf}} Keys
 * @param {import('fastify').FastifyInstance} app @param {Users} users @param {Keys} keys
 */
function createCheck (app, users, { deviceOf, guesserOf }) {
  const enqueue = createFairQueue(WAITING)
  const { refuseGuessing, countFailure } = createGuessLimits(app, { deviceOf, guesserOf })

  /**
   * @param {FastifyRequest} request @returns {Promise<User>}
   * @throws {Error} 401 when name and password do not go together, 429
   */
  return async (request) => {
    const { name, password } = /** @type {SignIn} */ (request.body)
    await refuseGuessing(request)
    return enqueue(guesserOf(request), async () => {
      // Sign-ins ahead in the queue may have failed meanwhile.
      await refuseGuessing(request)
      const user = await users.check(name, password)
      if (user !== null) return user
      await countFailure(request)
      throw Object.assign(new WrongPassword(), { headers: { 'www-authenticate': 'Bearer realm="stevec"' } })
    }, {
      first: deviceOf(request) !== null,
      refusal: () => retryAfter(new TooManyAtOnce(readableDuration(WAITING_RETRY_S)), WAITING_RETRY_S)
    })
  }
}

/** @param {import('fastify').FastifyInstance} app @param {Keys} keys */
function createGuessLimits (app, { deviceOf, guesserOf }) {
  const failuresOfGuesser = app.createRateLimit(named('guesser', {
    max: FAILURES_MAX, timeWindow: WINDOW_MS, keyGenerator: guesserOf
  }))
  const failuresWithName = app.createRateLimit(named('name', {
    max: FAILURES_PER_NAME_MAX, timeWindow: WINDOW_MS, keyGenerator: (request) => userKey(nameIn(request))
  }))

  /** @param {FastifyRequest} request */
  async function refuseGuessing (request) {
    const [own, withName] = await Promise.all([failuresOfGuesser, failuresWithName]
      .map((count) => count(request, { increment: false })))
    if (own.isAllowed || withName.isAllowed) return
    const attacked = withName.remaining === 0 && deviceOf(request) === null
    const failuresMax = attacked ? FAILURES_UNDER_ATTACK_MAX : FAILURES_MAX
    if (own.max - own.remaining < failuresMax) return
    throw retryAfter(new TooManyFailures(readableDuration(own.ttlInSeconds)), own.ttlInSeconds)
  }

  /** @param {FastifyRequest} request */
  async function countFailure (request) {
    await failuresOfGuesser(request)
    if (deviceOf(request) === null) await failuresWithName(request)
  }

  return { refuseGuessing, countFailure }
}

const nameIn = (/** @type {FastifyRequest} */ { body }) => /** @type {{name: string}} */ (body).name

/** @param {FastifyRequest} request @param {{to: string, name?: string, refusal?: string}} data */
const form = (request, data) => renderFor(request, 'sign-in', {
  title: 'Sign in',
  name: '',
  refusal: '',
  ...data,
  signInUrl: SIGN_IN_URL,
  nameMaxChars: NAME_MAX_CHARS
})

/** Parsed as browsers do, so that no redirect leads to another site. */
function localTarget (to = '/') {
  const base = 'http://wiki.invalid'
  if (!to.startsWith('/') || !URL.canParse(to, base)) return '/'
  const { origin, pathname, search } = new URL(to, base)
  // `//` begins a host. Reading the counter resets it.
  const isHere = origin === base && !pathname.startsWith('//') &&
    ![SIGN_IN_URL, SIGN_OUT_URL, viewUrl(COUNTER_NAME)].includes(pathname)
  return isHere ? pathname + search : '/'
}

/** @param {FastifyRequest} request @returns {string | undefined} the page of this wiki with the link */
function cameFrom ({ headers: { referer = '', host } }) {
  if (referer.length > TARGET_MAX_CHARS || !URL.canParse(referer)) return undefined
  const { host: from, pathname, search } = new URL(referer)
  return from === host?.toLowerCase() ? pathname + search : undefined
}
