import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'
import { englishDuration } from '../readable.js'
import { named } from '../shared/limit-store.js'
import { cookieIn } from './access.js'
import { createDevices } from './devices.js'
import { createFairQueue } from './fair-queue.js'
import { userKey } from './users.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {User, Users} from './users.js' */

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
const WrongPassword = createError('WIKI_WRONG_PASSWORD', 'This name and this password do not go together.', 401)
const Blocked = createError(
  'WIKI_BLOCKED', '“%s” is blocked. An administrator of the wiki can change that.', 403
)
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

/** @param {boolean} secure */
export const deviceCookie = (secure) => secure ? '__Secure-device' : 'device'

/** Whose password it is said to be. @typedef {{name: string, device: string | null, guesser: string}} Claim */

/**
 * Checks passwords one at a time, and limits guesses: of one client, and with one name.
 * @param {import('fastify').FastifyInstance} app
 * @param {{users: Users, clientKey: (request: FastifyRequest) => string, secure: boolean}} options
 */
export function createPasswordChecks (app, { users, clientKey, secure }) {
  const devices = createDevices(users)
  const enqueue = createFairQueue(WAITING)
  /** @type {WeakMap<FastifyRequest, Claim>} */
  const claims = new WeakMap()
  const claimOf = (/** @type {FastifyRequest} */ request) => /** @type {Claim} */ (claims.get(request))
  const { refuseGuessing, countFailure } = createGuessLimits(app, claimOf)

  /** @template T @param {string} key @param {() => Promise<T>} work @param {boolean} [first] */
  const inTurn = (key, work, first = false) => enqueue(key, work, {
    first, refusal: () => retryAfter(new TooManyAtOnce(englishDuration(WAITING_RETRY_S)), WAITING_RETRY_S)
  })

  /** @param {FastifyRequest} request @param {Claim} claim @param {string} password */
  async function check (request, claim, password) {
    claims.set(request, claim)
    await refuseGuessing(request)
    return inTurn(claim.guesser, async () => {
      // Sign-ins ahead in the queue may have failed meanwhile.
      await refuseGuessing(request)
      const user = await users.check(claim.name, password)
      if (user?.blocked) throw new Blocked(user.name)
      if (user !== null) return user
      await countFailure(request)
      throw Object.assign(new WrongPassword(), { headers: { 'www-authenticate': 'Bearer realm="stevec"' } })
    }, claim.device !== null)
  }

  return {
    /**
     * Hashing takes memory and a third of a second, so it waits for its turn.
     * @template T @param {string} name  of a person: each has few turns that wait @param {() => Promise<T>} work
     * @returns {Promise<T>} @throws {Error} 429
     */
    inTurn: (name, work) => inTurn(personKey(name), work),

    /**
     * @param {FastifyRequest} request @param {string} name @param {string} password
     * @returns {Promise<{user: User, device: string}>} `device`: for the cookie that makes the browser known
     * @throws {Error} 401 when name and password do not go together, 403 for somebody blocked, 429
     */
    async ofSignIn (request, name, password) {
      const device = await devices.idOf(cookieIn(request, deviceCookie(secure)), name)
      const user = await check(request, { name, device, guesser: device ?? clientKey(request) }, password)
      return { user, device: devices.begin(user) }
    },

    /**
     * Of somebody who is signed in: failures of others, at the same address or with the same name, do not count.
     * @param {FastifyRequest} request @param {string} name @param {string} password
     * @returns {Promise<User>} @throws {Error} as for `ofSignIn`
     */
    ofSession: (request, name, password) =>
      check(request, { name, device: personKey(name), guesser: personKey(name) }, password)
  }
}

/** No address and no id of a device begins so. @param {string} name */
const personKey = (name) => `person ${userKey(name)}`

/** @typedef {ReturnType<typeof createPasswordChecks>} PasswordChecks */

/** @param {import('fastify').FastifyInstance} app @param {(request: FastifyRequest) => Claim} claimOf */
function createGuessLimits (app, claimOf) {
  const failuresOfGuesser = app.createRateLimit(named('guesser', {
    max: FAILURES_MAX, timeWindow: WINDOW_MS, keyGenerator: (request) => claimOf(request).guesser
  }))
  const failuresWithName = app.createRateLimit(named('name', {
    max: FAILURES_PER_NAME_MAX, timeWindow: WINDOW_MS, keyGenerator: (request) => userKey(claimOf(request).name)
  }))

  /** @param {FastifyRequest} request */
  async function refuseGuessing (request) {
    const [own, withName] = await Promise.all([failuresOfGuesser, failuresWithName]
      .map((count) => count(request, { increment: false })))
    if (own.isAllowed || withName.isAllowed) return
    const attacked = withName.remaining === 0 && claimOf(request).device === null
    const failuresMax = attacked ? FAILURES_UNDER_ATTACK_MAX : FAILURES_MAX
    if (own.max - own.remaining < failuresMax) return
    throw retryAfter(new TooManyFailures(englishDuration(own.ttlInSeconds)), own.ttlInSeconds)
  }

  /** @param {FastifyRequest} request */
  async function countFailure (request) {
    await failuresOfGuesser(request)
    if (claimOf(request).device === null) await failuresWithName(request)
  }

  return { refuseGuessing, countFailure }
}
