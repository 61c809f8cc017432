import createError from '@fastify/error'
import { userKey } from '../access/users.js'

/** @import {mongo} from 'mongoose' */
/** @import {Member} from './model.js' */

const MEMBERS_MAX = 10_000

const TooManyMembers = createError('WIKI_TOO_MANY_MEMBERS', `The list of people has ${MEMBERS_MAX} already.`, 409)

/** The person at the server, who invites the first administrator; and what mails links for new passwords. */
export const SERVER = Object.freeze({ name: 'the server', inFile: true })
/** In the audit log, for people from the provider. */
export const PROVIDER = Object.freeze({ name: 'OpenID Connect', inFile: true })

export const RESERVED_NAMES = [SERVER, PROVIDER].map(({ name }) => name)
const RESERVED = new Set(RESERVED_NAMES.map(userKey))

/** Names of the audit log that are nobody's. @param {string} name */
export const isReserved = (name) => RESERVED.has(userKey(name))

/** @param {mongo.Collection<mongo.OptionalId<Member>>} members @throws {Error} 409 */
export async function refuseTooMany (members) {
  if (await members.countDocuments({}, { limit: MEMBERS_MAX }) === MEMBERS_MAX) throw new TooManyMembers()
}

/** @param {mongo.Collection<mongo.OptionalId<Member>>} members @returns {AsyncGenerator<string>} */
export async function * namesOf (members) {
  for await (const { name } of members.find({}, { projection: { name: 1 } })) yield name
}

/** @param {string} name @param {Member['role']} role @returns {Member} without a way to sign in yet */
export const newMember = (name, role) => ({
  _id: userKey(name),
  name,
  role,
  password: '',
  tokens: [],
  blocked_at: null,
  link: null,
  created_at: new Date(),
  acted_at: null
})
