import createError from '@fastify/error'
import { hashPassword } from '../access/password.js'
import { sha256, TOKENS_MAX, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { inTransaction } from '../database/transaction.js'
import { createToken } from './secrets.js'

/** @import {ClientSession, Connection, mongo} from 'mongoose' */
/** @import {Requests} from '../password-mail/requests.js' */
/** @import {Audit} from './audit.js' */
/** @import {Member, PeopleModels} from './model.js' */

export const LinkGone = createError(
  'WIKI_LINK_GONE',
  'This link was used, is too old, or was replaced by a newer one. ' +
    'An administrator of the wiki can give you another one.',
  404
)
export const InFile = createError(
  'WIKI_ACCOUNT_IN_FILE',
  'Your account is kept in a file of the wiki’s server; the person who runs the wiki can change it there.',
  409
)
const TokenThere = createError('WIKI_TOKEN_THERE', 'You have a token “%s” already. Remove it first.', 409)
const TooManyTokens = createError(
  'WIKI_TOO_MANY_TOKENS', `You have ${TOKENS_MAX} tokens, and more are not possible. Remove one first.`, 409
)

const NoToken = createError('WIKI_NO_TOKEN', 'You have no token “%s”.', 404)
const ChangedMeanwhile = createError(
  'WIKI_PASSWORD_CHANGED_MEANWHILE', 'Your password was changed elsewhere meanwhile. Sign in with that one.', 409
)

/** Mailed links of a person that work at once. */
export const RESETS_MAX = 3

/** A filter of the owner of a link that works, and that an administrator made. @param {string} secret */
export const linked = (secret) => ({
  'link.sha256': sha256(secret), 'link.expires_at': { $gt: new Date() }, blocked_at: null
})

/** A filter of the owner of such a link, or of a mailed one. @param {string} secret */
const opened = (secret) => ({
  $or: [linked(secret), {
    resets: { $elemMatch: { sha256: sha256(secret), expires_at: { $gt: new Date() } } }, blocked_at: null
  }]
})

/**
 * What people do with their own accounts. Those of the users' file have none here.
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {PeopleModels} models
 * @property {Audit} audit
 * @property {(name: string) => boolean} isInFile
 * @property {Pick<Requests, 'changed' | 'added'>} [mails]  where the wiki sends mail
 * @param {Parts} parts
 */
export function createOwnAccount ({ connection, models, audit, isInFile, mails }) {
  const members = driverOf(models.Members)
  /** @param {string} name @throws {Error} 409 */
  const refuseOfFile = (name) => { if (isInFile(name)) throw new InFile() }

  /**
   * @param {string} secret
   * @returns {Promise<{name: string, isMailed: boolean}>} its owner; not mailed: made by an administrator
   * @throws {Error} 404, 409
   */
  async function ownerOf (secret) {
    const member = await members.findOne(opened(secret), { projection: { name: 1, link: 1 } })
    if (member === null) throw new LinkGone()
    refuseOfFile(member.name)
    return { name: member.name, isMailed: member.link?.sha256 !== sha256(secret) }
  }

  const changing = createChanging({ members, mails })

  return {
    ownerOf,

    /**
     * Uses the link up.
     * @param {string} secret @param {string} password @returns {Promise<string>} the name @throws {Error} 404, 409
     */
    async choosePassword (secret, password) {
      const { name, isMailed } = await ownerOf(secret)
      const hash = await hashPassword(password)
      // A link that was used meanwhile does not match any more.
      const change = changing(opened(secret), hash, () => new LinkGone())
      await (isMailed
        ? audit.during({ name, inFile: true }, { did: 'reset' }, change)
        : inTransaction(connection, change))
      mails?.added()
      return name
    },

    /** @param {string} name @throws {Error} 409 */
    refuseOfFile: async (name) => refuseOfFile(name),

    /**
     * @param {import('../access/users.js').User} user  whose password was checked @param {string} password
     * @throws {Error} 409, also if another password came meanwhile: that one stays
     */
    async setPassword ({ name, password: checked }, password) {
      const hash = await hashPassword(password)
      const same = { _id: userKey(name), password: checked, blocked_at: null }
      await inTransaction(connection, changing(same, hash, () => new ChangedMeanwhile()))
      mails?.added()
    },

    /**
     * @param {string} name
     * @returns {Promise<{tokens: {label: string, created_at: Date}[], hasPassword: boolean, isConnected: boolean} |
     *   null>} null: kept in the file
     */
    async factsOf (name) {
      if (isInFile(name)) return null
      const member = await members.findOne({ _id: userKey(name) })
      return member && {
        tokens: member.tokens.map(({ label, created_at: at }) => ({ label, created_at: at })),
        hasPassword: member.password !== '',
        isConnected: member.identity !== undefined
      }
    },

    /** @param {string} name @param {string} label @returns {Promise<string>} the token @throws {Error} 409 */
    async addToken (name, label) {
      refuseOfFile(name)
      const token = createToken()
      const { matchedCount } = await members.updateOne({
        _id: userKey(name), 'tokens.label': { $ne: label }, [`tokens.${TOKENS_MAX - 1}`]: { $exists: false }
      }, { $push: { tokens: { label, sha256: sha256(token), created_at: new Date() } } })
      if (matchedCount === 1) return token
      const member = await members.findOne({ _id: userKey(name) })
      throw member?.tokens.some((each) => each.label === label) ? new TokenThere(label) : new TooManyTokens()
    },

    /** @param {string} name @param {string} label @throws {Error} 404, 409 */
    async removeToken (name, label) {
      refuseOfFile(name)
      const { modifiedCount } = await members.updateOne({ _id: userKey(name) }, { $pull: { tokens: { label } } })
      if (modifiedCount === 0) throw new NoToken(label)
    }
  }
}

/**
 * Sessions of the password before end, and so do all links.
 * @param {{members: mongo.Collection<any>, mails: Parts['mails']}} parts
 */
const createChanging = ({ members, mails }) =>
  /** @param {mongo.Filter<any>} filter @param {string} hash @param {() => Error} refusal  if nobody matches now */
  (filter, hash, refusal) => async (/** @type {ClientSession} */ session) => {
    const member = await members.findOneAndUpdate(
      filter, { $set: { password: hash, link: null, resets: [] } }, { session }
    )
    if (member === null) throw refusal()
    await mails?.changed(/** @type {Member} */ (member), session)
    return member
  }

/** @typedef {ReturnType<typeof createOwnAccount>} OwnAccount */
