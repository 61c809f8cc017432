import createError from '@fastify/error'
import { sayError } from '../say-error.js'
import { t } from '../language.js'
import { nameOfPerson, SIGN_IN_URL } from '../access/access.js'
import { PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from '../access/password.js'
import { isPersonal } from '../access/roles.js'
import { isLine, NAME_MAX_CHARS } from '../access/users.js'
import { refuseUnsure, SURE } from '../http/second-step.js'
import { isUnsafe } from '../http/same-origin.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { MAIL_ADDRESS_PATTERN } from '../mail/address.js'
import { SPACES_URL } from '../spaces/addresses.js'
import { ACCOUNT_URL, INVITATION_ROUTE, invitationUrl, LINK_SECRET } from './addresses.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {PasswordChecks} from '../access/check-password.js' */
/** @import {AnswerableError} from '../http/problem.js' */
/** @import {Elsewhere} from '../access/sign-in-form.js' */
/** @import {OwnAddresses} from '../password-mail/own-addresses.js' */
/** @import {OwnAccount} from './own-account.js' */

const BODY_MAX_BYTES = 16_384
const PASSWORD = { type: 'string', maxLength: PASSWORD_MAX_CHARS }
const ADDRESS = { type: 'string', maxLength: 254, pattern: MAIL_ADDRESS_PATTERN }
const LABEL = { type: 'string', minLength: 1, maxLength: NAME_MAX_CHARS }
const SECRET = {
  params: { type: 'object', properties: { secret: LINK_SECRET } }
}
/** The form would lead back to the address that it comes from, a link that is used up. */
const SIGN_IN_AGAIN_URL = `${SIGN_IN_URL}?to=%2F`
/** @param {Record<string, object>} properties @param {Record<string, object>} [optional] */
const bodyOf = (properties, optional) => ({
  body: {
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties: { ...properties, ...optional }
  }
})

const TooShort = createError(
  'WIKI_PASSWORD_TOO_SHORT', `A password must have at least ${PASSWORD_MIN_CHARS} characters.`, 400
)
const NotTheSame = createError('WIKI_PASSWORDS_DIFFER', 'These two passwords are not the same.', 400)
const WrongPresent = createError('WIKI_WRONG_PRESENT_PASSWORD', 'Your present password is another one.', 400)
const BySessionOnly = createError(
  'WIKI_BY_SESSION_ONLY',
  'A token cannot change its owner’s account: sign in with a browser. ' +
    'So a token that was stolen ends when it is removed.',
  403
)
const InvalidLabel = createError(
  'WIKI_INVALID_LABEL',
  `A label must be a line of 1 to ${NAME_MAX_CHARS} characters that says what the token is for.`,
  400
)

/**
 * People's own accounts, and the links with which they choose a password.
 * `addresses`: where the wiki sends mail.
 * @typedef {{account: OwnAccount, passwords: PasswordChecks, elsewhere?: Elsewhere, addresses?: OwnAddresses}} Context
 * @type {import('fastify').FastifyPluginAsync<Context>}
 */
export async function accountRoutes (app, context) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })
  app.addHook('preHandler', (request, _reply, done) => {
    const isOfAccount = isUnsafe(request.method) && isPersonal(request.routeOptions.url)
    done(isOfAccount && request.headers.authorization !== undefined ? new BySessionOnly() : undefined)
  })
  addInvitation(app, context)
  addAccount(app, context)
  addPassword(app, context)
  if (context.addresses) addAddress(app, { ...context, addresses: context.addresses })
}

/**
 * A GET changes nothing: programs that look for dangerous mails open links, too.
 * @param {import('fastify').FastifyInstance} app @param {Context} context
 */
function addInvitation (app, { account, passwords, elsewhere }) {
  const config = { role: 'anyone', forStrangers: true, secret: true }
  /** @typedef {Awaited<ReturnType<OwnAccount['ownerOf']>>} Owner */
  /** @param {FastifyRequest} request @param {FastifyReply} reply @param {Owner} owner @param {string} [refusal] */
  const invitation = (request, reply, owner, refusal = '') => reply.type(HTML).send(renderFor(request, 'invitation', {
    title: t('Choose a password'),
    name: owner.name,
    refusal,
    // A mailed link is for the password alone.
    elsewhere: owner.isMailed ? undefined : elsewhere,
    secret: secretIn(request),
    action: invitationUrl(secretIn(request)),
    ...limits
  }))

  app.get(INVITATION_ROUTE, { config, schema: SECRET }, async (request, reply) =>
    invitation(request, reply, await account.ownerOf(secretIn(request))))

  app.post(INVITATION_ROUTE, {
    config, schema: { ...SECRET, ...bodyOf({ password: PASSWORD, again: PASSWORD }) }, bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    const owner = await account.ownerOf(secretIn(request))
    const refusal = refusalOf(request)
    if (refusal !== null) {
      if (!wantsHtml(request)) throw refusal
      return invitation(request, reply.code(400), owner, refusal.message)
    }
    const { password } = passwordsIn(request)
    await passwords.inTurn(owner.name, () => account.choosePassword(secretIn(request), password))
    return wantsHtml(request) ? reply.redirect(SIGN_IN_AGAIN_URL, 303) : { name: owner.name }
  })
}

