import createError from '@fastify/error'
import { roleName } from '../access/role-names.js'
import { t } from '../language.js'
import { nameOfPerson, personIn } from '../access/access.js'
import { ROLES } from '../access/roles.js'
import { MAIL_ADDRESS_PATTERN } from '../mail/address.js'
import { MailFailure } from '../mail/failures.js'
import { refuseUnsure, SURE } from '../http/second-step.js'
import { isLine, LINE_RULE, NAME_MAX_CHARS } from '../access/users.js'
import { PROPOSALS_URL } from '../proposals/addresses.js'
import { PROTECTION_URL } from '../protection/addresses.js'
import { readableTime } from '../readable.js'
import { SPACES_URL } from '../spaces/addresses.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { AUDIT_URL, invitationUrl, MEMBER_URL, MEMBERS_URL, memberUrl } from './addresses.js'
import { LINK_MAX_MS } from './members.js'
import { plain } from './names.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Role} from '../access/roles.js' */
/** @import {Users} from '../access/users.js' */
/** @import {Actor} from './audit.js' */
/** @import {Members} from './members.js' */
/** @import {Mail} from '../mail/mailer.js' */
/** @import {Proposals} from '../proposals/proposals.js' */
/** @import {PasswordMessages} from '../password-mail/messages.js' */
/** @import {Member} from './model.js' */

const InvalidName = createError(
  'WIKI_INVALID_NAME_OF_PERSON', `A name must be ${LINE_RULE}, with ordinary letters and single blanks.`, 400
)

const NAME = { type: 'string', minLength: 1, maxLength: NAME_MAX_CHARS }
/** Of a form: it sends the field also when nothing was typed. */
const ADDRESS = { type: 'string', maxLength: 254, pattern: `^$|${MAIL_ADDRESS_PATTERN}` }
const ROLE = { type: 'string', enum: ROLES }
/** @param {Record<string, object>} properties @param {Record<string, object>} [optional] */
const bodyOf = (properties, optional) => ({
  body: {
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties: { ...properties, ...optional }
  }
})
const LIST_SCHEMA = { querystring: { type: 'object', additionalProperties: false, properties: { after: NAME } } }
const MEMBER_SCHEMA = {
  querystring: { type: 'object', required: ['name'], additionalProperties: false, properties: { name: NAME } }
}
const BODY_MAX_BYTES = 16_384
const DAY_MS = 86_400_000
/** The server for mail may take longer; the link is shown in any case. */
const MAIL_WAIT_MS = 10_000

/** @typedef {{name: string, role: Role, address?: string}} Asked */

const config = { role: 'admin' }
/** @param {Record<string, object>} properties @param {Record<string, object>} [optional] */
const form = (properties, optional) =>
  ({ config, schema: bodyOf(properties, optional), bodyLimit: BODY_MAX_BYTES })

/** @typedef {{messages: PasswordMessages, send: (mail: Mail) => Promise<void>}} OfMail */
/**
 * @typedef {{members: Members, users: Users, proposals: Pick<Proposals, 'countOpen'>,
 *   publicUrl?: string, mail?: OfMail}} Options
 */
/** @typedef {Options & {actorIn: (request: FastifyRequest) => Actor}} Context */

/**
 * What administrators do with people.
 * @type {import('fastify').FastifyPluginAsync<Options>}
 */
export async function membersRoutes (app, { members, users, proposals, publicUrl, mail }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })

  /** @param {FastifyRequest} request @returns {Actor} */
  function actorIn (request) {
    const name = nameOfPerson(request)
    return { name, inFile: users.isInFile(name) }
  }

  const context = { members, users, proposals, publicUrl, mail, actorIn }
  addReads(app, context)
  addInvitations(app, context)
  addChanges(app, context)
}

/** @param {FastifyInstance} app @param {Context} context */
function addReads (app, { members, users, proposals, mail }) {
  /** @param {Member} member */
  const shown = (member) => ({
    ...factsOf(member), roleName: roleName(member.role), state: stateOf(member, users.isInFile(member.name))
  })

  app.get(MEMBERS_URL, { config, schema: LIST_SCHEMA }, async (request, reply) => {
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, next } = await members.list(after)
    if (!wantsHtml(request)) return { people: items.map(factsOf), next }
    return reply.type(HTML).send(renderFor(request, 'people', {
      title: t('People'),
      items: items.map((member) => ({ ...shown(member), url: memberUrl(member.name) })),
      nextUrl: next && `${MEMBERS_URL}?${new URLSearchParams({ after: next })}`,
      inviteUrl: MEMBERS_URL,
      auditUrl: AUDIT_URL,
      protectionUrl: PROTECTION_URL,
      openProposals: await proposals.countOpen(/** @type {Person} */ (personIn(request))),
      proposalsUrl: PROPOSALS_URL,
      spacesUrl: SPACES_URL,
      roles: ROLES,
      sendsMail: mail !== undefined,
      nameMaxChars: NAME_MAX_CHARS
    }))
  })

  app.get(MEMBER_URL, { config, schema: MEMBER_SCHEMA }, async (request, reply) => {
    const member = await members.get(/** @type {{name: string}} */ (request.query).name)
    if (!wantsHtml(request)) return factsOf(member)
    return reply.type(HTML).send(renderFor(request, 'member', {
      title: member.name,
      ...shown(member),
      isInFile: users.isInFile(member.name),
      isYou: member.name === nameOfPerson(request),
      roles: ROLES,
      sendsMail: mail !== undefined,
      base: MEMBERS_URL
    }))
  })
}

