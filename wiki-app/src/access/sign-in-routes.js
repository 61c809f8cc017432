import { sayError } from '../say-error.js'
import { t } from '../language.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { isPrivate, personIn, SIGN_IN_URL, SIGN_OUT_URL, TARGET_MAX_CHARS } from './access.js'
import { createBrowserSessions } from './browser-sessions.js'
import { deviceCookie } from './check-password.js'
import { afterSignIn, localTarget } from './local-target.js'
import { PASSWORD_MAX_CHARS } from './password.js'
import { signInForm } from './sign-in-form.js'
import { NAME_MAX_CHARS } from './users.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Role} from './roles.js' */
/** @import {Sessions} from './sessions.js' */
/** @import {PasswordChecks} from './check-password.js' */
/** @import {Elsewhere} from './sign-in-form.js' */

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
/** @param {Role} role */
function mayOf (role) {
  if (role === 'reader') return t('You are a reader: you can read every page, and change none.')
  if (role === 'editor') return t('You are an editor: you can write and change pages.')
  return t('You are an administrator: you can write and change pages, take back what others did, and manage people.')
}

/**
 * `elsewhere`: where else people sign in; `forgottenUrl`: where people get a link for a new password.
 * @typedef {{sessions: Sessions, passwords: PasswordChecks, secure: boolean, elsewhere?: Elsewhere,
 *   forgottenUrl?: string}} Options
 * @type {FastifyPluginAsync<Options>}
 */
export async function signInRoutes (app, { sessions, passwords, secure, elsewhere, forgottenUrl }) {
  const closed = isPrivate(app)
  const browsers = createBrowserSessions({ sessions, secure, closed })
  const deviceAttributes =
    { ...browsers.attributes, path: SIGN_IN_URL, sameSite: /** @type {const} */ ('strict'), maxAge: DEVICE_S }

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  const config = { role: 'anyone', forStrangers: true }

  app.get(SIGN_IN_URL, { config: { ...config, identifies: true }, schema: FORM_SCHEMA }, async (request, reply) => {
    const { to: asked } = /** @type {{to?: string}} */ (request.query)
    const to = localTarget(asked ?? cameFrom(request))
    const person = personIn(request)
    if (person === null) return reply.type(HTML).send(signInForm(request, { to, elsewhere, forgottenUrl }))
    return reply.type(HTML).send(renderFor(request, 'signed-in', {
      title: t('You are signed in'), may: mayOf(person.role), to, onward: asked !== undefined, signOutUrl: SIGN_OUT_URL
    }))
  })

  app.post(SIGN_IN_URL, { config, schema: SIGN_IN_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { name: given, password, to: asked } = /** @type {SignIn} */ (request.body)
    const to = localTarget(asked)
    try {
      const { user, device } = await passwords.ofSignIn(request, given, password)
      await browsers.begin(reply, user, browsers.tokensIn(request))
      reply.setCookie(deviceCookie(secure), device, deviceAttributes)
    } catch (error) {
      const { statusCode = 500, headers = {}, message: refusal } = /** @type {AnswerableError} */ (error)
      if (![401, 403, 429].includes(statusCode) || !wantsHtml(request)) throw error
      const again = signInForm(request, { to, name: given, refusal: sayError(refusal), elsewhere, forgottenUrl })
      return reply.code(statusCode).headers(headers).type(HTML).send(again)
    }
    return reply.redirect(afterSignIn(to, closed), 303)
  })

  app.post(SIGN_OUT_URL, { config, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    await browsers.end(request, reply)
    return reply.redirect('/', 303)
  })
}

/** @param {FastifyRequest} request @returns {string | undefined} the page of this wiki with the link */
function cameFrom ({ headers: { referer = '', host } }) {
  if (referer.length > TARGET_MAX_CHARS || !URL.canParse(referer)) return undefined
  const { host: from, pathname, search } = new URL(referer)
  return from === host?.toLowerCase() ? pathname + search : undefined
}