/** @param {import('fastify').FastifyInstance} app @param {Context} context */
function addAccount (app, context) {
  const { account } = context
  const config = { role: 'reader' }

  app.get(ACCOUNT_URL, { config }, async (request, reply) => showAccount(request, reply, context))

  app.post(`${ACCOUNT_URL}/tokens`, {
    config, schema: bodyOf({ label: LABEL }), bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    const label = labelIn(request).trim().normalize('NFC')
    if (!isLine(label, NAME_MAX_CHARS)) throw new InvalidLabel()
    const token = await account.addToken(nameOfPerson(request), label)
    if (!wantsHtml(request)) return reply.code(201).send({ label, token })
    return showAccount(request, reply.code(201), context, { token: { label, token } })
  })

  app.post(`${ACCOUNT_URL}/tokens/remove`, {
    config, schema: bodyOf({ label: LABEL }, SURE), bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    refuseUnsure(request)
    await account.removeToken(nameOfPerson(request), labelIn(request))
    return wantsHtml(request) ? reply.redirect(ACCOUNT_URL, 303) : reply.code(204).send()
  })
}

/** @param {import('fastify').FastifyInstance} app @param {Context} context */
function addPassword (app, context) {
  const { account, passwords } = context
  app.post(`${ACCOUNT_URL}/password`, {
    config: { role: 'reader', secret: true },
    schema: bodyOf({ present: PASSWORD, password: PASSWORD, again: PASSWORD }),
    bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    const name = nameOfPerson(request)
    const { present, password } = passwordsIn(request)
    await account.refuseOfFile(name)
    try {
      const refusal = refusalOf(request)
      if (refusal !== null) throw refusal
      const user = await checkPresent(passwords, request, present)
      await passwords.inTurn(name, () => account.setPassword(user, password))
    } catch (error) {
      return showRefusal(request, reply, context, error)
    }
    // All sessions of the old password have ended, this one as well.
    return wantsHtml(request) ? reply.redirect(SIGN_IN_AGAIN_URL, 303) : { name }
  })
}

/**
 * Where a link for a new password may go. It takes the present password, as that address becomes one.
 * @param {import('fastify').FastifyInstance} app @param {Context & {addresses: OwnAddresses}} context
 */
function addAddress (app, context) {
  const { account, passwords, addresses } = context

  app.post(`${ACCOUNT_URL}/mail`, {
    config: { role: 'reader', secret: true },
    schema: bodyOf({ address: ADDRESS, present: PASSWORD }),
    bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    const name = nameOfPerson(request)
    const { address, present } = /** @type {{address: string, present: string}} */ (request.body)
    await account.refuseOfFile(name)
    try {
      await checkPresent(passwords, request, present)
      await addresses.ask(name, address)
    } catch (error) {
      return showRefusal(request, reply, context, error, { typed: address })
    }
    return wantsHtml(request) ? reply.redirect(`${ACCOUNT_URL}#_mail`, 303) : addresses.of(name)
  })

  app.post(`${ACCOUNT_URL}/mail/forget`, {
    config: { role: 'reader' }, schema: bodyOf({ address: ADDRESS }), bodyLimit: BODY_MAX_BYTES
  }, async (request, reply) => {
    await addresses.forget(nameOfPerson(request), /** @type {{address: string}} */ (request.body).address)
    return wantsHtml(request) ? reply.redirect(`${ACCOUNT_URL}#_mail`, 303) : reply.code(204).send()
  })
}

/**
 * @param {PasswordChecks} passwords @param {FastifyRequest} request @param {string} present
 * @throws {Error} 400, 429
 */
const checkPresent = (passwords, request, present) =>
  passwords.ofSession(request, nameOfPerson(request), present).catch((error) => {
    throw error.statusCode === 401 ? new WrongPresent() : error
  })

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {Context} context @param {unknown} error
 * @param {{typed?: string}} [shown]  so that it is not lost
 * @throws {unknown} for programs
 */
function showRefusal (request, reply, context, error, shown = {}) {
  const { statusCode = 500, headers = {}, message } = /** @type {AnswerableError} */ (error)
  if (statusCode >= 500 || !wantsHtml(request)) throw error
  const refusal = sayError(message)
  return showAccount(request, reply.code(statusCode).headers(headers), context, { refusal, ...shown })
}

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {Context} context
 * @param {{token?: {label: string, token: string}, refusal?: string, typed?: string}} [shown]
 */
async function showAccount (request, reply, { account, addresses }, shown = {}) {
  const name = nameOfPerson(request)
  const facts = await account.factsOf(name)
  const { tokens = null, hasPassword = true, isConnected = false } = facts ?? {}
  if (!wantsHtml(request)) return { name, tokens }
  return reply.type(HTML).send(renderFor(request, 'account', {
    title: t('Your account'),
    name,
    tokens: tokens?.map(({ label, created_at: at }) => ({ label, time: readableTime(at.toISOString()) })) ?? null,
    token: null,
    ownAddress: await addresses?.of(name),
    hasPassword,
    isConnected,
    refusal: '',
    ...shown,
    url: ACCOUNT_URL,
    spacesUrl: SPACES_URL,
    ...limits
  }))
}

const limits = { minChars: PASSWORD_MIN_CHARS, maxChars: PASSWORD_MAX_CHARS, labelMaxChars: NAME_MAX_CHARS }

/** @typedef {{present: string, password: string, again: string}} Passwords */

/** @param {FastifyRequest} request */
const passwordsIn = ({ body }) => /** @type {Passwords} */ (body)

/** @param {FastifyRequest} request @returns {Error | null} */
function refusalOf (request) {
  const { password, again } = passwordsIn(request)
  if (password.length < PASSWORD_MIN_CHARS) return new TooShort()
  return password === again ? null : new NotTheSame()
}

/** @param {FastifyRequest} request */
const labelIn = ({ body }) => /** @type {{label: string}} */ (body).label

/** @param {FastifyRequest} request */
const secretIn = ({ params }) => /** @type {{secret: string}} */ (params).secret
