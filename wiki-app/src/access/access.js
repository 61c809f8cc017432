import createError from '@fastify/error'
import cookie from '@fastify/cookie'
import fp from 'fastify-plugin'
import { isUnsafe } from '../http/same-origin.js'
import { wantsHtml } from '../views.js'
import { keepFromCaches } from './private-answers.js'
import { memberOf, personOf, spaceOf } from './places.js'
import { isForm } from './resend.js'
import { defaultDemand, isPersonal, suffices } from './roles.js'
import { sessionCookies } from './session-cookies.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */
/** @import {Finding} from './places.js' */
/** @import {AccessMode, Demand, Role} from './roles.js' */
/** @import {Space} from '../spaces/model.js' */

const ReadOnly = createError(
  'WIKI_READ_ONLY',
  'This wiki can only be read: nobody may change its pages (it runs with ACCESS=read-only).',
  403
)
const NoAdmins = createError(
  'WIKI_NO_ADMINS',
  'Only an administrator may do this, and this wiki knows nobody by name. ' +
    'The person who runs it can give it administrators: ACCESS=users, see wiki-app/README.md.',
  403
)
const SignInFirst = createError(
  'WIKI_SIGN_IN_FIRST',
  'Only those who are signed in may write here. ' +
    'If you were writing: sign in on another tab, come back to this one, and send it again.',
  401
)
const TokenNeeded = createError(
  'WIKI_TOKEN_NEEDED',
  'Only those whom the wiki knows may write here. ' +
    'Send the header “Authorization: Bearer” with your token; an administrator of the wiki can give you one.',
  401
)
const ReadersOnly = createError(
  'WIKI_READERS_ONLY',
  'Only members may read here. Sign in with a browser at /edit/sign-in, or send the header ' +
    '“Authorization: Bearer” with your token; people make one at /edit/account.',
  401
)
const TokenUnknown = createError('WIKI_TOKEN_UNKNOWN', 'The wiki does not know this token.', 401)
const RoleTooLow = createError(
  'WIKI_ROLE_TOO_LOW',
  'You are “%s”, with the role %s; this takes the role %s. Whoever runs the wiki can change that.',
  403
)

export const SIGN_IN_URL = '/edit/sign-in'
export const SIGN_OUT_URL = '/edit/sign-out'
/** A name of 200 characters, each of four percent-encoded bytes, fits. */
export const TARGET_MAX_CHARS = 4_000

/** RFC 6750 §3 */
const CHALLENGE = { 'www-authenticate': 'Bearer realm="stevec"' }

/**
 * `role`: in a private space, the one there; `space`: then its name; `ofWiki`: the role elsewhere, which the browser
 * remembers.
 * @typedef {{name: string, role: Role, ofWiki?: Role, space?: string}} Person
 */

/**
 * `placed`: where the address names a page, or in the query a space, in a private space the role is the one there.
 * `ofSpace`: the address names a space, and without a role there it is as one that is not there.
 * @typedef {{role?: Demand, identifies?: boolean, placed?: boolean, ofSpace?: boolean}} Config
 */

/** @param {FastifyRequest} request @returns {Person | null} null: no role is demanded, or writers have no names */
export const personIn = (request) => /** @type {Person | null} */ (request.getDecorator('person'))

/** Where ACCESS=users and the route demands a role. @param {FastifyRequest} request @returns {string} their name */
export const nameOfPerson = (request) => /** @type {Person} */ (personIn(request)).name

/** @param {import('fastify').FastifyInstance} app @returns {AccessMode} */
export const modeOf = (app) => app.getDecorator('accessMode')

/** The private space of the page in the address, if the route looks for it. @param {FastifyRequest} request */
export const spaceIn = (request) => /** @type {Space | null} */ (request.getDecorator('space'))

/** Whether reading takes a role (READ_ACCESS=members). @param {import('fastify').FastifyInstance} app */
export const isPrivate = (app) => /** @type {boolean} */ (app.getDecorator('isPrivate'))

/** @param {FastifyRequest} request @param {string} name  of the cookie */
export const cookieIn = ({ headers, server }, name) =>
  headers.cookie === undefined ? undefined : server.parseCookie(headers.cookie)[name]

/**
 * Where a route demands no role, the client is not identified, so that a cache can answer for it; unless the route
 * says `identifies`. `closed`: reading takes a role, too, at all routes that do not say `forStrangers`. Where a route
 * is `placed` or `ofSpace`, the role in the private space counts.
 */
export const access = fp(
  /** @type {FastifyPluginAsync<Pick<Services, 'users' | 'sessions'> & {mode: AccessMode, closed: boolean,
   *   secure: boolean, spaces?: Finding}>} */
  async function access (app, { mode, closed, users, sessions, secure, spaces }) {
    /** @type {{method: string | string[], url: string, role: Demand, config: object}[]} */
    const rules = []
    app.decorate('rules', rules)
    app.decorate('accessMode', mode)
    app.decorate('isPrivate', closed)
    app.decorateRequest('person', null)
    app.decorateRequest('signInFirst', null)
    app.decorateRequest('space', null)
    if (mode === 'users') await app.register(cookie, { hook: false })
    const takesCookie = createTakesCookie(closed)
    const { name } = sessionCookies({ secure, closed })
    const { userOf, sessionUserOf } = createIdentification({ users, sessions, name, takesCookie })
    const { admit, enter } = createAdmission({ mode, closed, takesCookie, userOf })

    app.addHook('onRoute', (route) => {
      const role = demandOf(route, closed)
      const config = { ...route.config, role }
      route.config = config
      rules.push({ method: route.method, url: route.url, role, config })
    })

    app.addHook('onRequest', (request, reply, done) => {
      const isNowhere = request.is404
      const { role = closed && !isNowhere ? 'reader' : 'anyone', identifies = closed && isNowhere, placed, ofSpace } =
        /** @type {Config} */ (request.routeOptions.config)
      const admitting = (placed || ofSpace) && spaces !== undefined
        ? enter(spaces, request, role, ofSpace)
        : role === 'anyone' ? null : admit(request, role)
      if (admitting === null) {
        if (!identifies) return done()
        sessionUserOf(request).then((user) => { know(request, user); done() }, done)
        return
      }
      admitting.then((admitted) => {
        if (admitted) done()
        else reply.header('cache-control', 'private, no-store').redirect(signInUrl(request.url), 303)
      }, done)
    })

    app.addHook('preValidation', (request, _reply, done) => {
      done(/** @type {Error | null} */ (request.getDecorator('signInFirst')) ?? undefined)
    })

    if (closed) app.addHook('onSend', keepFromCaches)
  })

