import createError from '@fastify/error'
import { t } from '../language.js'
import { cookieIn, isPrivate, TARGET_MAX_CHARS } from '../access/access.js'
import { createBrowserSessions } from '../access/browser-sessions.js'
import { afterSignIn, localTarget } from '../access/local-target.js'
import { signInForm } from '../access/sign-in-form.js'
import { createSemaphore } from '../http/semaphore.js'
import { LINK_SECRET } from '../people/addresses.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { BEGIN_URL, CALLBACK_URL } from './addresses.js'
import { createFlowCookie, FLOW_MAX_S } from './flow-cookie.js'

/** @import {FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Elsewhere} from '../access/sign-in-form.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Sessions} from '../access/sessions.js' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Identities} from '../people/identities.js' */
/** @import {Provider} from './provider.js' */
/** @import {Flow} from './flow-cookie.js' */
/** @import {UsedFlows} from './used-flows.js' */

/** Each may wait some seconds for the provider. */
const AT_ONCE_MAX = 20
const BODY_MAX_BYTES = 16_384
/** What fits into the cookie, beside the rest; in JSON, which doubles a backslash. */
const KEPT_MAX_CHARS = 2_300
const SESSION = /^[\w-]{43}$/

const BEGIN_SCHEMA = {
  body: {
    type: 'object',
    required: ['to'],
    additionalProperties: false,
    properties: { to: { type: 'string', maxLength: TARGET_MAX_CHARS }, invitation: LINK_SECRET }
  }
}
const CALLBACK_SCHEMA = {
  querystring: {
    type: 'object', required: ['state'], properties: { state: { type: 'string', maxLength: 100 } }
  }
}

const NotBegun = createError(
  'WIKI_SIGN_IN_NOT_BEGUN',
  `This sign-in was not begun in this browser within the last ${FLOW_MAX_S / 60} minutes, or it was used already. ` +
    'Begin again.',
  400
)

/**
 * @typedef {object} Options
 * @property {Provider} provider @property {Identities} identities @property {UsedFlows} usedFlows
 * @property {Sessions} sessions @property {boolean} secure  cookies for https alone
 * @property {Role | 'none'} newRole  of a person that is not known yet @property {Elsewhere} [elsewhere]
 * @property {string} [forgottenUrl]  where people get a link for a new password
 */

/**
 * Sign-in with OpenID Connect. A handler here waits for the provider, so it holds no slot of those for pages.
 * @type {FastifyPluginAsync<Options>}
 */
export async function oidcRoutes (app, options) {
  const cookie = createFlowCookie(options.provider.clientSecret)
  const closed = isPrivate(app)
  const browsers = createBrowserSessions({ ...options, closed })
  // With __Host- no other host of this site can set it, and so plant its own sign-in (RFC 6265bis §4.1.3.2).
  const [name, path] = options.secure ? ['__Host-oidc', '/'] : ['oidc', BEGIN_URL]
  // The provider, another site, leads the browser back: with SameSite=Strict there would be no cookie.
  const attributes = { ...browsers.attributes, path, sameSite: /** @type {const} */ ('lax') }
  const context = { ...options, closed, cookie, browsers, name, attributes, slots: createSemaphore(AT_ONCE_MAX) }

  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ 'cache-control': 'private, no-store', 'referrer-policy': 'no-referrer' })
    done()
  })
  addBegin(app, context)
  addCallback(app, context)
}

/**
 * @typedef {Options & {cookie: ReturnType<typeof createFlowCookie>, name: string, closed: boolean,
 *   browsers: ReturnType<typeof createBrowserSessions>, attributes: import('@fastify/cookie').CookieSerializeOptions,
 *   slots: ReturnType<typeof createSemaphore>}} Context
 */

const config = { role: 'anyone', forStrangers: true, waitsItself: true, secret: true }

/**
 * A POST, so that no other site begins a sign-in. Its answer is a page: the forms of a page lead nowhere else
 * (form-action), also by a redirect.
 * @param {FastifyInstance} app @param {Context} context
 */
function addBegin (app, context) {
  const { provider, cookie, browsers, name, attributes, slots } = context

  app.post(BEGIN_URL, { config, schema: BEGIN_SCHEMA, bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    const { to: asked, invitation } = /** @type {{to: string, invitation?: string}} */ (request.body)
    const local = localTarget(asked)
    const to = JSON.stringify(local).length > KEPT_MAX_CHARS ? '/' : local
    const sessions = browsers.tokensIn(request).filter((token) => SESSION.test(token))
    return answering(request, reply, { ...context, to }, async () => {
      const leave = slots.take()
      const { url, ...secrets } = await provider.begin().finally(leave)
      const sealed = cookie.seal({ ...secrets, to, invitation, sessions })
      reply.setCookie(name, sealed, { ...attributes, maxAge: FLOW_MAX_S })
      return goOn(request, reply, {
        title: t('Sign in with {{provider}}', { provider: provider.label }), text: t('You go on there.'), url
      })
    })
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addCallback (app, context) {
  const { provider, identities, usedFlows, cookie, browsers, name, attributes, slots, newRole, closed } = context

  app.get(CALLBACK_URL, { config, schema: CALLBACK_SCHEMA }, async (request, reply) => {
    const { state } = /** @type {{state: string}} */ (request.query)
    const flow = cookie.open(cookieIn(request, name))
    return answering(request, reply, { ...context, to: flow?.to ?? '/' }, async () => {
      // Another site's return leaves the cookie, so it cannot end a sign-in that has begun.
      if (flow === null || flow.state !== state) throw new NotBegun()
      // Without a slot, the browser can come back with the same cookie.
      const leave = slots.take()
      reply.clearCookie(name, attributes)
      const member = await signIn(flow, request).finally(leave)
      await browsers.begin(reply, member, flow.sessions)
      return goOn(request, reply, {
        title: t('You are signed in'),
        text: t('Your name in this wiki is “{{name}}”.', { name: member.name }),
        url: afterSignIn(flow.to, closed)
      })
    })
  })

  /** @param {Flow} flow @param {FastifyRequest} request */
  async function signIn (flow, request) {
    if (!await usedFlows.use(flow)) throw new NotBegun()
    const identity = await provider.finish(request.url.slice(request.url.indexOf('?', CALLBACK_URL.length)), flow)
    return flow.invitation === undefined
      ? identities.come(identity, newRole)
      : identities.connect(identity.id, flow.invitation)
  }
}

/**
 * By a page, not by a redirect: what comes from another site by redirects has no session's cookie (SameSite=Strict),
 * the way from a page of this wiki has.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {{title: string, text: string, url: string}} page
 */
const goOn = (request, reply, page) =>
  reply.header('refresh', `0;url=${page.url}`).type(HTML).send(renderFor(request, 'onward', page))

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {{to: string, elsewhere?: Elsewhere,
 *   forgottenUrl?: string}} again
 * @param {() => Promise<unknown>} work @throws {Error} for programs
 */
async function answering (request, reply, { to, elsewhere, forgottenUrl }, work) {
  try {
    return await work()
  } catch (error) {
    const { statusCode = 500, headers = {}, message: refusal } = /** @type {AnswerableError} */ (error)
    if (statusCode >= 500 && statusCode !== 503) throw error
    if (!wantsHtml(request)) throw error
    const again = signInForm(request, { to, refusal, elsewhere, forgottenUrl })
    return reply.code(statusCode).headers(headers).type(HTML).send(again)
  }
}
