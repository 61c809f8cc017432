import createError from '@fastify/error'
import { hashPassword } from '../access/password.js'
import { sha256, TOKENS_MAX, userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'
import { createToken } from './secrets.js'

/** @import {PeopleModels} from './model.js' */

const LinkGone = createError(
  'WIKI_LINK_GONE',
  'This link was used, is older than three days, or was replaced by a newer one. ' +
    'An administrator of the wiki can give you another one.',
  404
)
const InFile = createError(
  'WIKI_ACCOUNT_IN_FILE',
  'Your account is kept in a file of the wiki’s server; the person who runs the wiki can change it there.',
  409
)
const TokenThere = createError('WIKI_TOKEN_THERE', 'You have a token “%s” already. Remove it first.', 409)
const TooManyTokens = createError(
  'WIKI_TOO_MANY_TOKENS', `You have ${TOKENS_MAX} tokens, and more are not possible. Remove one first.`, 409
)

/**
 * What people do with their own accounts.
 * @param {{models: PeopleModels}} parts
 */
export function createOwnAccount ({ models }) {
  const members = driverOf(models.Members)
  /** @param {string} secret */
  const linked = (secret) => ({
    'link.sha256': sha256(secret), 'link.expires_at': { $gt: new Date() }, blocked_at: null
  })

  return {
    /** @param {string} secret @returns {Promise<string>} the name of its owner @throws {Error} 404 */
    async ownerOf (secret) {
      const member = await members.findOne(linked(secret), { projection: { name: 1 } })
      if (member === null) throw new LinkGone()
      return member.name
    },

    /**
     * Uses the link up. The sessions of an earlier password end.
     * @param {string} secret @param {string} password @returns {Promise<string>} the name @throws {Error} 404
     */
    async choosePassword (secret, password) {
      // Before the work of hashing; a link that is used meanwhile does not match any more.
      if (await members.findOne(linked(secret), { projection: { _id: 1 } }) === null) throw new LinkGone()
      const hash = await hashPassword(password)
      const member = await members.findOneAndUpdate(linked(secret), { $set: { password: hash, link: null } })
      if (member === null) throw new LinkGone()
      return member.name
    },

    /** @param {string} name @param {string} password @throws {Error} 409 */
    async setPassword (name, password) {
      const hash = await hashPassword(password)
      const { matchedCount } = await members.updateOne({ _id: userKey(name) }, { $set: { password: hash, link: null } })
      if (matchedCount === 0) throw new InFile()
    },

    /** @param {string} name @returns {Promise<{label: string, created_at: Date}[] | null>} null: kept in the file */
    async tokensOf (name) {
      const member = await members.findOne({ _id: userKey(name) }, { projection: { tokens: 1 } })
      return member && member.tokens.map(({ label, created_at: at }) => ({ label, created_at: at }))
    },

    /** @param {string} name @param {string} label @returns {Promise<string>} the token @throws {Error} 409 */
    async addToken (name, label) {
      const token = createToken()
      const { matchedCount } = await members.updateOne({
        _id: userKey(name), 'tokens.label': { $ne: label }, [`tokens.${TOKENS_MAX - 1}`]: { $exists: false }
      }, { $push: { tokens: { label, sha256: sha256(token), created_at: new Date() } } })
      if (matchedCount === 1) return token
      const member = await members.findOne({ _id: userKey(name) })
      if (member === null) throw new InFile()
      throw member.tokens.some((each) => each.label === label) ? new TokenThere(label) : new TooManyTokens()
    },

    /** @param {string} name @param {string} label */
    async removeToken (name, label) {
      await members.updateOne({ _id: userKey(name) }, { $pull: { tokens: { label } } })
    }
  }
}

/** @typedef {ReturnType<typeof createOwnAccount>} OwnAccount */