/** @param {import('fastify').RouteOptions} route @param {boolean} closed @returns {Demand} */
function demandOf ({ url, method, config = {} }, closed) {
  const { role = defaultDemand(url, method), forStrangers = false } =
    /** @type {{role?: Demand, forStrangers?: boolean}} */ (config)
  return closed && role === 'anyone' && !forStrangers ? 'reader' : role
}

/**
 * @param {{mode: AccessMode, closed: boolean, takesCookie: TakesCookie,
 *   userOf: ReturnType<typeof createIdentification>['userOf']}} options
 */
function createAdmission ({ mode, closed, takesCookie, userOf }) {
  /**
   * @param {FastifyRequest} request @param {Role} demanded
   * @param {(user: Person) => Promise<Person>} [inSpace]  throws what says that the role there is too low
   * @returns {Promise<boolean>} false: redirect to the sign-in form
   * @throws {Error} 401, 403
   */
  async function admit (request, demanded, inSpace) {
    if (mode === 'open') {
      if (demanded === 'admin') throw new NoAdmins()
      return true
    }
    if (mode === 'read-only') throw new ReadOnly()
    const user = await userOf(request)
    if (user === null) {
      if (!takesCookie(request) || !wantsHtml(request)) {
        const isReading = demanded === 'reader' && !isUnsafe(request.method)
        const Refusal = (closed || inSpace) && isReading ? ReadersOnly : TokenNeeded
        throw Object.assign(new Refusal(), { headers: CHALLENGE })
      }
      if (isUnsafe(request.method)) {
        const refusal = Object.assign(new SignInFirst(), { headers: CHALLENGE, signInUrl: SIGN_IN_URL })
        if (!isForm(request)) throw refusal
        // Its text has to be read first, to be shown again.
        request.setDecorator('signInFirst', refusal)
        return true
      }
      return false
    }
    if (inSpace) {
      know(request, await inSpace(user))
      return true
    }
    know(request, user)
    if (!suffices(user.role, demanded)) throw new RoleTooLow(user.name, user.role, demanded)
    return true
  }

  /**
   * Where a name in a space takes a role, and others perhaps none.
   * @param {Finding} spaces @param {FastifyRequest} request @param {Demand} demanded @param {boolean} [ofSpace]
   * @returns {Promise<boolean>} as `admit`
   */
  async function enter (spaces, request, demanded, ofSpace = false) {
    const space = await spaceOf(spaces, request)
    request.setDecorator('space', space)
    const role = demanded === 'anyone' ? 'reader' : demanded
    if (ofSpace) return admit(request, role, (user) => memberOf(spaces, request, space, role, user))
    if (space === null) return demanded === 'anyone' || admit(request, role)
    return admit(request, role, (user) => personOf(spaces, space, role, user))
  }

  return { admit, enter }
}

/** @typedef {(request: FastifyRequest) => boolean} TakesCookie */

/**
 * Cookies count where documents are for one person. Unsafe methods elsewhere take tokens alone.
 * @param {boolean} closed  all documents are for one person
 */
const createTakesCookie = (closed) => (/** @type {FastifyRequest} */ { method, routeOptions: { url } }) =>
  isPersonal(url) || (closed && !isUnsafe(method))

/**
 * @param {Pick<Services, 'users' | 'sessions'> & {name: string, takesCookie: (request: FastifyRequest) => boolean}}
 *   options  `name`: of the cookie
 */
function createIdentification ({ users, sessions, name, takesCookie }) {
  /** @param {FastifyRequest} request @throws {Error} 401 for a token that nobody has */
  async function userOf (request) {
    const { authorization } = request.headers
    if (authorization !== undefined) {
      // RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1).
      const [, token] = /^Bearer +([A-Za-z0-9._~+/-]{1,200}=*)$/i.exec(authorization) ?? []
      const user = token === undefined ? null : await users?.byToken(token) ?? null
      if (user === null) {
        throw Object.assign(new TokenUnknown(),
          { headers: { 'www-authenticate': `${CHALLENGE['www-authenticate']}, error="invalid_token"` } })
      }
      return user
    }
    return takesCookie(request) ? sessionUserOf(request) : null
  }

  /** @param {FastifyRequest} request */
  async function sessionUserOf (request) {
    const token = cookieIn(request, name)
    return token === undefined ? null : await sessions?.find(token) ?? null
  }

  return { userOf, sessionUserOf }
}

/** @param {FastifyRequest} request @param {Person | null} user */
function know (request, user) {
  if (user === null) return
  const { name, role, ofWiki, space } = user
  request.setDecorator('person', ofWiki === undefined ? { name, role } : { name, role, ofWiki, space })
}

/** @param {string} to  after sign-in; forgotten where the form would not take it */
const signInUrl = (to) => to.length > TARGET_MAX_CHARS ? SIGN_IN_URL : `${SIGN_IN_URL}?${new URLSearchParams({ to })}`
