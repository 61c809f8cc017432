import { COUNTER_NAME } from '../counter.js'
import { viewUrl } from '../pages/name.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { cookieIn, personIn, SIGN_IN_URL, sessionCookie } from './access.js'
import { deviceCookie } from './check-password.js'
import { PASSWORD_MAX_CHARS } from './password.js'
import { SESSION_S } from './sessions.js'
import { NAME_MAX_CHARS } from './users.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Role} from './roles.js' */
/** @import {Sessions} from './sessions.js' */
/** @import {PasswordChecks} from './check-password.js' */

export const SIGN_OUT_URL = '/edit/sign-out'

/** A name of 200 characters, each of four percent-encoded bytes, fits. */
const TARGET_MAX_CHARS = 4_000
/** Addresses that are secrets, or were used: no log may have them in a query. */
const SECRET = /^\/(?:digests|feeds|invitations)\//
/** Browsers keep no cookie for longer than 400 days. */
const DEVICE_S = 365 * 86_400

const TEXT = { type: 'string', maxLength: TARGET_MAX_CHARS }
const FORM_SCHEMA = { querystring: { type: 'object', properties: { to: TEXT } } }
const SIGN_IN_SCHEMA = {
  body: {
    type: 'object',
    required: ['name', 'password'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', maxLength: NAME_MAX_CHARS },
      password: { type: 'string', maxLength: PASSWORD_MAX_CHARS },
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
  admin: 'You are an administrator: you can write and change pages, take back what others did, and manage people.'
}

/**
 * Pages stay the same for everybody, as the cookie's path is /edit. SameSite=Strict costs nothing: links from other
 * sites lead to pages.
 * @typedef {{sessions: Sessions, passwords: PasswordChecks, secure: boolean}} Options
 * @type {FastifyPluginAsync<Options>}
 */
export async function signInRoutes (app, { sessions, passwords, secure }) {
  const name = sessionCookie(secure)
  const attributes = { path: '/edit', httpOnly: true, sameSite: /** @type {const} */ ('strict'), secure }
  const deviceAttributes = { ...attributes, path: SIGN_IN_URL, maxAge: DEVICE_S }

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
    const { name: given, password, to: asked } = /** @type {SignIn} */ (request.body)
    const to = localTarget(asked)
    try {
      const { user, device } = await passwords.ofSignIn(request, given, password)
      // Always a new one: an attacker may have planted a token in this browser.
      await end(request)
      reply.setCookie(name, await sessions.begin(user), { ...attributes, maxAge: SESSION_S })
      reply.setCookie(deviceCookie(secure), device, deviceAttributes)
    } catch (error) {
      const { statusCode = 500, headers = {}, message: refusal } = /** @type {AnswerableError} */ (error)
      if (![401, 403, 429].includes(statusCode) || !wantsHtml(request)) throw error
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
    ![SIGN_IN_URL, SIGN_OUT_URL, viewUrl(COUNTER_NAME)].includes(pathname) && !SECRET.test(pathname)
  return isHere ? pathname + search : '/'
}

/** @param {FastifyRequest} request @returns {string | undefined} the page of this wiki with the link */
function cameFrom ({ headers: { referer = '', host } }) {
  if (referer.length > TARGET_MAX_CHARS || !URL.canParse(referer)) return undefined
  const { host: from, pathname, search } = new URL(referer)
  return from === host?.toLowerCase() ? pathname + search : undefined
}