/** @param {FastifyInstance} app @param {Context} context */
function addInvitations (app, { members, publicUrl = '', mail, actorIn }) {
  const optional = mail && { address: ADDRESS }
  // It may wait for the server for mail, and holds no slot of those for pages meanwhile.
  const waiting = { config: { ...config, waitsItself: true } }

  app.post(MEMBERS_URL, { ...form({ name: NAME, role: ROLE }, optional), ...waiting }, async (request, reply) => {
    const { name: given, role } = askedIn(request)
    const name = given.trim().normalize('NFC')
    if (!isLine(name, NAME_MAX_CHARS) || name !== plain(name)) throw new InvalidName()
    const secret = await members.invite(actorIn(request), name, role)
    return showLink(request, reply.code(201), t('“{{name}}” is invited', { name }), name, secret)
  })

  app.post(`${MEMBERS_URL}/link`, { ...form({ name: NAME }, optional), ...waiting }, async (request, reply) => {
    const { name } = await members.get(askedIn(request).name)
    const secret = await members.renewLink(actorIn(request), name)
    return showLink(request, reply, t('A link for “{{name}}”', { name }), name, secret)
  })

  /**
   * The only time that its secret can be read.
   * @param {FastifyRequest} request @param {FastifyReply} reply @param {string} title @param {string} name
   * @param {string} secret
   */
  async function showLink (request, reply, title, name, secret) {
    const path = invitationUrl(secret)
    const url = `${publicUrl}${path}`
    const { address } = askedIn(request)
    const mailed = mail && address
      ? { address, problem: await mailLink(mail, { address, name, actor: nameOfPerson(request), path }) }
      : null
    if (!wantsHtml(request)) return { name, url, ...mailed && { mailed } }
    return reply.type(HTML).send(renderFor(request, 'member-link', {
      title,
      name,
      path,
      url,
      mailed,
      lasts: lasts(),
      listUrl: MEMBERS_URL
    }))
  }
}

const lasts = () => t('{{count}} days', { count: LINK_MAX_MS / DAY_MS })

/**
 * At once, not later as other mails: the administrator sees whether it was taken.
 * @param {OfMail} mail @param {{address: string, name: string, actor: string, path: string}} link
 * @returns {Promise<string | null>} what the server for mail said, as a code; null: it has the mail
 */
async function mailLink ({ messages, send }, link) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Promise<string>} */
  const late = new Promise((resolve) => { timer = setTimeout(resolve, MAIL_WAIT_MS, 'ETIMEDOUT') })
  const sending = send(messages.invitation({ ...link, lasts: lasts() })).then(() => null)
    .catch((error) => {
      if (error instanceof MailFailure) return error.problem
      throw error
    })
  try {
    return await Promise.race([sending, late])
  } finally {
    clearTimeout(timer)
  }
}

/** @param {FastifyInstance} app @param {Context} context */
function addChanges (app, { members, actorIn }) {
  app.post(`${MEMBERS_URL}/role`, form({ name: NAME, role: ROLE }), async (request, reply) => {
    const { name, role } = askedIn(request)
    return show(request, reply, await members.setRole(actorIn(request), name, role))
  })

  for (const verb of /** @type {const} */ (['block', 'unblock'])) {
    app.post(`${MEMBERS_URL}/${verb}`, form({ name: NAME }), async (request, reply) =>
      show(request, reply, await members[verb](actorIn(request), askedIn(request).name)))
  }

  app.post(`${MEMBERS_URL}/remove`, form({ name: NAME }, SURE), async (request, reply) => {
    refuseUnsure(request)
    await members.remove(actorIn(request), askedIn(request).name)
    return wantsHtml(request) ? reply.redirect(MEMBERS_URL, 303) : reply.code(204).send()
  })
}

/** @param {FastifyRequest} request @param {FastifyReply} reply @param {Member} member */
const show = (request, reply, member) =>
  wantsHtml(request) ? reply.redirect(memberUrl(member.name), 303) : factsOf(member)

/** @param {FastifyRequest} request */
const askedIn = ({ body }) => /** @type {Asked} */ (body)

/** Without a secret. @param {Member} member */
const factsOf = ({ name, role, password, identity, tokens, blocked_at: blockedAt, link, created_at: createdAt }) => ({
  name,
  role,
  has_password: password !== '',
  has_identity: identity !== undefined,
  blocked: blockedAt !== null,
  link_expires_at: link === null || link.expires_at <= new Date() ? null : link.expires_at.toISOString(),
  tokens: tokens.map(({ label }) => label),
  created_at: createdAt.toISOString()
})

/** @param {Member} member @param {boolean} isInFile @returns {string} in words */
function stateOf (member, isInFile) {
  if (isInFile) return t('hidden by a name in the users’ file')
  const { blocked, has_password: hasPassword, has_identity: hasIdentity, link_expires_at: until } = factsOf(member)
  if (blocked) return t('blocked')
  const ways = !hasIdentity
    ? ''
    : hasPassword ? t('signs in with OpenID Connect or a password') : t('signs in with OpenID Connect')
  if (until !== null) {
    const link = hasPassword || hasIdentity
      ? t('has a link for a new password until {{time}}', { time: readableTime(until) })
      : t('invited until {{time}}', { time: readableTime(until) })
    return `${ways && `${ways}; `}${link}`
  }
  return hasPassword || hasIdentity ? ways : t('the invitation has expired')
}
